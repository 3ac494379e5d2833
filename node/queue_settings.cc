#include "node/queue_settings.h"

#include <algorithm>
#include <chrono>

#include "node/queue_arguments.h"

namespace segue::node {

namespace {

std::shared_ptr<const DeadLettering> dead_lettering_of(const v1::QueueDefinition& definition) {
  if (value_of(definition, kDeadLetterExchange) == nullptr) return nullptr;
  auto letters = std::make_shared<DeadLettering>();
  letters->vhost = definition.vhost();
  letters->exchange = text_of(definition, kDeadLetterExchange);
  if (value_of(definition, kDeadLetterRoutingKey) != nullptr) {
    letters->routing_key = text_of(definition, kDeadLetterRoutingKey);
  }
  return letters;
}

}  // namespace

std::int64_t RetryBackOff::rest_ms(std::uint32_t earlier) const {
  std::int64_t rest = std::min(least_ms, most_ms);
  if (factor == 1) return rest;
  for (; earlier > 0 && rest > 0 && rest < most_ms; --earlier) {
    rest = std::min(rest * factor, most_ms);
  }
  return rest;
}

QueueSettings settings_of(const v1::QueueDefinition& definition) {
  QueueSettings settings;
  settings.single_active_consumer = is_set(definition, kSingleActiveConsumer);
  settings.message_groups = is_set(definition, kMessageGroups);
  settings.max_priority =
      static_cast<std::uint8_t>(number_of(definition, kMaxPriority).value_or(0));
  settings.dead_letters = dead_lettering_of(definition);
  if (const auto limit = number_of(definition, kDeliveryLimit)) {
    settings.delivery_limit = static_cast<std::uint32_t>(*limit);
  }
  settings.ttl_ms = number_of(definition, kMessageTtl).value_or(kNoExpiration);
  if (const auto messages = number_of(definition, kMaxLength)) {
    settings.limits.messages = static_cast<std::uint64_t>(*messages);
  }
  if (const auto bytes = number_of(definition, kMaxLengthBytes)) {
    settings.limits.body_bytes = static_cast<std::uint64_t>(*bytes);
  }
  const std::string overflow = text_of(definition, kOverflow);
  settings.limits.buries_rejected = overflow == kRejectPublishDlx;
  settings.limits.rejects = overflow == kRejectPublish || settings.limits.buries_rejected;
  if (const auto window = number_of(definition, kDeduplicationWindow)) {
    settings.dedupe.window_ms = *window;
    settings.dedupe.max_entries = static_cast<std::uint64_t>(
        number_of(definition, kDeduplicationMax).value_or(kDefaultDeduplicationMax));
  }
  settings.retry.least_ms = number_of(definition, kRetryDelay).value_or(0);
  settings.retry.most_ms = number_of(definition, kRetryDelayMax).value_or(kMaxExpirationMs);
  settings.retry.factor = number_of(definition, kRetryFactor).value_or(1);
  settings.expires = std::chrono::milliseconds(number_of(definition, kExpires).value_or(0));
  settings.consumer_timeout =
      std::chrono::milliseconds(number_of(definition, kConsumerTimeout).value_or(0));
  if (const auto bytes = number_of(definition, kGcMinBytes)) {
    settings.gc.min_bytes = static_cast<std::uint64_t>(*bytes);
  }
  if (const auto messages = number_of(definition, kGcMinMessages)) {
    settings.gc.min_messages = static_cast<std::uint32_t>(*messages);
  }
  if (const auto percent = number_of(definition, kGcValidPercent)) {
    settings.gc.valid_percent = static_cast<std::uint32_t>(*percent);
  }
  settings.gc.shared_by = std::uint32_t{settings.max_priority} + 1;
  return settings;
}

}  // namespace segue::node
