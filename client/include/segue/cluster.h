#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "segue/value.h"

namespace segue::client {

/// An argument that is in force for a queue.
struct EffectiveSetting {
  std::string name;  // e.g. "x-message-ttl"
  Value value;
  std::string origin;  // "argument", or "policy NAME"
};

struct QueueDescription {
  std::string name;
  std::uint64_t id = 0;
  std::uint32_t shard = 0;
  /// The node that leads its shard.
  std::string node;
  bool durable = false;
  bool exclusive = false;
  bool auto_delete = false;
  Table arguments{};
  /// Its node answered; otherwise the counts below are unknown.
  bool available = false;
  std::uint64_t ready = 0;
  std::uint64_t unacked = 0;
  std::uint32_t consumers = 0;
  /// Body bytes of ready and unacked messages.
  std::uint64_t bytes = 0;
  /// Bytes of its segment files.
  std::uint64_t disk_bytes = 0;
  std::uint64_t memory_bytes = 0;
  /// Since its node's start; what was there then counts as enqueued.
  std::uint64_t enqueued_total = 0;
  std::uint64_t delivered_total = 0;
  std::uint64_t settled_total = 0;
  /// Messages that are neither ready nor unacked, on their way to the dead-letter exchange.
  std::uint64_t dead_lettering = 0;
  /// Dead letters that no queue took, since its node's start.
  std::uint64_t dead_letter_dropped = 0;
  std::uint64_t expired_total = 0;  // their time to live was over
  std::uint64_t dropped_total = 0;  // the queue was at its limit
  /// Messages whose time to be delivered has not come; neither ready nor unacked.
  std::uint64_t delayed = 0;
  /// Messages that the deduplication window did not let in, since its node's start; what is in it.
  std::uint64_t deduplicated_total = 0;
  std::uint64_t dedupe_entries = 0;
  std::uint64_t dedupe_bytes = 0;
  /// Message groups that belong to a consumer now.
  std::uint64_t groups = 0;
  /// What is in force, by its arguments and by policies; known when `available`.
  std::vector<EffectiveSetting> effective{};
};

/// Arguments for the queues or exchanges whose names match a pattern.
struct PolicyDescription {
  std::string name;
  /// A regular expression (RE2), found anywhere in the name.
  std::string pattern;
  /// "queues", "exchanges" or "all".
  std::string apply_to = "all";
  /// Of several that say something of one key the highest counts; of equal ones the first by name.
  std::int32_t priority = 0;
  /// By the names of policies, e.g. {{"message-ttl", 60000}}.
  Table definition{};
};

/// A space of names of its own; a session is in one.
struct VhostOptions {
  std::optional<std::uint64_t> max_queues{};
  /// At each router.
  std::optional<std::uint64_t> max_sessions{};
  /// Bytes of bodies in its queues, about.
  std::optional<std::uint64_t> max_bytes{};
  /// One that exists takes over these limits; otherwise they must be equal.
  bool update = false;
};

struct VhostDescription {
  std::string name;
  std::optional<std::uint64_t> max_queues;
  std::optional<std::uint64_t> max_sessions;
  std::optional<std::uint64_t> max_bytes;
  std::uint64_t queues = 0;
  /// At the router that answered.
  std::uint64_t sessions = 0;
  /// Of bodies in its queues, on nodes that answered.
  std::uint64_t bytes = 0;
};

struct ExchangeDescription {
  std::string name;
  std::string type;
  bool durable = false;
  bool auto_delete = false;
  bool internal = false;
  std::uint64_t bindings = 0;
  Table arguments{};
};

struct BindingDescription {
  std::string exchange;
  std::string queue;
  std::string routing_key;
  /// Its place in the list.
  std::uint64_t number = 0;
  Table arguments{};
  /// Not empty: the binding leads to this exchange, and not to a queue.
  std::string to_exchange{};
};

struct RouterDescription {
  std::string id;
  std::string endpoint;
  /// The one that answered; only about itself does it know the counts.
  bool self = false;
  std::uint32_t sessions = 0;
  std::uint64_t unconfirmed = 0;
  std::chrono::milliseconds uptime{0};
  /// Its process, and the machine (a name without further meaning) that the number counts on; 0
  /// when not known.
  std::uint32_t pid = 0;
  std::string machine{};
};

struct NodeDescription {
  std::string id;
  std::string endpoint;
  bool connected = false;
  std::uint32_t shards = 0;
  std::uint64_t queues = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit = 0;
  std::uint64_t disk_free_bytes = 0;
  std::uint64_t wal_bytes = 0;
  /// Why it takes no publishes; empty when it does.
  std::string blocked_reason{};
  std::chrono::milliseconds uptime{0};
  std::uint64_t ready = 0;
  std::uint64_t unacked = 0;
  /// Since the router heard of it last; since the router started, if it never did.
  std::chrono::milliseconds silent{0};
  /// As a router's.
  std::uint32_t pid = 0;
  std::string machine{};
  /// Messages in its quarantine file: damaged on its disk, and set aside.
  std::uint64_t quarantined = 0;
};

struct ShardDescription {
  std::uint32_t shard = 0;
  std::string node;
  bool available = false;
  std::uint64_t queues = 0;
  std::string blocked_reason{};
};

struct ClusterDescription {
  std::string cluster;
  std::string version;
  std::uint32_t shard_count = 0;
  std::uint64_t catalog_index = 0;
  /// Whether it is up or not.
  std::string catalog_leader;
  /// The leader is connected: something can be declared.
  bool catalog_available = false;
  std::vector<RouterDescription> routers;
  std::vector<NodeDescription> nodes;
  std::vector<ShardDescription> shards;
  /// Nodes are heard of more often than this, while all is well.
  std::chrono::milliseconds link_heartbeat{0};
};

}  // namespace segue::client
