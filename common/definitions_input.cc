// Reading a document of definitions of our own (common/definitions.h); of RabbitMQ's in
// definitions_rabbitmq.cc.
#include "common/definitions.h"
#include "common/definitions_members.h"
#include "common/regular_file.h"
#include "common/yaml_text.h"

namespace segue {

namespace {

/// Reads the lists of one document into definitions.
class OwnReader {
 public:
  OwnReader(const JsonValue& document, const std::string& vhost, Definitions& to)
      : document_(document), vhost_(vhost), to_(to) {}

  Status read() {
    const JsonValue* format = document_.find("segue_definitions");
    if (format->whole() == nullptr || *format->whole() != 1) {
      return wrong_definitions("segue_definitions is not 1: the document is of a newer version");
    }
    Members top(document_, "the document");
    top.only({"segue_definitions", "vhosts", "exchanges", "queues", "bindings", "policies"});
    SEGUE_RETURN_IF_ERROR(top.status());
    SEGUE_RETURN_IF_ERROR(each("vhosts", &OwnReader::vhost));
    SEGUE_RETURN_IF_ERROR(each("exchanges", &OwnReader::exchange));
    SEGUE_RETURN_IF_ERROR(each("queues", &OwnReader::queue));
    SEGUE_RETURN_IF_ERROR(each("policies", &OwnReader::policy));
    return each("bindings", &OwnReader::binding);
  }

 private:
  using ReadItem = Status (OwnReader::*)(Members& members, const std::string& place);

  Status each(const char* list, ReadItem read_item) {
    return each_item(document_, list, [&](const JsonValue& item, const std::string& place) {
      Members members(item, place);
      return (this->*read_item)(members, place);
    });
  }
  static Status twice(const std::string& place, const char* kind, const std::string& name) {
    return wrong_definitions(place + ": " + kind + " '" + printable(name) +
                             "' is in the document twice");
  }

  Status vhost(Members& members, const std::string& place) {
    members.only({"name", "max_queues", "max_sessions", "max_bytes"});
    v1::VhostDefinition vhost;
    vhost.set_name(members.text("name"));
    if (const auto most = members.limit("max_queues")) vhost.set_max_queues(*most);
    if (const auto most = members.limit("max_sessions")) vhost.set_max_sessions(*most);
    if (const auto most = members.limit("max_bytes")) vhost.set_max_bytes(*most);
    SEGUE_RETURN_IF_ERROR(members.status());
    if (to_.vhosts.emplace(vhost.name(), vhost).second) return {};
    return twice(place, "virtual host", vhost.name());
  }
  Status exchange(Members& members, const std::string& place) {
    members.only({"name", "vhost", "type", "durable", "auto_delete", "internal", "arguments"});
    v1::ExchangeDefinition exchange;
    exchange.set_vhost(members.text("vhost", vhost_));
    exchange.set_type(members.text("type"));
    exchange.set_durable(members.truth("durable", true));
    exchange.set_auto_delete(members.truth("auto_delete", false));
    exchange.set_internal(members.truth("internal", false));
    *exchange.mutable_arguments() = members.fields("arguments");
    exchange.set_name(members.text("name"));
    SEGUE_RETURN_IF_ERROR(members.status());
    const Definitions::Key key(exchange.vhost(), exchange.name());
    if (to_.exchanges.emplace(key, exchange).second) return {};
    return twice(place, "exchange", exchange.name());
  }
  Status queue(Members& members, const std::string& place) {
    members.only({"name", "vhost", "durable", "auto_delete", "arguments"});
    v1::QueueDefinition queue;
    queue.set_vhost(members.text("vhost", vhost_));
    queue.set_durable(members.truth("durable", true));
    queue.set_auto_delete(members.truth("auto_delete", false));
    *queue.mutable_arguments() = members.fields("arguments");
    queue.set_name(members.text("name"));
    SEGUE_RETURN_IF_ERROR(members.status());
    if (queue.name().empty()) {
      return wrong_definitions(place + ".name is empty: a server would make one up each time");
    }
    if (to_.queues.emplace(Definitions::Key(queue.vhost(), queue.name()), queue).second) return {};
    return twice(place, "queue", queue.name());
  }
  Status policy(Members& members, const std::string& place) {
    members.only({"name", "vhost", "pattern", "apply_to", "priority", "definition"});
    v1::PolicyDefinition policy;
    policy.set_vhost(members.text("vhost", vhost_));
    policy.set_name(members.text("name"));
    policy.set_pattern(members.text("pattern"));
    policy.set_apply_to(members.text("apply_to", "all"));
    policy.set_priority(members.number("priority"));
    *policy.mutable_definition() = members.fields("definition");
    SEGUE_RETURN_IF_ERROR(members.status());
    const Definitions::Key key(policy.vhost(), policy.name());
    if (to_.policies.emplace(key, policy).second) return {};
    return twice(place, "policy", policy.name());
  }
  Status binding(Members& members, const std::string& place) {
    members.only({"exchange", "vhost", "queue", "to_exchange", "routing_key", "arguments"});
    v1::BindingDefinition binding;
    binding.set_vhost(members.text("vhost", vhost_));
    binding.set_exchange(members.text("exchange"));
    binding.set_queue(members.text("queue", ""));
    binding.set_to_exchange(members.text("to_exchange", ""));
    binding.set_routing_key(members.text("routing_key", ""));
    *binding.mutable_arguments() = members.fields("arguments");
    SEGUE_RETURN_IF_ERROR(members.status());
    if (binding.queue().empty() == binding.to_exchange().empty()) {
      return wrong_definitions(place + " must have either a queue or a to_exchange");
    }
    to_.bindings.push_back(std::move(binding));
    return {};
  }

  const JsonValue& document_;
  const std::string& vhost_;
  Definitions& to_;
};

Result<ReadDefinitions> read_document(const JsonValue& document,
                                      const ReadDefinitionsOptions& options) {
  if (document.object() == nullptr) {
    return wrong_definitions("the document is " + std::string(document.kind_name()) +
                             "; definitions are an object");
  }
  ReadDefinitions read;
  if (document.find("segue_definitions") != nullptr) {
    SEGUE_RETURN_IF_ERROR(OwnReader(document, options.vhost, read.definitions).read());
    return read;
  }
  const bool rabbitmq =
      document.find("rabbit_version") != nullptr || document.find("rabbitmq_version") != nullptr;
  if (!rabbitmq) {
    return wrong_definitions(
        "the document is not one of definitions: it has neither a member "
        "\"segue_definitions\" (written by `segue definitions export`) nor "
        "\"rabbit_version\" (by RabbitMQ)");
  }
  SEGUE_RETURN_IF_ERROR(read_rabbitmq_definitions(document, options, read));
  return read;
}

}  // namespace

Result<ReadDefinitions> read_definitions(std::string_view text,
                                         const ReadDefinitionsOptions& options) {
  const auto wrong = [&](const Status& status) {
    return wrong_definitions((options.name.empty() ? "" : options.name + ": ") + status.message());
  };
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool yaml = begin != std::string_view::npos && text[begin] != '{' && text[begin] != '[';
  const Result<JsonValue> document = yaml ? parse_yaml(text, options.name) : parse_json(text);
  // What is wrong with YAML has the name at each of its lines.
  if (!document) return yaml ? document.status() : wrong(document.status());
  Result<ReadDefinitions> read = read_document(*document, options);
  if (!read) return wrong(read.status());
  return read;
}

Result<ReadDefinitions> load_definitions(const std::string& path) {
  const Result<std::string> text = read_regular_file(path, kMostDefinitionsBytes);
  if (text) return read_definitions(*text, {.name = path});
  return Status(text.status().code(),
                "cannot read the definitions '" + path + "': " + text.status().message());
}

}  // namespace segue
