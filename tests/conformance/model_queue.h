#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/outcome.h"
#include "tests/conformance/program.h"

namespace segue::conformance {

/// A message in a queue of the model.
struct ModelMessage {
  /// Where it stands among those of its priority in the queue.
  std::uint64_t place = 0;
  /// Its priority as the queue counts it.
  int lane = 0;
  Seen seen{};
  /// It has been on its way to somebody; of which a crash of the node leaves traces.
  bool delivered = false;
  /// Of one that rests: its time has come, there is no room for it.
  bool due = false;
};

/// A message that died, and waits until all queues that it goes to have it.
struct ModelLetter {
  ModelMessage message;
  std::string reason;
  /// Queues that have it, by id.
  std::set<std::uint64_t> at{};
};

/// A consumer of a queue of the model.
struct ModelConsumer {
  Consume as{};
  /// Of its deliveries, what is not settled.
  int unsettled = 0;
  std::uint64_t next_tag = 1;
  /// In the order in which they came.
  std::uint64_t number = 0;

  bool has_credit() const { return as.no_ack || as.prefetch == 0 || unsettled < as.prefetch; }
};

/// A queue of the model, as it is declared, and what is in it.
struct ModelQueue {
  DeclareQueue as{};
  /// No two have the same, also of one name after the other.
  std::uint64_t id = 0;
  std::uint64_t next_place = 1;
  /// Highest priority first, then by place.
  std::vector<ModelMessage> ready{};
  /// By priority, in the order of their deaths.
  std::map<int, std::vector<ModelLetter>> letters{};
  std::map<int, ModelConsumer> consumers{};
  /// Delayed, in the order in which they came.
  std::vector<ModelMessage> resting{};
  /// Ids of the deduplication window, the oldest first.
  std::deque<std::string> window{};
  /// The arguments that are in force, with what policies say.
  Table in_force{};
  /// Something was delivered from it, or could have been.
  bool used = false;

  std::optional<std::int64_t> number(const char* argument) const;
  std::optional<std::string> text(const char* argument) const;
  bool single_active() const { return flag("x-single-active-consumer"); }
  bool has_groups() const { return flag("x-message-groups"); }
  bool flag(const char* argument) const;
  bool rejects() const { return text("x-overflow").value_or("").starts_with("reject-publish"); }
  bool buries() const { return text("x-overflow") == "reject-publish-dlx"; }
  /// Whether one more of this size has room; only where a queue rejects.
  bool has_room(std::size_t bytes) const;
  bool is_over_limit() const;
  bool expires_at_once(const ModelMessage& message) const;
  std::size_t ready_bytes() const;
  std::size_t letter_count() const;
  /// To its place.
  void put(ModelMessage message);
  void append(Seen seen);
  /// A message that has come now.
  ModelMessage arrived(Seen seen) const;
  /// To the end.
  void append(ModelMessage message);
  /// Whether a message with these headers came not long ago.
  bool remembers(const Table& headers) const;
  void remember(const Table& headers);
  /// Forgets what is too much.
  void keep_window();
};

/// Whether the arguments of a queue make sense: the table of arguments in docs/semantics.md.
bool make_sense(const Table& queue_arguments);
/// Whether an argument can be changed in place.
bool can_change(const std::string& queue_argument);

/// Whether a letter would go round in a circle, if it went to the queue.
bool goes_round(const std::vector<Death>& deaths, const std::string& queue);
/// The message as a letter that died in the queue, for its dead-letter exchange.
Seen letter_of(const ModelLetter& letter, const ModelQueue& source);

}  // namespace segue::conformance
