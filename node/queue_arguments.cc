#include "node/queue_arguments.h"

namespace segue::node {

namespace {

constexpr const QueueArgument* kArguments[] = {
    &kConsumerTimeout,
    &kDeadLetterExchange,
    &kDeduplicationMax,
    &kDeduplicationWindow,
    &kDeadLetterRoutingKey,
    &kDeliveryLimit,
    &kDurabilityArgument,
    &kExpires,
    &kGcMinBytes,
    &kGcMinMessages,
    &kGcValidPercent,
    &kMaxLength,
    &kMaxLengthBytes,
    &kMaxPriority,
    &kMessageGroups,
    &kMessageTtl,
    &kOverflow,
    &kRetryDelay,
    &kRetryDelayMax,
    &kRetryFactor,
    &kSingleActiveConsumer,
};

std::string names_of(bool only_changeable) {
  std::string names;
  for (const QueueArgument* argument : kArguments) {
    if (only_changeable && !argument->changeable) continue;
    if (!names.empty()) names += ", ";
    names += argument->name;
  }
  return names;
}

}  // namespace

const QueueArgument* find_queue_argument(std::string_view name) {
  for (const QueueArgument* argument : kArguments) {
    if (argument->name == name) return argument;
  }
  return nullptr;
}

std::string queue_argument_names() {
  return names_of(false);
}

std::string changeable_argument_names() {
  return names_of(true);
}

const v1::FieldValue* value_of(const v1::QueueDefinition& definition,
                               const QueueArgument& argument) {
  const auto found = definition.arguments().find(std::string(argument.name));
  return found == definition.arguments().end() ? nullptr : &found->second;
}

std::optional<std::int64_t> number_of(const v1::QueueDefinition& definition,
                                      const QueueArgument& argument) {
  const v1::FieldValue* value = value_of(definition, argument);
  if (value == nullptr || value->kind_case() != v1::FieldValue::kIntValue) return std::nullopt;
  const std::int64_t number = value->int_value();
  if (number < argument.least || number > argument.most) return std::nullopt;
  return number;
}

bool is_set(const v1::QueueDefinition& definition, const QueueArgument& argument) {
  const v1::FieldValue* value = value_of(definition, argument);
  return value != nullptr && value->bool_value();
}

std::string text_of(const v1::QueueDefinition& definition, const QueueArgument& argument) {
  const v1::FieldValue* value = value_of(definition, argument);
  return value == nullptr ? std::string() : value->string_value();
}

}  // namespace segue::node
