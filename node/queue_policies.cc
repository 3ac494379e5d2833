#include "node/queue_policies.h"

#include <algorithm>
#include <array>
#include <map>

#include "common/bytes.h"
#include "common/routing/exchange_router.h"
#include "node/catalog_checks.h"
#include "node/queue_arguments.h"

namespace segue::node {
namespace {

using Target = Policies::Target;

constexpr std::string_view kArgumentPrefix = "x-";

/// Of these the lower one counts, whoever says it.
constexpr std::array kLimits = {&kConsumerTimeout, &kDeliveryLimit,  &kExpires,
                                &kMaxLength,       &kMaxLengthBytes, &kMessageTtl};

Status refused(std::string text) {
  return Status(Code::kPreconditionFailed, std::move(text));
}

std::string argument_of(std::string_view key) {
  return std::string(kArgumentPrefix) + std::string(key);
}

/// "x-a, x-b" as keys: "a, b".
std::string queue_keys() {
  std::string keys;
  const std::string names = changeable_argument_names();
  std::string_view rest = names;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    keys += (keys.empty() ? "" : ", ") + std::string(name.substr(kArgumentPrefix.size()));
    rest.remove_prefix(std::min(rest.size(), name.size() + 2));
  }
  return keys;
}

Status check_queue_key(const std::string& object, const std::string& key,
                       const v1::FieldValue& value) {
  const QueueArgument* argument = find_queue_argument(argument_of(key));
  if (argument == nullptr || !argument->changeable) {
    std::string why = "is not known";
    if (argument != nullptr) why = "can only be an argument of a declare ('x-" + key + "')";
    if (key.starts_with(kArgumentPrefix)) why += " (keys of policies have no 'x-')";
    return refused(object + ": the key " + quoted_name(key) + " " + why + "; there are " +
                   queue_keys() + " for queues and " + std::string(kAlternateExchange) +
                   " for exchanges");
  }
  const std::string wanted = wanted_value(*argument, value);
  if (wanted.empty()) return {};
  return refused("the key '" + key + "' of " + object + " is " + describe(value) + "; it must be " +
                 wanted);
}

Status check_exchange_key(const std::string& object, const v1::FieldValue& value) {
  const bool text = value.kind_case() == v1::FieldValue::kStringValue;
  if (text && !value.string_value().empty() && value.string_value().size() <= kMaxNameBytes) {
    return {};
  }
  return refused("the key 'alternate-exchange' of " + object + " is " + describe(value) +
                 "; it must be the name of an exchange, and not of the default one");
}

bool is_limit(std::string_view argument) {
  return std::any_of(kLimits.begin(), kLimits.end(),
                     [&](const QueueArgument* limit) { return limit->name == argument; });
}

/// Whether the policy's value goes before the queue's own.
bool overrules(std::string_view argument, const v1::FieldValue& policy, const v1::FieldValue& own) {
  return is_limit(argument) && policy.int_value() < own.int_value();
}

/// Of the values those that are in force, by the argument's name.
std::map<std::string, Policies::Value> those_in_force(const v1::QueueDefinition& queue,
                                                      const Policies::Values& values) {
  std::map<std::string, Policies::Value> counting;
  for (const auto& [key, said] : values) {
    const std::string name = argument_of(key);
    const QueueArgument* argument = find_queue_argument(name);
    // Of exchanges, or of a newer version.
    if (argument == nullptr || !argument->changeable) continue;
    if (!wanted_value(*argument, *said.value).empty()) continue;
    const auto own = queue.arguments().find(name);
    if (own != queue.arguments().end() && !overrules(name, *said.value, own->second)) continue;
    counting.emplace(name, said);
  }
  return counting;
}

}  // namespace

Status check_policy(const v1::PolicyDefinition& policy) {
  SEGUE_RETURN_IF_ERROR(check_name("policy", policy.name()));
  const std::string object = "policy " + quoted_name(policy.name());
  const bool queues = Policies::applies_to(policy, Target::kQueue);
  const bool exchanges = Policies::applies_to(policy, Target::kExchange);
  if (!queues && !exchanges) {
    return refused(object + " is for " + quoted_name(policy.apply_to()) +
                   "; it must be for 'queues', 'exchanges' or 'all'");
  }
  const auto pattern = Pattern::compile(policy.pattern());
  if (!pattern.is_ok()) {
    return refused("the pattern " + quoted_name(policy.pattern()) + " of " + object + ": " +
                   pattern.status().message());
  }
  if (policy.definition().empty()) {
    return refused(object + " sets nothing; there are " + queue_keys() + " for queues and " +
                   std::string(kAlternateExchange) + " for exchanges");
  }
  SEGUE_RETURN_IF_ERROR(check_argument_bytes(object, policy.definition()));
  const std::map<std::string, v1::FieldValue> definition(policy.definition().begin(),
                                                         policy.definition().end());
  for (const auto& [key, value] : definition) {
    const bool of_exchanges = key == kAlternateExchange;
    SEGUE_RETURN_IF_ERROR(of_exchanges ? check_exchange_key(object, value)
                                       : check_queue_key(object, key, value));
    if (of_exchanges ? exchanges : queues) continue;
    return refused(object + " is for " + policy.apply_to() + ", but its key '" + key +
                   "' is one of " + (of_exchanges ? "exchanges" : "queues"));
  }
  return {};
}

namespace {

/// What policies say and what has no effect without, or beside, something else: a declare would be
/// refused with it.
void take_out_idle(const v1::QueueDefinition& queue, v1::QueueDefinition& definition) {
  const auto has = [&](const QueueArgument& argument) {
    return value_of(definition, argument) != nullptr;
  };
  const auto take_out = [&](const QueueArgument& argument) {
    if (value_of(queue, argument) == nullptr) {
      definition.mutable_arguments()->erase(std::string(argument.name));
    }
  };
  if (!has(kDeadLetterExchange)) take_out(kDeadLetterRoutingKey);
  if (is_set(definition, kMessageGroups)) take_out(kRetryDelay);
  if (!has(kRetryDelay)) {
    take_out(kRetryDelayMax);
    take_out(kRetryFactor);
  }
}

}  // namespace

v1::QueueDefinition in_force(const v1::QueueDefinition& queue, const Policies::Values& values) {
  v1::QueueDefinition definition = queue;
  for (const auto& [name, said] : those_in_force(queue, values)) {
    (*definition.mutable_arguments())[name] = *said.value;
  }
  take_out_idle(queue, definition);
  return definition;
}

EffectiveQueue effective_of(const v1::QueueDefinition& queue, const Policies& policies) {
  const Policies::Values values = policies.values_of(Target::kQueue, queue.vhost(), queue.name());
  const auto by_policy = those_in_force(queue, values);
  EffectiveQueue effective;
  effective.definition = in_force(queue, values);
  const std::map<std::string, v1::FieldValue> all(effective.definition.arguments().begin(),
                                                  effective.definition.arguments().end());
  for (const auto& [name, value] : all) {
    v1::EffectiveSetting& setting = effective.settings.emplace_back();
    setting.set_name(name);
    *setting.mutable_value() = value;
    const auto said = by_policy.find(name);
    setting.set_origin(said == by_policy.end() ? "argument"
                                               : "policy " + std::string(said->second.policy));
  }
  return effective;
}

std::string identity_of(const Policies::Values& values) {
  std::string identity;
  for (const auto& [key, said] : values) {
    const std::string value = said.value->SerializeAsString();
    append_le(identity, static_cast<std::uint32_t>(key.size()));
    identity += key;
    append_le(identity, static_cast<std::uint32_t>(value.size()));
    identity += value;
  }
  return identity;
}

}  // namespace segue::node
