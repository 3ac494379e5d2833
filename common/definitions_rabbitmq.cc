// Reading the document that RabbitMQ exports (common/definitions.h).
#include <algorithm>
#include <array>
#include <set>

#include "common/counted.h"
#include "common/definitions_members.h"
#include "common/rabbitmq_names.h"

namespace segue {

namespace {

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

/// Types of exchanges that are here as well.
constexpr std::array kTypes = {std::string_view("direct"), std::string_view("fanout"),
                               std::string_view("topic"), std::string_view("headers"),
                               std::string_view("x-consistent-hash")};

/// Arguments of exchanges that have the same meaning here.
constexpr std::array kExchangeArguments = {std::string_view("alternate-exchange"),
                                           std::string_view("hash-header"),
                                           std::string_view("hash-property")};

template <typename List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

class RabbitReader {
 public:
  RabbitReader(const JsonValue& document, const ReadDefinitionsOptions& options,
               ReadDefinitions& to)
      : document_(document), options_(options), to_(to) {}

  Status read() {
    if (!options_.from_vhost) {
      SEGUE_RETURN_IF_ERROR(each("vhosts", &RabbitReader::vhost));
      SEGUE_RETURN_IF_ERROR(each("parameters", &RabbitReader::parameter));
    }
    SEGUE_RETURN_IF_ERROR(each("exchanges", &RabbitReader::exchange));
    SEGUE_RETURN_IF_ERROR(each("queues", &RabbitReader::queue));
    SEGUE_RETURN_IF_ERROR(each("bindings", &RabbitReader::binding));
    SEGUE_RETURN_IF_ERROR(each("policies", &RabbitReader::policy));
    other_sections();
    return other_vhosts();
  }

 private:
  using ReadItem = Status (RabbitReader::*)(const JsonValue& item, const std::string& place);

  Status each(const char* list, ReadItem read_item) {
    return each_item(document_, list, [&](const JsonValue& item, const std::string& place) {
      return (this->*read_item)(item, place);
    });
  }
  void note(bool left_out, std::string object, std::string text) {
    to_.notes.push_back({left_out, std::move(object), std::move(text)});
  }
  /// Where the item goes; nothing if it is not wanted: those of other virtual hosts are told of
  /// together.
  std::optional<std::string> destination(Members& members) {
    const std::string vhost = members.text("vhost", options_.from_vhost.value_or(options_.vhost));
    if (!options_.from_vhost) return vhost;
    ++objects_of_[vhost];
    if (vhost != *options_.from_vhost) return std::nullopt;
    return options_.vhost;
  }
  std::string object(const char* kind, const std::string& vhost, const std::string& name) const {
    return std::string(kind) + " '" + printable(name) + "'" + where(vhost);
  }
  std::string where(const std::string& vhost) const {
    return vhost == options_.vhost ? "" : " of virtual host '" + printable(vhost) + "'";
  }
  static bool is_own(const std::string& name) { return name.empty() || name.starts_with("amq."); }

  // Limits are a list when there are none.
  Status vhost(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    const std::string name = members.text("name");
    SEGUE_RETURN_IF_ERROR(members.status());
    to_.definitions.vhosts[name].set_name(name);
    const JsonValue* limits = item.find("limits");
    if (limits == nullptr || limits->object() == nullptr) return {};
    return take_limits(name, *limits, place + ".limits");
  }
  Status parameter(const JsonValue& item, const std::string& place) {
    const JsonValue* component = item.find("component");
    const JsonValue* value = item.find("value");
    const bool limits = component != nullptr && component->text() != nullptr &&
                        *component->text() == "vhost-limits" && value != nullptr;
    if (!limits) {
      ++other_parameters_;
      return {};
    }
    Members members(item, place);
    const std::string vhost = members.text("vhost", options_.vhost);
    SEGUE_RETURN_IF_ERROR(members.status());
    return take_limits(vhost, *value, place + ".value");
  }
  Status take_limits(const std::string& vhost, const JsonValue& limits, const std::string& place) {
    Members members(limits, place);
    SEGUE_RETURN_IF_ERROR(members.status());
    v1::VhostDefinition& definition = to_.definitions.vhosts[vhost];
    definition.set_name(vhost);
    for (const auto& [name, value] : *limits.object()) {
      // Below 0: no limit.
      const bool limit = value.whole() != nullptr && *value.whole() >= 0;
      if (name == "max-queues") {
        if (limit) definition.set_max_queues(static_cast<std::uint64_t>(*value.whole()));
      } else if (name == "max-connections") {
        if (!limit) continue;
        definition.set_max_sessions(static_cast<std::uint64_t>(*value.whole()));
        note(false, "virtual host '" + printable(vhost) + "'",
             "its limit max-connections is one of sessions at each router here (max_sessions)");
      } else {
        note(false, "virtual host '" + printable(vhost) + "'",
             "its limit '" + printable(name) + "' has no meaning here, and is left out");
      }
    }
    return {};
  }

  Status exchange(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    const std::string name = members.text("name");
    std::string type = members.text("type");
    v1::ExchangeDefinition exchange;
    exchange.set_durable(members.truth("durable", true));
    exchange.set_auto_delete(members.truth("auto_delete", false));
    exchange.set_internal(members.truth("internal", false));
    FieldMap arguments = members.fields("arguments");
    const std::optional<std::string> vhost = destination(members);
    if (!members.status() || !vhost || is_own(name)) return members.status();
    const std::string told = object("exchange", *vhost, name);
    const auto delayed = arguments.find("x-delayed-type");
    if (type == kDelayedExchangeType && delayed != arguments.end()) {
      type = delayed->second.string_value();
      if (contains(kTypes, type)) {
        note(false, told,
             "is of type 'x-delayed-message' there, and of its x-delayed-type '" + type +
                 "' here: " + std::string(kDelaysElsewhere));
      }
      arguments.erase("x-delayed-type");
    }
    if (!contains(kTypes, type)) {
      note(true, told, "there is no exchange type '" + printable(type) + "' here");
      left_out_exchanges_.emplace(*vhost, name);
      return {};
    }
    for (const std::string& argument : members.field_names("arguments")) {
      if (!arguments.contains(argument)) continue;  // the type that it became
      if (contains(kExchangeArguments, argument)) {
        (*exchange.mutable_arguments())[argument] = arguments.at(argument);
      } else {
        note(false, told,
             "its argument '" + printable(argument) + "' has no meaning here, and is left out");
      }
    }
    exchange.set_vhost(*vhost);
    exchange.set_name(name);
    exchange.set_type(std::move(type));
    to_.definitions.exchanges[{*vhost, name}] = std::move(exchange);
    return {};
  }

  Status queue(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    const std::string name = members.text("name");
    v1::QueueDefinition queue;
    queue.set_durable(members.truth("durable", true));
    queue.set_auto_delete(members.truth("auto_delete", false));
    const FieldMap arguments = members.fields("arguments");
    const std::optional<std::string> vhost = destination(members);
    if (!members.status() || !vhost) return members.status();
    const std::string told = object("queue", *vhost, name);
    if (is_own(name)) {
      note(true, told, "names that begin with 'amq.' are the server's to give");
      left_out_queues_.emplace(*vhost, name);
      return {};
    }
    const auto type = arguments.find("x-queue-type");
    if (type != arguments.end() && type->second.string_value() == "stream") {
      note(true, told, "is a stream: there are only queues here");
      left_out_queues_.emplace(*vhost, name);
      return {};
    }
    for (const std::string& argument : members.field_names("arguments")) {
      const std::string_view why = why_not_needed(argument);
      if (why.empty()) {
        (*queue.mutable_arguments())[argument] = arguments.at(argument);
      } else {
        note(false, told, "its argument '" + argument + "' is left out: it " + std::string(why));
      }
    }
    queue.set_vhost(*vhost);
    queue.set_name(name);
    to_.definitions.queues[{*vhost, name}] = std::move(queue);
    return {};
  }

  Status binding(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    v1::BindingDefinition binding;
    binding.set_exchange(members.text("source"));
    const std::string to = members.text("destination");
    const bool to_queue = members.text("destination_type", "queue") == "queue";
    if (to_queue) {
      binding.set_queue(to);
    } else {
      binding.set_to_exchange(to);
    }
    binding.set_routing_key(members.text("routing_key", ""));
    *binding.mutable_arguments() = members.fields("arguments");
    const std::optional<std::string> vhost = destination(members);
    // Those of the default exchange are there by themselves.
    if (!members.status() || !vhost || binding.exchange().empty()) return members.status();
    binding.set_vhost(*vhost);
    const bool missing = left_out_exchanges_.contains({*vhost, binding.exchange()}) ||
                         (to_queue ? left_out_queues_ : left_out_exchanges_).contains({*vhost, to});
    if (missing) {
      note(true, binding_text(binding) + where(*vhost), "what it binds is left out");
    } else {
      to_.definitions.bindings.push_back(std::move(binding));
    }
    return {};
  }

  /// Keys that say how RabbitMQ keeps messages go; what else is not known is left out too.
  Status policy(const JsonValue& item, const std::string& place) {
    Members members(item, place);
    v1::PolicyDefinition policy;
    policy.set_name(members.text("name"));
    policy.set_pattern(members.text("pattern"));
    policy.set_apply_to(members.text("apply-to", "all"));
    policy.set_priority(members.number("priority"));
    const FieldMap definition = members.fields("definition");
    const std::optional<std::string> vhost = destination(members);
    if (!members.status() || !vhost) return members.status();
    const std::string told = object("policy", *vhost, policy.name());
    if (policy.apply_to() == "classic_queues" || policy.apply_to() == "quorum_queues") {
      note(false, told, "is for " + policy.apply_to() + " there, and for all queues here");
      policy.set_apply_to("queues");
    } else if (policy.apply_to() == "streams") {
      note(true, told, "is for streams: there are only queues here");
      return {};
    }
    for (const std::string& key : members.field_names("definition")) {
      if (contains(kPolicyKeys, key)) {
        (*policy.mutable_definition())[key] = definition.at(key);
      } else {
        note(false, told, "its key '" + printable(key) + "' has no meaning here, and is left out");
      }
    }
    if (policy.definition().empty()) {
      note(true, told, "nothing is left that it sets");
      return {};
    }
    policy.set_vhost(*vhost);
    to_.definitions.policies[{*vhost, policy.name()}] = std::move(policy);
    return {};
  }

  void other_sections() {
    constexpr std::array kRead = {std::string_view("exchanges"), std::string_view("queues"),
                                  std::string_view("bindings"), std::string_view("vhosts"),
                                  std::string_view("policies")};
    for (const auto& [name, value] : *document_.object()) {
      if (contains(kRead, name) || value.array() == nullptr) continue;
      std::size_t number = value.array()->size();
      if (name == "parameters" && !options_.from_vhost) number = other_parameters_;
      if (number == 0) continue;
      note(true, printable(name),
           "Segue has no such thing (" + std::to_string(number) + " in the document)");
    }
  }

  Status other_vhosts() {
    if (!options_.from_vhost) return {};
    const std::string& wanted = *options_.from_vhost;
    std::string names;
    for (const auto& [vhost, objects] : objects_of_) {
      names += (names.empty() ? "'" : ", '") + printable(vhost) + "'";
      if (vhost == wanted) continue;
      note(true, "virtual host '" + printable(vhost) + "'",
           "has " + counted(objects, "object") +
               "; --from-vhost takes these in place of those of '" + printable(wanted) +
               "', --all-vhosts all");
    }
    if (objects_of_.empty() || objects_of_.contains(wanted)) return {};
    return wrong_definitions("there is nothing of the virtual host '" + printable(wanted) +
                             "' in the document, but of " + names);
  }

  const JsonValue& document_;
  const ReadDefinitionsOptions& options_;
  ReadDefinitions& to_;
  std::set<Definitions::Key> left_out_exchanges_;
  std::set<Definitions::Key> left_out_queues_;
  std::map<std::string, std::uint64_t> objects_of_;  // by virtual host
  std::size_t other_parameters_ = 0;
};

}  // namespace

std::string_view why_not_needed(std::string_view queue_argument) {
  if (!contains(kNotNeeded, queue_argument)) return {};
  if (queue_argument == "x-dead-letter-strategy") {
    return "means nothing here, where dead letters are never lost";
  }
  return "is about how RabbitMQ keeps messages";
}

Status read_rabbitmq_definitions(const JsonValue& document, const ReadDefinitionsOptions& options,
                                 ReadDefinitions& to) {
  to.from_rabbitmq = true;
  return RabbitReader(document, options, to).read();
}

}  // namespace segue
