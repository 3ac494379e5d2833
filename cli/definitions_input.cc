// Reading a document of definitions: our own, or RabbitMQ's (cli/definitions.h).
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cli/definitions.h"
#include "cli/field_values.h"
#include "cli/json_input.h"
#include "cli/table_output.h"
#include "cli/yaml_text.h"

namespace segue::cli {

namespace {

using client::Binding;

Status wrong(std::string message) {
  return Status(Code::kInvalidConfig, std::move(message));
}

/// One object of the document, read member by member. The first thing that is wrong is kept.
class Members {
 public:
  Members(const JsonValue& object, std::string place) : object_(object), place_(std::move(place)) {
    if (object_.object() == nullptr) {
      fail(place_ + " is " + std::string(object_.kind_name()) + "; it must be an object");
    }
  }

  bool has(std::string_view name) const { return object_.find(name) != nullptr; }
  std::string text(const char* name, std::optional<std::string> otherwise = std::nullopt) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr || value->text() == nullptr) {
      fail(place_ + "." + name + " is " + kind(value) + "; it must be a string");
      return {};
    }
    return *value->text();
  }
  bool truth(const char* name, bool otherwise) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr) return otherwise;
    if (value->truth() == nullptr) {
      fail(place_ + "." + name + " is " + kind(value) + "; it must be true or false");
      return otherwise;
    }
    return *value->truth();
  }
  /// A whole number of 32 bits; 0 if it is missing.
  std::int32_t number(const char* name) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr) return 0;
    const bool fits =
        value->whole() != nullptr && *value->whole() == static_cast<std::int32_t>(*value->whole());
    if (fits) return static_cast<std::int32_t>(*value->whole());
    fail(place_ + "." + name + " is " + kind(value) + "; it must be a whole number of 32 bits");
    return 0;
  }
  client::Table table(const char* name) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr) return {};
    // An empty table of a language without tables.
    if (value->array() != nullptr && value->array()->empty()) return {};
    auto table = table_of(*value);
    if (!table) {
      fail(place_ + "." + name + ": " + table.status().message());
      return {};
    }
    return std::move(*table);
  }
  /// Members that nobody asked for are mistakes.
  void only(std::initializer_list<std::string_view> known) {
    if (object_.object() == nullptr) return;
    for (const auto& [name, value] : *object_.object()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string list;
      for (const std::string_view one : known)
        list += (list.empty() ? "" : ", ") + std::string(one);
      fail(place_ + " has a member '" + printable(name) + "' that is not known; there are " + list);
    }
  }
  const Status& status() const { return status_; }

 private:
  static std::string kind(const JsonValue* value) {
    return value == nullptr ? "missing" : std::string(value->kind_name());
  }
  void fail(std::string message) {
    if (status_.is_ok()) status_ = wrong(std::move(message));
  }

  const JsonValue& object_;
  std::string place_;
  Status status_;
};

/// Calls visit(object, place) for each item of a list that may be missing.
template <typename Visit>
Status each_item(const JsonValue& document, const char* name, const Visit& visit) {
  const JsonValue* list = document.find(name);
  if (list == nullptr) return {};
  if (list->array() == nullptr) {
    return wrong(std::string(name) + " is " + std::string(list->kind_name()) +
                 "; it must be a list");
  }
  for (std::size_t i = 0; i < list->array()->size(); ++i) {
    const std::string place = std::string(name) + "[" + std::to_string(i) + "]";
    if (const Status status = visit((*list->array())[i], place); !status) return status;
  }
  return {};
}

// ---- our own

Status read_own(const JsonValue& document, Definitions& to) {
  const JsonValue* format = document.find("segue_definitions");
  if (format->whole() == nullptr || *format->whole() != 1) {
    return wrong("segue_definitions is not 1: the document is of a newer version");
  }
  Members top(document, "the document");
  top.only({"segue_definitions", "exchanges", "queues", "bindings", "policies"});
  if (!top.status()) return top.status();
  Status status = each_item(document, "exchanges", [&](const JsonValue& item, std::string place) {
    Members members(item, place);
    members.only({"name", "type", "durable", "auto_delete", "internal", "arguments"});
    client::ExchangeOptions options;
    options.type = members.text("type");
    options.durable = members.truth("durable", true);
    options.auto_delete = members.truth("auto_delete", false);
    options.internal = members.truth("internal", false);
    options.arguments = members.table("arguments");
    const std::string name = members.text("name");
    if (!members.status()) return members.status();
    if (to.exchanges.emplace(name, options).second) return Status();
    return wrong(place + ": exchange '" + printable(name) + "' is in the document twice");
  });
  if (!status) return status;
  status = each_item(document, "queues", [&](const JsonValue& item, std::string place) {
    Members members(item, place);
    members.only({"name", "durable", "auto_delete", "arguments"});
    client::QueueOptions options;
    options.durable = members.truth("durable", true);
    options.auto_delete = members.truth("auto_delete", false);
    options.arguments = members.table("arguments");
    const std::string name = members.text("name");
    if (!members.status()) return members.status();
    if (to.queues.emplace(name, options).second) return Status();
    return wrong(place + ": queue '" + printable(name) + "' is in the document twice");
  });
  if (!status) return status;
  status = each_item(document, "policies", [&](const JsonValue& item, std::string place) {
    Members members(item, place);
    members.only({"name", "pattern", "apply_to", "priority", "definition"});
    client::PolicyDescription policy;
    policy.name = members.text("name");
    policy.pattern = members.text("pattern");
    policy.apply_to = members.text("apply_to", "all");
    policy.priority = members.number("priority");
    policy.definition = members.table("definition");
    if (!members.status()) return members.status();
    if (to.policies.emplace(policy.name, policy).second) return Status();
    return wrong(place + ": policy '" + printable(policy.name) + "' is in the document twice");
  });
  if (!status) return status;
  return each_item(document, "bindings", [&](const JsonValue& item, std::string place) {
    Members members(item, place);
    members.only({"exchange", "queue", "to_exchange", "routing_key", "arguments"});
    Binding binding;
    binding.exchange = members.text("exchange");
    binding.queue = members.text("queue", "");
    binding.to_exchange = members.text("to_exchange", "");
    binding.routing_key = members.text("routing_key", "");
    binding.arguments = members.table("arguments");
    if (!members.status()) return members.status();
    if (binding.queue.empty() == binding.to_exchange.empty()) {
      return wrong(place + " must have either a queue or a to_exchange");
    }
    to.bindings.push_back(std::move(binding));
    return Status();
  });
}

// ---- RabbitMQ's

/// Arguments of its queues that say how it keeps them, which is ours to know.
constexpr std::array kNotNeeded = {
    std::string_view("x-queue-type"),
    std::string_view("x-queue-mode"),
    std::string_view("x-queue-version"),
    std::string_view("x-queue-master-locator"),
    std::string_view("x-queue-leader-locator"),
    std::string_view("x-quorum-initial-group-size"),
    std::string_view("x-quorum-target-group-size"),
    std::string_view("x-dead-letter-strategy"),
    std::string_view("x-max-in-memory-length"),
    std::string_view("x-max-in-memory-bytes"),
    std::string_view("x-ha-policy"),
};

/// What its policies set that has the same meaning here.
constexpr std::array kPolicyKeys = {
    std::string_view("message-ttl"),        std::string_view("expires"),
    std::string_view("max-length"),         std::string_view("max-length-bytes"),
    std::string_view("overflow"),           std::string_view("dead-letter-exchange"),
    std::string_view("alternate-exchange"), std::string_view("dead-letter-routing-key"),
    std::string_view("delivery-limit"),     std::string_view("consumer-timeout"),
};

class RabbitReader {
 public:
  RabbitReader(const JsonValue& document, const std::string& vhost, ReadDefinitions& to)
      : document_(document), vhost_(vhost), to_(to) {}

  Status read() {
    SEGUE_RETURN_IF_ERROR(
        each_item(document_, "exchanges",
                  [&](const JsonValue& item, std::string place) { return exchange(item, place); }));
    SEGUE_RETURN_IF_ERROR(
        each_item(document_, "queues",
                  [&](const JsonValue& item, std::string place) { return queue(item, place); }));
    SEGUE_RETURN_IF_ERROR(
        each_item(document_, "bindings",
                  [&](const JsonValue& item, std::string place) { return binding(item, place); }));
    SEGUE_RETURN_IF_ERROR(
        each_item(document_, "policies",
                  [&](const JsonValue& item, std::string place) { return policy(item, place); }));
    other_sections();
    return other_vhosts();
  }

 private:
  void note(bool left_out, std::string object, std::string text) {
    to_.notes.push_back({left_out, std::move(object), std::move(text)});
  }
  /// Those of other virtual hosts are told of together.
  bool of_other_vhost(Members& members) {
    const std::string vhost = members.text("vhost", vhost_);
    ++objects_of_[vhost];
    return vhost != vhost_;
  }
  static bool is_own(const std::string& name) { return name.empty() || name.starts_with("amq."); }

  Status exchange(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    const std::string name = members.text("name");
    const std::string object = "exchange '" + printable(name) + "'";
    client::ExchangeOptions options;
    options.type = members.text("type");
    options.durable = members.truth("durable", true);
    options.auto_delete = members.truth("auto_delete", false);
    options.internal = members.truth("internal", false);
    client::Table arguments = members.table("arguments");
    const bool other = of_other_vhost(members);
    if (!members.status() || other || is_own(name)) return members.status();
    constexpr std::array kTypes = {"direct", "fanout", "topic", "headers", "x-consistent-hash"};
    if (std::find(kTypes.begin(), kTypes.end(), options.type) == kTypes.end()) {
      note(true, object, "there is no exchange type '" + printable(options.type) + "' here");
      left_out_exchanges_.insert(name);
      return {};
    }
    for (auto& [argument, value] : arguments) {
      const bool known = argument == "alternate-exchange" || argument == "hash-header" ||
                         argument == "hash-property";
      if (known) {
        options.arguments[argument] = std::move(value);
      } else {
        note(false, object,
             "its argument '" + printable(argument) + "' has no meaning here, and is left out");
      }
    }
    to_.definitions.exchanges[name] = std::move(options);
    return {};
  }

  Status queue(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    const std::string name = members.text("name");
    const std::string object = "queue '" + printable(name) + "'";
    client::QueueOptions options;
    options.durable = members.truth("durable", true);
    options.auto_delete = members.truth("auto_delete", false);
    const client::Table arguments = members.table("arguments");
    const bool other = of_other_vhost(members);
    if (!members.status() || other) return members.status();
    if (is_own(name)) {
      note(true, object, "names that begin with 'amq.' are the server's to give");
      left_out_queues_.insert(name);
      return {};
    }
    const auto type = arguments.find("x-queue-type");
    if (type != arguments.end() && type->second == client::Value("stream")) {
      note(true, object, "is a stream: there are only queues here");
      left_out_queues_.insert(name);
      return {};
    }
    for (const auto& [argument, value] : arguments) {
      if (std::find(kNotNeeded.begin(), kNotNeeded.end(), argument) == kNotNeeded.end()) {
        options.arguments[argument] = value;
      } else if (argument == "x-dead-letter-strategy") {
        note(false, object,
             "its argument 'x-dead-letter-strategy' is left out: dead letters are never lost here");
      } else {
        note(false, object,
             "its argument '" + argument +
                 "' is about how RabbitMQ keeps messages, and is left out");
      }
    }
    to_.definitions.queues[name] = std::move(options);
    return {};
  }

  Status binding(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    Binding binding;
    binding.exchange = members.text("source");
    const std::string destination = members.text("destination");
    const bool to_queue = members.text("destination_type", "queue") == "queue";
    (to_queue ? binding.queue : binding.to_exchange) = destination;
    binding.routing_key = members.text("routing_key", "");
    binding.arguments = members.table("arguments");
    const bool other = of_other_vhost(members);
    // Those of the default exchange are there by themselves.
    if (!members.status() || other || binding.exchange.empty()) return members.status();
    const bool missing = left_out_exchanges_.contains(binding.exchange) ||
                         (to_queue ? left_out_queues_ : left_out_exchanges_).contains(destination);
    if (missing) {
      note(true, binding_text(binding), "what it binds is left out");
    } else {
      to_.definitions.bindings.push_back(std::move(binding));
    }
    return {};
  }

  void other_sections() {
    for (const auto& [name, value] : *document_.object()) {
      if (name == "exchanges" || name == "queues" || name == "bindings" || name == "vhosts" ||
          name == "policies") {
        continue;
      }
      if (value.array() == nullptr || value.array()->empty()) continue;
      note(true, printable(name),
           "Segue has no such thing (" + grouped(value.array()->size()) + " in the document)");
    }
  }
  /// Keys that say how RabbitMQ keeps messages go; what else is not known is left out too.
  Status policy(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    client::PolicyDescription policy;
    policy.name = members.text("name");
    const std::string object = "policy '" + printable(policy.name) + "'";
    policy.pattern = members.text("pattern");
    policy.apply_to = members.text("apply-to", "all");
    policy.priority = members.number("priority");
    const client::Table definition = members.table("definition");
    const bool other = of_other_vhost(members);
    if (!members.status() || other) return members.status();
    if (policy.apply_to == "classic_queues" || policy.apply_to == "quorum_queues") {
      note(false, object, "is for " + policy.apply_to + " there, and for all queues here");
      policy.apply_to = "queues";
    } else if (policy.apply_to == "streams") {
      note(true, object, "is for streams: there are only queues here");
      return {};
    }
    for (const auto& [key, value] : definition) {
      if (is_policy_key(key)) {
        policy.definition[key] = value;
      } else {
        note(false, object,
             "its key '" + printable(key) + "' has no meaning here, and is left out");
      }
    }
    if (policy.definition.empty()) {
      note(true, object, "nothing is left that it sets");
      return {};
    }
    to_.definitions.policies[policy.name] = std::move(policy);
    return {};
  }
  static bool is_policy_key(const std::string& key) {
    return std::find(kPolicyKeys.begin(), kPolicyKeys.end(), key) != kPolicyKeys.end();
  }

  Status other_vhosts() {
    std::string names;
    for (const auto& [vhost, objects] : objects_of_) {
      names += (names.empty() ? "'" : ", '") + printable(vhost) + "'";
      if (vhost == vhost_) continue;
      note(true, "virtual host '" + printable(vhost) + "'",
           "has " + counted(objects, "object") +
               "; --from-vhost takes these in place of those of '" + printable(vhost_) + "'");
    }
    if (objects_of_.empty() || objects_of_.contains(vhost_)) return {};
    return wrong("there is nothing of the virtual host '" + printable(vhost_) +
                 "' in the document, but of " + names);
  }

  const JsonValue& document_;
  const std::string& vhost_;
  ReadDefinitions& to_;
  std::set<std::string> left_out_exchanges_;
  std::set<std::string> left_out_queues_;
  std::map<std::string, std::uint64_t> objects_of_;  // by virtual host
};

}  // namespace

Result<ReadDefinitions> read_definitions(std::string_view text, const std::string& vhost) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool yaml = begin != std::string_view::npos && text[begin] != '{' && text[begin] != '[';
  Result<JsonValue> document = yaml ? parse_yaml(text) : parse_json(text);
  if (!document) return document.status();
  if (document->object() == nullptr) {
    return wrong("the document is " + std::string(document->kind_name()) +
                 "; definitions are an object");
  }
  ReadDefinitions read;
  if (document->find("segue_definitions") != nullptr) {
    if (const Status status = read_own(*document, read.definitions); !status) return status;
    return read;
  }
  const bool rabbitmq =
      document->find("rabbit_version") != nullptr || document->find("rabbitmq_version") != nullptr;
  if (!rabbitmq) {
    return wrong(
        "the document is not one of definitions: it has neither a member "
        "\"segue_definitions\" (written by `segue definitions export`) nor "
        "\"rabbit_version\" (by RabbitMQ)");
  }
  read.from_rabbitmq = true;
  if (const Status status = RabbitReader(*document, vhost, read).read(); !status) return status;
  return read;
}

}  // namespace segue::cli
