#include "common/config_keys.h"

#include <array>

#include "common/config_problems.h"
#include "common/config_values.h"
#include "common/ids.h"

namespace segue {
namespace {

using enum ConfigType;

constexpr std::uint64_t kKiB = 1ull << 10;
constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kGiB = 1ull << 30;
constexpr std::uint64_t kTiB = 1ull << 40;
constexpr std::uint64_t kSecond = 1000;
constexpr std::uint64_t kHour = 3600 * kSecond;
constexpr std::uint64_t kDay = 24 * kHour;

#define SEGUE_FIELD(member) \
  [](ClusterConfig& config, std::size_t) -> ConfigField { return &config.member; }
#define SEGUE_ELEMENT_FIELD(list, member)                         \
  [](ClusterConfig& config, std::size_t element) -> ConfigField { \
    return &config.list.at(element).member;                       \
  }

constexpr std::uint64_t kNone = 0;  // for types without a range

// path, type, required, default, min, max, choices, description, field
constexpr auto kKeys = std::to_array<ConfigKey>({
    {"cluster", kId, true, "", kNone, kNone, "",
     "The cluster's name. A node refuses data of another cluster.", SEGUE_FIELD(cluster)},
    {"shards", kCount, false, "32", 1, kMaxShards, "",
     "Slices of the key space, spread over the nodes. Fixed once the cluster has data.",
     SEGUE_FIELD(shards)},
    {"memory_limit", kSize, false, "512MiB", 64 * kMiB, 16 * kTiB, "",
     "Resident memory of a node; near it, publishes to the node wait.", SEGUE_FIELD(memory_limit)},
    {"durability", kChoice, false, "sync", kNone, kNone, "sync",
     "When a publish to a durable queue is confirmed: 'sync', after it is synced to disk; or "
     "{interval_ms: N}, after it is written, which survives a crash of the process but not of the "
     "machine. A queue may have its own.",
     [](ClusterConfig& config, std::size_t) -> ConfigField { return &config.durability.sync; }},
    {"durability.interval_ms", kMilliseconds, false, "", 1, 60 * kSecond, "",
     "Instead of 'sync': how long written messages may stay unsynced.",
     SEGUE_FIELD(durability.interval)},
    {"definitions", kPaths, false, "", kNone, kNone, "",
     "Documents of exchanges, queues, bindings, policies and virtual hosts (segue definitions) "
     "that "
     "the catalog's leader makes at each start, as far as they are missing; a path or a list, "
     "relative to this file. None if left out.",
     SEGUE_FIELD(definitions)},

    {"routers[].id", kId, true, "", kNone, kNone, "", "The router's id, given to it with --id.",
     SEGUE_ELEMENT_FIELD(routers, id)},
    {"routers[].endpoint", kEndpoint, true, "", kNone, kNone, "",
     "Where clients reach the router: tcp://host:port, ipc://path or ipc://@name.",
     SEGUE_ELEMENT_FIELD(routers, endpoint)},
    {"routers[].listen", kListen, false, "", kNone, kNone, "",
     "What the router binds, if not its endpoint: tcp://*:port is every address.",
     SEGUE_ELEMENT_FIELD(routers, listen)},

    {"nodes[].id", kId, true, "", kNone, kNone, "", "The node's id, given to it with --id.",
     SEGUE_ELEMENT_FIELD(nodes, id)},
    {"nodes[].endpoint", kEndpoint, true, "", kNone, kNone, "",
     "Where routers and other nodes reach the node.", SEGUE_ELEMENT_FIELD(nodes, endpoint)},
    {"nodes[].listen", kListen, false, "", kNone, kNone, "",
     "What the node binds, if not its endpoint.", SEGUE_ELEMENT_FIELD(nodes, listen)},
    {"nodes[].data_dir", kPath, false, "", kNone, kNone, "",
     "The node's directory, if not <storage.data_dir>/<id>.", SEGUE_ELEMENT_FIELD(nodes, data_dir)},
    {"nodes[].memory_limit", kSize, false, "", 64 * kMiB, 16 * kTiB, "",
     "The node's own limit, if not the cluster's memory_limit.",
     SEGUE_ELEMENT_FIELD(nodes, memory_limit)},

    {"catalog.leader", kId, false, "", kNone, kNone, "",
     "The node that decides about exchanges, queues and bindings; the first node if not given.",
     SEGUE_FIELD(catalog_leader)},

    {"storage.data_dir", kPath, false, "data", kNone, kNone, "",
     "Directory of the nodes' directories; relative to where a process is started.",
     SEGUE_FIELD(storage.data_dir)},
    {"storage.wal_file_bytes", kSize, false, "64MiB", 64 * kKiB, 4 * kGiB, "",
     "Size of a write-ahead log file; larger than limits.max_frame_bytes.",
     SEGUE_FIELD(storage.wal_file_bytes)},
    {"storage.segment_bytes", kSize, false, "64MiB", 4 * kKiB, 4 * kGiB, "",
     "A queue's segment file is closed and the next begun when it reaches this size.",
     SEGUE_FIELD(storage.segment_bytes)},
    {"storage.checkpoint_wal_bytes", kSize, false, "256MiB", 128 * kKiB, kTiB, "",
     "A checkpoint is made when this much was logged since the last: a restart replays at most "
     "about this much.",
     SEGUE_FIELD(storage.checkpoint_wal_bytes)},
    {"storage.checkpoint_interval", kDuration, false, "5m", kSecond, kDay, "",
     "A checkpoint is made when the last is this old and anything was logged.",
     SEGUE_FIELD(storage.checkpoint_interval)},
    {"storage.wal_reserve_bytes", kSize, false, "64MiB", 64 * kKiB, kTiB, "",
     "Log space kept for acknowledgements, so that a full disk can be drained; at most "
     "checkpoint_wal_bytes.",
     SEGUE_FIELD(storage.wal_reserve_bytes)},
    {"storage.direct_io", kBoolean, false, "true", kNone, kNone, "",
     "Whether the log is written past the page cache (O_DIRECT) where the file system can.",
     SEGUE_FIELD(storage.direct_io)},
    {"storage.free_disk_limit", kSize, false, "256MiB", 0, 16 * kTiB, "",
     "With less free disk space, publishes to the node are refused; consuming goes on.",
     SEGUE_FIELD(storage.free_disk_limit)},
    {"storage.scrub_bytes_per_second", kSize, false, "4MiB", 0, kTiB, "",
     "Bytes of complete segment files that a node verifies per second while its disk has nothing "
     "else to do, once an hour at most; 0: none.",
     SEGUE_FIELD(storage.scrub_bytes_per_second)},
    {"storage.backup_directory", kPath, false, "", kNone, kNone, "",
     "`segue backup --online` has nodes write below this directory only; left out: wherever a node "
     "may.",
     SEGUE_FIELD(storage.backup_directory)},

    {"gc.min_messages", kCount, false, "2000", 1, 100'000'000, "",
     "A segment file with more messages than this, or more bytes than min_bytes, is compacted by "
     "itself.",
     SEGUE_FIELD(gc.min_messages)},
    {"gc.min_bytes", kSize, false, "4MiB", 4 * kKiB, 4 * kGiB, "",
     "The same in bytes; also the garbage that a queue may keep beside as much as its valid bytes.",
     SEGUE_FIELD(gc.min_bytes)},
    {"gc.valid_percent", kCount, false, "50", 1, 66, "",
     "A segment file is compacted when a smaller share of its bytes is valid.",
     SEGUE_FIELD(gc.valid_percent)},
    {"gc.merge_percent", kCount, false, "75", 1, 100, "",
     "Neighbouring segment files are merged when their valid bytes fit in this share of "
     "storage.segment_bytes.",
     SEGUE_FIELD(gc.merge_percent)},
    {"gc.bytes_per_second", kSize, false, "64MiB", 64 * kKiB, kTiB, "",
     "Bytes that a node copies per second to collect garbage while there is little; more, the more "
     "there is.",
     SEGUE_FIELD(gc.bytes_per_second)},

    {"limits.max_message_bytes", kSize, false, "16MiB", kKiB, kGiB, "",
     "A larger message is refused; at most max_frame_bytes.",
     SEGUE_FIELD(limits.max_message_bytes)},
    {"limits.max_frame_bytes", kSize, false, "32MiB", 64 * kKiB, 2 * kGiB - kMiB, "",
     "A larger frame closes the session that sent it.", SEGUE_FIELD(limits.max_frame_bytes)},
    {"limits.max_batch_messages", kCount, false, "65536", 1, 1'000'000, "",
     "Messages in one frame at most.", SEGUE_FIELD(limits.max_batch_messages)},
    {"limits.max_unconfirmed", kCount, false, "65536", 1, 16'777'216, "",
     "Publishes of a session that may be unconfirmed at a time.",
     SEGUE_FIELD(limits.max_unconfirmed)},
    {"limits.publish_credit_bytes", kSize, false, "32MiB", 64 * kKiB, 16 * kGiB, "",
     "Bytes that a session may publish ahead of their confirms; room for one message of "
     "max_message_bytes at least.",
     SEGUE_FIELD(limits.publish_credit_bytes)},
    {"limits.node_publish_window_bytes", kSize, false, "64MiB", 64 * kKiB, 16 * kGiB, "",
     "Bytes that a router may publish to a node ahead of their confirms.",
     SEGUE_FIELD(limits.node_publish_window_bytes)},
    {"limits.delivery_window_bytes", kSize, false, "16MiB", 64 * kKiB, 16 * kGiB, "",
     "Bytes on the way to a consumer that it has not received.",
     SEGUE_FIELD(limits.delivery_window_bytes)},
    {"limits.router_delivery_bytes", kSize, false, "512MiB", kMiB, 16 * kTiB, "",
     "Bytes on the way to all clients of a router that they have not received. Each node may use "
     "an "
     "equal part.",
     SEGUE_FIELD(limits.router_delivery_bytes)},
    {"limits.max_sessions", kCount, false, "10000", 1, 1'000'000, "",
     "Client sessions of a router.", SEGUE_FIELD(limits.max_sessions)},
    {"limits.max_requests_in_flight", kCount, false, "1024", 1, 1'000'000, "",
     "Requests of a session that may be unanswered at a time.",
     SEGUE_FIELD(limits.max_requests_in_flight)},
    {"limits.max_consumers_per_session", kCount, false, "10000", 1, 1'000'000, "",
     "Consumers of a session.", SEGUE_FIELD(limits.max_consumers_per_session)},

    {"timeouts.heartbeat", kDuration, false, "10s", 100, kHour, "",
     "A client session sends something this often; silent for two of them, it is closed.",
     SEGUE_FIELD(timeouts.heartbeat)},
    {"timeouts.link_heartbeat", kDuration, false, "1s", 20, kHour, "",
     "The same between routers and nodes.", SEGUE_FIELD(timeouts.link_heartbeat)},
    {"timeouts.shard_unavailable_timeout", kDuration, false, "30s", 0, kDay, "",
     "How long publishes wait for the return of their shard's node before they are rejected.",
     SEGUE_FIELD(timeouts.shard_unavailable_timeout)},
    {"timeouts.request", kDuration, false, "10s", 100, kHour, "",
     "How long a request (declare, bind, get, ...) may take before it fails.",
     SEGUE_FIELD(timeouts.request)},
    {"timeouts.shutdown", kDuration, false, "10s", 0, kHour, "",
     "How long a process that is asked to stop may take to drain.", SEGUE_FIELD(timeouts.shutdown)},
    {"timeouts.reconnect_min", kDuration, false, "50ms", 1, kHour, "",
     "First pause before a lost link is tried again; doubled each time.",
     SEGUE_FIELD(timeouts.reconnect_min)},
    {"timeouts.reconnect_max", kDuration, false, "2s", 1, kHour, "", "Longest such pause.",
     SEGUE_FIELD(timeouts.reconnect_max)},

    {"logging.level", kChoice, false, "info", kNone, kNone, "trace|debug|info|warn|error|off",
     "What is logged: this and what is more important.", SEGUE_FIELD(logging.level)},
    {"logging.format", kChoice, false, "text", kNone, kNone, "text|json",
     "Lines of key=value, or of JSON; to standard error.", SEGUE_FIELD(logging.format)},
});

Status refuse(std::string_view expected, std::string_view found) {
  return {Code::kInvalidConfig,
          "expected " + std::string(expected) + ", found " + in_quotes(found)};
}

std::string format_number(const ConfigKey& key, std::uint64_t number) {
  switch (key.type) {
    case kSize:
      return format_size(number);
    case kDuration:
      return format_duration(std::chrono::milliseconds(number));
    default:
      return std::to_string(number);
  }
}

std::string range_of(const ConfigKey& key) {
  return format_number(key, key.min) + " to " + format_number(key, key.max);
}

Result<std::uint64_t> parse_number(const ConfigKey& key, std::string_view text) {
  if (key.type == kSize) return parse_size(text);
  if (key.type != kDuration) return parse_count(text);
  const Result<std::chrono::milliseconds> duration = parse_duration(text);
  if (!duration) return duration.status();
  return static_cast<std::uint64_t>(duration->count());
}

Status set_number(const ConfigKey& key, std::string_view text, const ConfigField& field) {
  const Result<std::uint64_t> number = parse_number(key, text);
  if (!number) return number.status();
  if (*number < key.min || *number > key.max) return refuse(range_of(key), text);
  if (auto* const* wide = std::get_if<std::uint64_t*>(&field)) {
    **wide = *number;
  } else if (auto* const* narrow = std::get_if<std::uint32_t*>(&field)) {
    **narrow = static_cast<std::uint32_t>(*number);
  } else {
    *std::get<std::chrono::milliseconds*>(field) =
        std::chrono::milliseconds(static_cast<std::int64_t>(*number));
  }
  return Status::ok();
}

Status set_choice(const ConfigKey& key, std::string_view text, const ConfigField& field) {
  std::string_view rest = key.choices;
  bool found = false;
  std::string expected;
  while (!rest.empty()) {
    const std::string_view choice = rest.substr(0, rest.find('|'));
    found = found || choice == text;
    expected += (expected.empty() ? "" : ", ") + std::string(choice);
    rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
  }
  if (key.path == "durability") expected += " or {interval_ms: N}";
  if (!found) return refuse(expected, text);
  if (auto* const* word = std::get_if<std::string*>(&field)) {
    **word = text;
  } else {
    *std::get<bool*>(field) = true;
  }
  return Status::ok();
}

Status set_boolean(std::string_view text, const ConfigField& field) {
  if (text != "true" && text != "false") return refuse("true or false", text);
  *std::get<bool*>(field) = text == "true";
  return Status::ok();
}

Status check_path(std::string_view text) {
  constexpr std::size_t kMaxPath = 3000;  // leaves room in PATH_MAX for what lies below
  for (const char letter : text) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) {
      return refuse("a path without control characters", text);
    }
  }
  if (!text.empty() && text.size() <= kMaxPath) return Status::ok();
  return refuse("a path of 1 to " + std::to_string(kMaxPath) + " bytes", text);
}

Status set_text(Status checked, std::string_view text, const ConfigField& field) {
  if (checked.is_ok()) *std::get<std::string*>(field) = text;
  return checked;
}

std::string_view unit_of(ConfigType type) {
  switch (type) {
    case kId:
      return "1 to 64 of a-z A-Z 0-9 _ -";
    case kEndpoint:
    case kListen:
      return "endpoint";
    case kPath:
    case kPaths:
      return "path";
    case kSize:
      return "bytes";
    case kCount:
      return "count";
    case kMilliseconds:
      return "milliseconds";
    case kDuration:
      return "duration";
    case kBoolean:
      return "true or false";
    case kChoice:
      return "one word";
  }
  return "";
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

Status set_config_value(const ConfigKey& key, std::string_view text, ClusterConfig& config,
                        std::size_t element) {
  const ConfigField field = key.field(config, element);
  switch (key.type) {
    case kId:
      return set_text(check_id(text), text, field);
    case kEndpoint:
      return set_text(check_endpoint(text, EndpointUse::kConnect), text, field);
    case kListen:
      return set_text(check_endpoint(text, EndpointUse::kListen), text, field);
    case kPath:
      return set_text(check_path(text), text, field);
    case kPaths:
      SEGUE_RETURN_IF_ERROR(check_path(text));
      std::get<std::vector<std::string>*>(field)->emplace_back(text);
      return Status::ok();
    case kSize:
    case kCount:
    case kMilliseconds:
    case kDuration:
      return set_number(key, text, field);
    case kBoolean:
      return set_boolean(text, field);
    case kChoice:
      return set_choice(key, text, field);
  }
  return Status::ok();
}

std::string config_key_facts(const ConfigKey& key) {
  std::string facts = "Unit: " + std::string(unit_of(key.type)) + ".";
  if (key.max > 0) facts += " From " + range_of(key) + ".";
  if (key.type == kChoice && key.path != "durability") {
    std::string words;
    for (const char letter : key.choices) words += letter == '|' ? ", " : std::string(1, letter);
    facts += " One of: " + words + ".";
  }
  if (key.required) return facts + " Required.";
  if (key.default_text.empty()) return facts + " Default: see above.";
  return facts + " Default: " + std::string(key.default_text) + ".";
}

}  // namespace segue
