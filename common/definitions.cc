#include "common/definitions.h"

#include <algorithm>
#include <set>

#include "common/field_json.h"
#include "common/json_output.h"
#include "common/utf8.h"

namespace segue {

namespace {

std::string in_quotes(const std::string& name) {
  return "'" + printable(name) + "'";
}

/// Gathers what of one object is not as it is wanted.
class Differences {
 public:
  void add(const char* what, bool wanted, bool current) {
    const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
    add(std::string(what), text(wanted), text(current));
  }
  void add(const std::string& what, const std::string& wanted, const std::string& current) {
    if (wanted == current) return;
    if (!text_.empty()) text_ += "; ";
    text_ += what + " is " + current + ", wanted " + wanted;
  }
  void add(const FieldMap& wanted, const FieldMap& current) {
    std::set<std::string> names;
    for (const auto& [name, value] : wanted) names.insert(name);
    for (const auto& [name, value] : current) names.insert(name);
    const auto text = [](const FieldMap& fields, const std::string& name) {
      const auto found = fields.find(name);
      return found == fields.end() ? "not set" : json_of(found->second);
    };
    for (const std::string& name : names) {
      add(printable(name), text(wanted, name), text(current, name));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string difference(const v1::VhostDefinition& wanted, const v1::VhostDefinition& current) {
  const auto limit = [](bool has, std::uint64_t value) {
    return has ? std::to_string(value) : "not set";
  };
  Differences differences;
  differences.add("max_queues", limit(wanted.has_max_queues(), wanted.max_queues()),
                  limit(current.has_max_queues(), current.max_queues()));
  differences.add("max_sessions", limit(wanted.has_max_sessions(), wanted.max_sessions()),
                  limit(current.has_max_sessions(), current.max_sessions()));
  differences.add("max_bytes", limit(wanted.has_max_bytes(), wanted.max_bytes()),
                  limit(current.has_max_bytes(), current.max_bytes()));
  return differences.take();
}

std::string difference(const v1::ExchangeDefinition& wanted,
                       const v1::ExchangeDefinition& current) {
  Differences differences;
  differences.add("type", wanted.type(), current.type());
  differences.add("durable", wanted.durable(), current.durable());
  differences.add("auto_delete", wanted.auto_delete(), current.auto_delete());
  differences.add("internal", wanted.internal(), current.internal());
  differences.add(wanted.arguments(), current.arguments());
  return differences.take();
}

std::string difference(const v1::QueueDefinition& wanted, const v1::QueueDefinition& current) {
  Differences differences;
  differences.add("durable", wanted.durable(), current.durable());
  differences.add("exclusive", wanted.exclusive(), current.exclusive());
  differences.add("auto_delete", wanted.auto_delete(), current.auto_delete());
  differences.add(wanted.arguments(), current.arguments());
  return differences.take();
}

std::string difference(const v1::PolicyDefinition& wanted, const v1::PolicyDefinition& current) {
  Differences differences;
  differences.add("pattern", in_quotes(wanted.pattern()), in_quotes(current.pattern()));
  differences.add("apply_to", wanted.apply_to(), current.apply_to());
  differences.add("priority", std::to_string(wanted.priority()),
                  std::to_string(current.priority()));
  differences.add(wanted.definition(), current.definition());
  return differences.take();
}

template <typename Definition>
Compared compared(const Definition& wanted, const Definition* current) {
  if (current == nullptr) return {};
  std::string text = difference(wanted, *current);
  if (text.empty()) return {Compared::State::kEqual};
  return {Compared::State::kDifferent, std::move(text)};
}

Compared compared_vhost(const v1::VhostDefinition& wanted, const CatalogState& current) {
  const v1::VhostDefinition* const there = current.find_vhost(wanted.name());
  Compared result = compared(wanted, there);
  if (result.state == Compared::State::kDifferent && wanted.name() == kDefaultVhost &&
      difference(*there, v1::VhostDefinition()).empty()) {
    return {};
  }
  return result;
}

}  // namespace

std::string binding_text(const v1::BindingDefinition& binding) {
  std::string text =
      "binding of exchange " + in_quotes(binding.exchange()) + " to " +
      (binding.to_exchange().empty() ? "queue " + in_quotes(binding.queue())
                                     : "exchange " + in_quotes(binding.to_exchange())) +
      " with key " + in_quotes(binding.routing_key());
  if (!binding.arguments().empty()) text += " and arguments " + json_of(binding.arguments());
  return text;
}

std::vector<DefinedObject> objects_of(const Definitions& definitions, const std::string& home) {
  std::vector<DefinedObject> objects;
  const auto add = [&](const std::string& vhost, std::string text) -> v1::CatalogOperation& {
    if (vhost != home) text += " of virtual host " + in_quotes(vhost);
    return objects.emplace_back(DefinedObject{vhost, std::move(text), {}}).operation;
  };
  for (const auto& [name, vhost] : definitions.vhosts) {
    const bool limits = name == kDefaultVhost;
    DefinedObject& object = objects.emplace_back();
    object.vhost = name;
    object.text = (limits ? "limits of virtual host " : "virtual host ") + in_quotes(name);
    *object.operation.mutable_declare_vhost()->mutable_vhost() = vhost;
    object.operation.mutable_declare_vhost()->set_update(limits);
  }
  for (const auto& [key, exchange] : definitions.exchanges) {
    *add(key.first, "exchange " + in_quotes(key.second))
         .mutable_declare_exchange()
         ->mutable_exchange() = exchange;
  }
  for (const auto& [key, queue] : definitions.queues) {
    *add(key.first, "queue " + in_quotes(key.second)).mutable_declare_queue()->mutable_queue() =
        queue;
  }
  for (const auto& [key, policy] : definitions.policies) {
    *add(key.first, "policy " + in_quotes(key.second)).mutable_set_policy() = policy;
  }
  std::set<std::string> seen;
  for (const v1::BindingDefinition& binding : definitions.bindings) {
    if (!seen.insert(binding_identity(binding)).second) continue;
    *add(binding.vhost(), binding_text(binding)).mutable_bind() = binding;
  }
  return objects;
}

Compared compare(const v1::CatalogOperation& wanted, const CatalogState& current) {
  switch (wanted.kind_case()) {
    case v1::CatalogOperation::kDeclareVhost:
      return compared_vhost(wanted.declare_vhost().vhost(), current);
    case v1::CatalogOperation::kDeclareExchange: {
      const v1::ExchangeDefinition& exchange = wanted.declare_exchange().exchange();
      return compared(exchange, current.find_exchange(exchange.vhost(), exchange.name()));
    }
    case v1::CatalogOperation::kDeclareQueue: {
      const v1::QueueDefinition& queue = wanted.declare_queue().queue();
      return compared(queue, current.find_queue(queue.vhost(), queue.name()));
    }
    case v1::CatalogOperation::kSetPolicy: {
      const v1::PolicyDefinition& policy = wanted.set_policy();
      return compared(policy, current.policies().find(policy.vhost(), policy.name()));
    }
    case v1::CatalogOperation::kBind:
      if (current.find_binding(wanted.bind()) == nullptr) return {};
      return {Compared::State::kEqual};
    default:
      return {};
  }
}

CatalogState catalog_of(const Definitions& definitions) {
  v1::CatalogEntry entry;
  entry.set_index(1);
  for (const auto& [name, vhost] : definitions.vhosts) {
    *entry.add_changes()->mutable_vhost_set() = vhost;
  }
  for (const auto& [key, exchange] : definitions.exchanges) {
    *entry.add_changes()->mutable_exchange_created() = exchange;
  }
  std::uint64_t number = 0;
  for (const auto& [key, queue] : definitions.queues) {
    v1::QueueDefinition& created = *entry.add_changes()->mutable_queue_created();
    created = queue;
    created.set_id(++number);
  }
  for (const auto& [key, policy] : definitions.policies) {
    *entry.add_changes()->mutable_policy_set() = policy;
  }
  for (const v1::BindingDefinition& binding : definitions.bindings) {
    v1::BindingDefinition& created = *entry.add_changes()->mutable_binding_created();
    created = binding;
    created.set_number(++number);
  }
  CatalogState state;
  state.apply(entry);
  return state;
}

DefinitionDifferences compare_definitions(const Definitions& wanted, const Definitions& current,
                                          const std::string& home) {
  DefinitionDifferences out;
  const CatalogState there = catalog_of(current);
  for (const DefinedObject& object : objects_of(wanted, home)) {
    const Compared result = compare(object.operation, there);
    if (result.state == Compared::State::kMissing) out.missing.push_back(object.text);
    if (result.state == Compared::State::kDifferent) {
      out.different.push_back(object.text + ": " + result.difference);
    }
  }
  const CatalogState asked = catalog_of(wanted);
  for (const DefinedObject& object : objects_of(current, home)) {
    // A document without virtual hosts says nothing of them; "/" is always there.
    const bool told = !object.operation.has_declare_vhost() ||
                      (!wanted.vhosts.empty() && object.vhost != kDefaultVhost);
    if (told && compare(object.operation, asked).state == Compared::State::kMissing) {
      out.surplus.push_back(object.text);
    }
  }
  return out;
}

}  // namespace segue
