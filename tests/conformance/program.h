#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "segue/value.h"

namespace segue::conformance {

using client::Table;
using client::Value;

/// A delay of so many milliseconds ends after every test; a shorter one while the program waits.
constexpr int kRestsForever = 1'000'000;

/// Operations of clients. Queues are named q0 to q9, exchanges e0 to e9, sessions 0 and 1,
/// consumers by a number too, policies p0 to p9; names of queues and exchanges may stand in keys
/// and arguments.

struct DeclareExchange {
  int session = 0;
  std::string name{};
  std::string type = "direct";
  bool durable = true;
  bool auto_delete = false;
  bool internal = false;
  Table arguments{};
};

struct DeleteExchange {
  int session = 0;
  std::string name{};
  bool if_unused = false;
};

struct DeclareQueue {
  int session = 0;
  std::string name{};
  bool durable = true;
  bool exclusive = false;
  bool auto_delete = false;
  bool update = false;
  Table arguments{};
};

struct DeleteQueue {
  int session = 0;
  std::string name{};
  bool if_unused = false;
  bool if_empty = false;
};

struct Purge {
  int session = 0;
  std::string queue{};
};

/// Binds, or takes such a binding away.
struct Bind {
  int session = 0;
  bool unbind = false;
  std::string exchange{};
  /// A queue or an exchange.
  std::string to{};
  std::string key{};
  Table arguments{};
};

/// `count` messages that are alike but for their bodies.
struct Publish {
  int session = 0;
  std::string exchange{};
  std::string key{};
  int count = 1;
  bool mandatory = false;
  int priority = 0;
  /// Of each body.
  int bytes = 4;
  Table headers{};
  /// Milliseconds.
  std::optional<std::int64_t> expiration{};
  /// Milliseconds: a few, so that it comes by itself, or more than any test takes.
  int delay = 0;
  std::string group{};
};

struct Get {
  int session = 0;
  std::string queue{};
  bool no_ack = false;
};

struct Consume {
  int session = 0;
  int consumer = 0;
  std::string queue{};
  int prefetch = 1;
  bool no_ack = false;
  bool exclusive = false;
  int priority = 0;
};

struct Cancel {
  int consumer = 0;
};

/// What becomes of a delivery: of those that are unsettled the `newest`-th latest; with `again` of
/// those that were settled, which is an error.
struct Settle {
  enum class How { kAck, kReject, kRequeue, kRelease };
  How how = How::kAck;
  int newest = 0;
  bool again = false;
};

struct Browse {
  int session = 0;
  std::string queue{};
  /// Those that are delayed.
  bool delayed = false;
};

/// Takes out the `newest`-th latest that is delayed.
struct CancelDelayed {
  int session = 0;
  std::string queue{};
  int newest = 0;
};

struct SetPolicy {
  int session = 0;
  std::string name{};
  /// A regular expression for the beginning of a name.
  std::string pattern{};
  std::string apply_to = "all";
  int priority = 0;
  Table definition{};
};

struct DeletePolicy {
  int session = 0;
  std::string name{};
};

/// The session ends, and another one begins.
struct Reopen {
  int session = 0;
};

/// kill -9 of all nodes, or of the router, and a new start.
struct Restart {
  bool nodes = true;
};

using Operation = std::variant<DeclareExchange, DeleteExchange, DeclareQueue, DeleteQueue, Purge,
                               Bind, Publish, Get, Consume, Cancel, Settle, Browse, CancelDelayed,
                               SetPolicy, DeletePolicy, Reopen, Restart>;
using Program = std::vector<Operation>;

/// For people.
std::string to_text(const Value& value);
std::string to_text(const Table& table);
std::string to_text(const Operation& operation);
/// One operation in a line.
std::string to_text(const Program& program);

/// Variants of the operation that say a little less.
std::vector<Operation> simpler(const Operation& operation);

/// Whether the name is one of a queue, an exchange.
bool is_queue_name(const std::string& name);
bool is_exchange_name(const std::string& name);

}  // namespace segue::conformance
