#include "client/convert.h"

#include <charconv>

#include "common/utf8.h"

namespace segue::client {

namespace {

constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kMaxHeaderBytes = 256 * 1024;
// Protobuf readers give up at 100 nested messages; a table in a table takes three of them.
constexpr int kMaxDepth = 24;

struct ValueWriter {
  v1::FieldValue* wire;

  void operator()(std::monostate /*nothing*/) const {}
  void operator()(bool value) const { wire->set_bool_value(value); }
  void operator()(std::int64_t value) const { wire->set_int_value(value); }
  void operator()(double value) const { wire->set_double_value(value); }
  void operator()(const std::string& value) const { wire->set_string_value(value); }
  void operator()(const Bytes& value) const { wire->set_bytes_value(value.data); }
  void operator()(Timestamp value) const {
    wire->set_timestamp_ms(value.time_since_epoch().count());
  }
  void operator()(const Table& value) const {
    client::to_wire(value, wire->mutable_table_value()->mutable_fields());
  }
  void operator()(const Array& value) const {
    auto* array = wire->mutable_array_value();
    for (const Value& element : value) client::to_wire(element, array->add_values());
  }
};

void to_wire(const Properties& properties, v1::Properties* wire) {
  wire->set_content_type(properties.content_type);
  wire->set_content_encoding(properties.content_encoding);
  client::to_wire(properties.headers, wire->mutable_headers());
  wire->set_delivery_mode(properties.delivery_mode);
  wire->set_priority(properties.priority);
  wire->set_correlation_id(properties.correlation_id);
  wire->set_reply_to(properties.reply_to);
  if (properties.expiration) wire->set_expiration(std::to_string(properties.expiration->count()));
  wire->set_message_id(properties.message_id);
  if (properties.timestamp) {
    wire->set_timestamp_ms(properties.timestamp->time_since_epoch().count());
  }
  wire->set_type(properties.type);
  wire->set_user_id(properties.user_id);
  wire->set_app_id(properties.app_id);
  wire->set_delay_ms(properties.delay.count());
  if (properties.deliver_at) {
    wire->set_deliver_at_ms(properties.deliver_at->time_since_epoch().count());
  }
  wire->set_group_id(properties.group_id);
}

Properties from_wire(const v1::Properties& wire) {
  Properties properties;
  properties.content_type = wire.content_type();
  properties.content_encoding = wire.content_encoding();
  properties.headers = client::from_wire(wire.headers());
  properties.delivery_mode = wire.delivery_mode();
  properties.priority = wire.priority();
  properties.correlation_id = wire.correlation_id();
  properties.reply_to = wire.reply_to();
  const std::string& expiration = wire.expiration();
  std::int64_t ms = 0;
  const auto [end, failed] =
      std::from_chars(expiration.data(), expiration.data() + expiration.size(), ms);
  if (failed == std::errc() && end == expiration.data() + expiration.size()) {
    properties.expiration = std::chrono::milliseconds(ms);
  }
  properties.message_id = wire.message_id();
  if (wire.timestamp_ms() != 0) {
    properties.timestamp = Timestamp(std::chrono::milliseconds(wire.timestamp_ms()));
  }
  properties.type = wire.type();
  properties.user_id = wire.user_id();
  properties.app_id = wire.app_id();
  properties.delay = std::chrono::milliseconds(wire.delay_ms());
  if (wire.deliver_at_ms() != 0) {
    properties.deliver_at = Timestamp(std::chrono::milliseconds(wire.deliver_at_ms()));
  }
  properties.group_id = wire.group_id();
  return properties;
}

Error invalid(std::string entity, std::string text) {
  return Error{ErrorCode::kInvalidArgument, std::move(entity), std::move(text)};
}

Status check_string(const std::string& field, const std::string& text) {
  if (is_utf8(text)) return {};
  return invalid(field, "the text of '" + field + "' is not valid UTF-8; use Bytes for raw bytes");
}

Error too_deep() {
  return invalid({}, "tables are nested more than " + std::to_string(kMaxDepth) +
                         " levels deep; flatten them");
}

Status check_table(const Table& table, int depth);

Status check_value(const std::string& name, const Value& value, int depth) {
  if (const auto* text = value.as<std::string>()) return check_string(name, *text);
  if (const auto* table = value.as<Table>()) return check_table(*table, depth + 1);
  if (const auto* array = value.as<Array>()) {
    if (depth > kMaxDepth) return too_deep();
    for (const Value& element : *array) {
      if (Status checked = check_value(name, element, depth + 1); !checked) return checked;
    }
  }
  return {};
}

Status check_table(const Table& table, int depth) {
  if (depth > kMaxDepth) return too_deep();
  for (const auto& [name, value] : table) {
    if (Status checked = check_string("name in a table", name); !checked) return checked;
    if (Status checked = check_value(name, value, depth); !checked) return checked;
  }
  return {};
}

Status check_name(const char* field, const std::string& name) {
  if (name.size() > kMaxNameBytes) {
    return invalid(field, std::string(field) + " has " + std::to_string(name.size()) +
                              " bytes, at most " + std::to_string(kMaxNameBytes) + " are allowed");
  }
  return check_string(field, name);
}

}  // namespace

void to_wire(const Value& value, v1::FieldValue* wire) {
  std::visit(ValueWriter{wire}, value.variant());
}

Value from_wire(const v1::FieldValue& wire) {
  switch (wire.kind_case()) {
    case v1::FieldValue::kBoolValue:
      return wire.bool_value();
    case v1::FieldValue::kIntValue:
      return wire.int_value();
    case v1::FieldValue::kDoubleValue:
      return wire.double_value();
    case v1::FieldValue::kStringValue:
      return wire.string_value();
    case v1::FieldValue::kBytesValue:
      return Bytes{wire.bytes_value()};
    case v1::FieldValue::kTimestampMs:
      return Timestamp(std::chrono::milliseconds(wire.timestamp_ms()));
    case v1::FieldValue::kTableValue:
      return client::from_wire(wire.table_value().fields());
    case v1::FieldValue::kArrayValue: {
      Array array;
      for (const v1::FieldValue& element : wire.array_value().values()) {
        array.push_back(from_wire(element));
      }
      return array;
    }
    case v1::FieldValue::KIND_NOT_SET:
      break;
  }
  return {};
}

void to_wire(const Table& table, FieldMap* fields) {
  for (const auto& [name, value] : table) to_wire(value, &(*fields)[name]);
}

Table from_wire(const FieldMap& fields) {
  Table table;
  for (const auto& [name, value] : fields) table.emplace(name, from_wire(value));
  return table;
}

void to_wire(const MessageHeader& header, v1::MessageHeader* wire) {
  wire->set_exchange(header.exchange);
  wire->set_routing_key(header.routing_key);
  wire->set_mandatory(header.mandatory);
  if (header.properties != Properties{}) to_wire(header.properties, wire->mutable_properties());
}

MessageHeader from_wire(const v1::MessageHeader& wire) {
  MessageHeader header;
  header.exchange = wire.exchange();
  header.routing_key = wire.routing_key();
  header.mandatory = wire.mandatory();
  if (wire.has_properties()) header.properties = from_wire(wire.properties());
  return header;
}

Error from_wire(const v1::Error& wire) {
  const bool usable = wire.code() > 0 && wire.code() <= 0xFFFF;
  return Error{usable ? static_cast<ErrorCode>(wire.code()) : ErrorCode::kInternalError,
               wire.entity(), wire.text()};
}

Error from_status(const segue::Status& status) {
  // Codes from 700 are for the inside of a process.
  const auto number = static_cast<std::uint16_t>(status.code());
  const ErrorCode code = status.code() == Code::kInvalidConfig ? ErrorCode::kInvalidArgument
                         : number >= 700                       ? ErrorCode::kInternalError
                                                               : static_cast<ErrorCode>(number);
  return Error{code, {}, status.message()};
}

Durability from_wire(v1::Durability wire) {
  switch (wire) {
    case v1::DURABILITY_SYNC:
      return Durability::kSync;
    case v1::DURABILITY_INTERVAL:
      return Durability::kInterval;
    case v1::DURABILITY_TRANSIENT:
      return Durability::kTransient;
    default:
      return Durability::kUnknown;
  }
}

QueueDescription from_wire(const v1::QueueDescription& wire) {
  QueueDescription queue;
  queue.name = wire.name();
  queue.id = wire.id();
  queue.shard = wire.shard();
  queue.node = wire.node();
  queue.durable = wire.durable();
  queue.exclusive = wire.exclusive();
  queue.auto_delete = wire.auto_delete();
  queue.arguments = from_wire(wire.arguments());
  queue.available = wire.available();
  queue.ready = wire.ready();
  queue.unacked = wire.unacked();
  queue.consumers = wire.consumers();
  queue.bytes = wire.bytes();
  queue.disk_bytes = wire.disk_bytes();
  queue.memory_bytes = wire.memory_bytes();
  queue.enqueued_total = wire.enqueued_total();
  queue.delivered_total = wire.delivered_total();
  queue.settled_total = wire.settled_total();
  queue.dead_lettering = wire.dead_lettering();
  queue.dead_letter_dropped = wire.dead_letter_dropped();
  queue.expired_total = wire.expired_total();
  queue.dropped_total = wire.dropped_total();
  queue.deduplicated_total = wire.deduplicated_total();
  queue.dedupe_entries = wire.dedupe_entries();
  queue.dedupe_bytes = wire.dedupe_bytes();
  queue.groups = wire.groups();
  for (const v1::EffectiveSetting& setting : wire.effective()) {
    queue.effective.push_back({setting.name(), from_wire(setting.value()), setting.origin()});
  }
  queue.delayed = wire.delayed();
  return queue;
}

PolicyDescription from_wire(const v1::PolicyDefinition& wire) {
  return {wire.name(), wire.pattern(), wire.apply_to(), wire.priority(),
          from_wire(wire.definition())};
}

ExchangeDescription from_wire(const v1::ExchangeDescription& wire) {
  return {wire.name(),
          wire.type(),
          wire.durable(),
          wire.auto_delete(),
          wire.internal(),
          wire.bindings(),
          from_wire(wire.arguments())};
}

BindingDescription from_wire(const v1::BindingDescription& wire) {
  return {wire.exchange(),
          wire.queue(),
          wire.routing_key(),
          wire.number(),
          from_wire(wire.arguments()),
          wire.to_exchange()};
}

ClusterDescription from_wire(const v1::ClusterStatusOk& wire) {
  ClusterDescription cluster;
  cluster.cluster = wire.cluster();
  cluster.version = wire.version();
  cluster.shard_count = wire.shard_count();
  cluster.catalog_index = wire.catalog_index();
  cluster.catalog_leader = wire.catalog_leader();
  cluster.catalog_available = wire.catalog_available();
  cluster.link_heartbeat = std::chrono::milliseconds(wire.link_heartbeat_ms());
  for (const auto& router : wire.routers()) {
    cluster.routers.push_back({router.id(), router.endpoint(), router.self(), router.sessions(),
                               router.unconfirmed(), std::chrono::milliseconds(router.uptime_ms()),
                               router.pid(), router.machine()});
  }
  for (const auto& node : wire.nodes()) {
    cluster.nodes.push_back({node.id(), node.endpoint(), node.connected(), node.shards(),
                             node.queues(), node.memory_bytes(), node.memory_limit(),
                             node.disk_free_bytes(), node.wal_bytes(), node.blocked_reason(),
                             std::chrono::milliseconds(node.uptime_ms()), node.ready(),
                             node.unacked(), std::chrono::milliseconds(node.silent_ms()),
                             node.pid(), node.machine(), node.quarantined()});
  }
  for (const auto& shard : wire.shards()) {
    cluster.shards.push_back(
        {shard.shard(), shard.node(), shard.available(), shard.queues(), shard.blocked_reason()});
  }
  return cluster;
}

namespace {

std::string state_name(v1::SegmentDescription::State state) {
  switch (state) {
    case v1::SegmentDescription::STATE_ACTIVE:
      return "active";
    case v1::SegmentDescription::STATE_FULL:
      return "full";
    case v1::SegmentDescription::STATE_SEALED:
      return "sealed";
    case v1::SegmentDescription::STATE_COMPACTING:
      return "compacting";
    case v1::SegmentDescription::STATE_MERGING:
      return "merging";
    default:
      return "unknown";
  }
}

}  // namespace

QueueSegments from_wire(const v1::ListSegmentsOk& wire) {
  QueueSegments files;
  files.node = wire.node();
  files.paused = wire.paused();
  files.running = wire.running();
  for (const auto& segment : wire.segments()) {
    files.segments.push_back({state_name(segment.state()), segment.first(), segment.last(),
                              segment.generation(), segment.bytes(), segment.valid_bytes(),
                              segment.messages(), segment.valid(), segment.priority()});
  }
  return files;
}

GarbageDescription from_wire(const v1::GarbageDescription& wire) {
  GarbageDescription garbage;
  garbage.node = wire.node();
  if (wire.has_error()) garbage.error = from_wire(wire.error());
  garbage.paused = wire.paused();
  garbage.running = wire.running();
  garbage.debt_bytes = wire.debt_bytes();
  garbage.waiting_queues = wire.waiting_queues();
  garbage.paused_queues = wire.paused_queues();
  garbage.copies = wire.copies();
  garbage.failed_copies = wire.failed_copies();
  garbage.copied_bytes = wire.copied_bytes();
  garbage.reclaimed_bytes = wire.reclaimed_bytes();
  garbage.dropped_bytes = wire.dropped_bytes();
  garbage.bytes_per_second = wire.bytes_per_second();
  garbage.last_pause = std::chrono::microseconds(wire.last_pause_us());
  garbage.longest_pause = std::chrono::microseconds(wire.longest_pause_us());
  garbage.scrub_bytes_per_second = wire.scrub_bytes_per_second();
  garbage.scrubbed_bytes = wire.scrubbed_bytes();
  garbage.scrub_passes = wire.scrub_passes();
  garbage.last_scrub_ago = std::chrono::milliseconds(wire.last_scrub_ago_ms());
  garbage.scrub_found = wire.scrub_found();
  return garbage;
}

v1::CollectGarbage::Action to_wire(GarbageAction action) {
  switch (action) {
    case GarbageAction::kStatus:
      return v1::CollectGarbage::ACTION_STATUS;
    case GarbageAction::kRun:
      return v1::CollectGarbage::ACTION_RUN;
    case GarbageAction::kPause:
      return v1::CollectGarbage::ACTION_PAUSE;
    case GarbageAction::kResume:
      return v1::CollectGarbage::ACTION_RESUME;
  }
  return v1::CollectGarbage::ACTION_STATUS;
}

BackupDescription from_wire(const v1::NodeBackupOk& wire) {
  using State = BackupDescription::State;
  BackupDescription backup;
  switch (wire.state()) {
    case v1::NodeBackupOk::STATE_RUNNING:
      backup.state = State::kRunning;
      break;
    case v1::NodeBackupOk::STATE_DONE:
      backup.state = State::kDone;
      break;
    case v1::NodeBackupOk::STATE_FAILED:
      backup.state = State::kFailed;
      break;
    default:
      break;
  }
  backup.target = wire.target();
  if (wire.has_failure()) backup.failure = from_wire(wire.failure());
  backup.files = wire.files();
  backup.copied_bytes = wire.copied_bytes();
  backup.total_bytes = wire.total_bytes();
  return backup;
}

v1::NodeBackup::Action to_wire(BackupAction action) {
  switch (action) {
    case BackupAction::kStatus:
      return v1::NodeBackup::ACTION_STATUS;
    case BackupAction::kStart:
      return v1::NodeBackup::ACTION_START;
    case BackupAction::kCancel:
      return v1::NodeBackup::ACTION_CANCEL;
  }
  return v1::NodeBackup::ACTION_STATUS;
}

Status check_text(const google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    Status checked;
    if (field->is_repeated()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      checked = check_text(reflection->GetMessage(message, field));
    } else if (field->type() == FieldDescriptor::TYPE_STRING) {
      checked = check_string(field->name(), reflection->GetString(message, field));
    }
    if (!checked) return checked;
  }
  return {};
}

Status check_table(const Table& table) {
  return check_table(table, 0);
}

Result<std::string> serialize_header(const MessageHeader& header) {
  if (Status checked = check_name("exchange", header.exchange); !checked) return checked.error();
  if (Status checked = check_name("routing key", header.routing_key); !checked) {
    return checked.error();
  }
  // Before it is walked through: the depth is bounded then.
  if (Status checked = check_table(header.properties.headers); !checked) return checked.error();
  v1::MessageHeader wire;
  to_wire(header, &wire);
  if (wire.has_properties()) {
    if (Status checked = check_text(wire.properties()); !checked) return checked.error();
  }
  std::string bytes = wire.SerializeAsString();
  if (bytes.size() > kMaxHeaderBytes) {
    return invalid("properties", "the message's properties take " + std::to_string(bytes.size()) +
                                     " bytes, at most " + std::to_string(kMaxHeaderBytes) +
                                     " are allowed; put large values into the body");
  }
  return bytes;
}

}  // namespace segue::client
