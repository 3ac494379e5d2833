#include "cli/cluster_definitions.h"

#include <utility>

#include "client/convert.h"

namespace segue::cli {

namespace {

/// The virtual host that open_session() takes.
std::string home_of(const SessionOptions& options) {
  std::string vhost;
  if (const auto endpoint = choose_endpoint(options.routers, system_lookup())) {
    vhost = endpoint->vhost;
  }
  if (options.vhost) vhost = *options.vhost;
  return vhost.empty() ? std::string(kDefaultVhost) : vhost;
}

}  // namespace

VhostSessions::VhostSessions(Console& console, const SessionOptions& options,
                             client::Connection& own, WaitNotes& notes)
    : console_(console), options_(options), own_(own), notes_(notes), home_(home_of(options)) {}

client::Connection* VhostSessions::in(const std::string& vhost, int& exit_code) {
  if (vhost == home_) return &own_;
  const auto found = others_.find(vhost);
  if (found != others_.end()) return &found->second;
  SessionOptions options = options_;
  options.vhost = vhost;
  auto opened = open_session(console_, options, exit_code, {}, notes_);
  if (!opened) return nullptr;
  return &others_.emplace(vhost, std::move(*opened)).first->second;
}

client::Status add_definitions(client::Connection& connection, const std::string& vhost,
                               Definitions& to, std::vector<std::string>* unnamed) {
  auto exchanges = connection.admin().list_all_exchanges();
  if (!exchanges) return exchanges.error();
  for (const client::ExchangeDescription& exchange : *exchanges) {
    if (exchange.name.empty() || exchange.name.starts_with("amq.")) continue;
    v1::ExchangeDefinition& definition = to.exchanges[{vhost, exchange.name}];
    definition.set_vhost(vhost);
    definition.set_name(exchange.name);
    definition.set_type(exchange.type);
    definition.set_durable(exchange.durable);
    definition.set_auto_delete(exchange.auto_delete);
    definition.set_internal(exchange.internal);
    client::to_wire(exchange.arguments, definition.mutable_arguments());
  }
  auto queues = connection.admin().list_all_queues(true);
  if (!queues) return queues.error();
  for (const client::QueueDescription& queue : *queues) {
    if (queue.exclusive) continue;
    if (queue.name.starts_with("amq.")) {
      if (unnamed != nullptr) unnamed->push_back(queue.name);
      continue;
    }
    v1::QueueDefinition& definition = to.queues[{vhost, queue.name}];
    definition.set_vhost(vhost);
    definition.set_name(queue.name);
    definition.set_durable(queue.durable);
    definition.set_auto_delete(queue.auto_delete);
    client::to_wire(queue.arguments, definition.mutable_arguments());
  }
  auto bindings = connection.admin().list_all_bindings();
  if (!bindings) return bindings.error();
  for (const client::BindingDescription& binding : *bindings) {
    if (binding.exchange.empty()) continue;
    const bool kept = !binding.to_exchange.empty() || to.queues.contains({vhost, binding.queue});
    if (!kept) continue;
    v1::BindingDefinition& definition = to.bindings.emplace_back();
    definition.set_vhost(vhost);
    definition.set_exchange(binding.exchange);
    definition.set_queue(binding.queue);
    definition.set_to_exchange(binding.to_exchange);
    definition.set_routing_key(binding.routing_key);
    client::to_wire(binding.arguments, definition.mutable_arguments());
  }
  auto policies = connection.admin().list_all_policies();
  if (!policies) return policies.error();
  for (const client::PolicyDescription& policy : *policies) {
    to.policies[{vhost, policy.name}] = policy_definition(policy, vhost);
  }
  return {};
}

v1::PolicyDefinition policy_definition(const client::PolicyDescription& policy,
                                       const std::string& vhost) {
  v1::PolicyDefinition definition;
  definition.set_vhost(vhost);
  definition.set_name(policy.name);
  definition.set_pattern(policy.pattern);
  definition.set_apply_to(policy.apply_to);
  definition.set_priority(policy.priority);
  client::to_wire(policy.definition, definition.mutable_definition());
  return definition;
}

client::Status add_vhosts(client::Connection& connection, Definitions& to) {
  const auto vhosts = connection.admin().list_all_vhosts();
  if (!vhosts) return vhosts.error();
  for (const client::VhostDescription& vhost : *vhosts) {
    v1::VhostDefinition& definition = to.vhosts[vhost.name];
    definition.set_name(vhost.name);
    if (vhost.max_queues) definition.set_max_queues(*vhost.max_queues);
    if (vhost.max_sessions) definition.set_max_sessions(*vhost.max_sessions);
    if (vhost.max_bytes) definition.set_max_bytes(*vhost.max_bytes);
  }
  return {};
}

std::set<std::string> vhosts_of(const Definitions& definitions, const std::string& home) {
  std::set<std::string> vhosts;
  if (definitions.vhosts.empty()) vhosts.insert(home);
  for (const DefinedObject& object : objects_of(definitions, home)) vhosts.insert(object.vhost);
  return vhosts;
}

std::optional<Definitions> current_definitions(Console& console, VhostSessions& sessions,
                                               const std::set<std::string>& vhosts,
                                               int& exit_code) {
  Definitions current;
  const auto failed = [&](const client::Status& status) {
    if (!status) exit_code = report(console, "look at what there is", status.error());
    return !status;
  };
  if (failed(add_vhosts(sessions.own(), current))) return std::nullopt;
  for (const std::string& vhost : vhosts) {
    if (!current.vhosts.contains(vhost)) continue;
    client::Connection* connection = sessions.in(vhost, exit_code);
    if (connection == nullptr || failed(add_definitions(*connection, vhost, current))) {
      return std::nullopt;
    }
  }
  return current;
}

}  // namespace segue::cli
