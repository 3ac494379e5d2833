#include "common/routing/hash_exchange.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "common/bytes.h"
#include "common/checksum.h"

namespace segue {

namespace {

constexpr int kProbes = 21;
constexpr std::uint32_t kPointsEach = 8;  // for one of weight
constexpr const char* kHeader = "hash-header";
constexpr const char* kProperty = "hash-property";
constexpr std::array<std::string_view, 3> kProperties = {"message_id", "correlation_id",
                                                         "timestamp"};

std::optional<std::uint32_t> weight_of(std::string_view routing_key) {
  std::uint32_t weight = 0;
  const char* const end = routing_key.data() + routing_key.size();
  const auto [stopped, error] = std::from_chars(routing_key.data(), end, weight);
  if (routing_key.starts_with('0')) return std::nullopt;  // one weight, one key
  if (error != std::errc() || stopped != end || weight < 1 || weight > HashExchange::kMostWeight) {
    return std::nullopt;
  }
  return weight;
}

/// The argument's text; null if it is not given, or no text.
const std::string* text_argument(const FieldValues& arguments, const char* name) {
  const auto given = arguments.find(name);
  if (given == arguments.end()) return nullptr;
  if (given->second.kind_case() != v1::FieldValue::kStringValue) return nullptr;
  return &given->second.string_value();
}

}  // namespace

Status HashExchange::check_arguments(const FieldValues& arguments) {
  const bool header = arguments.contains(kHeader);
  const bool property = arguments.contains(kProperty);
  if (header && property) {
    return Status(Code::kPreconditionFailed,
                  "give the argument 'hash-header' or 'hash-property', not both");
  }
  const std::string* const name = text_argument(arguments, kHeader);
  if (header && (name == nullptr || name->empty())) {
    return Status(Code::kPreconditionFailed, "argument 'hash-header' must be a header's name");
  }
  const std::string* const which = text_argument(arguments, kProperty);
  if (property && (which == nullptr || std::find(kProperties.begin(), kProperties.end(), *which) ==
                                           kProperties.end())) {
    return Status(Code::kPreconditionFailed,
                  "argument 'hash-property' must be 'message_id', 'correlation_id' or 'timestamp'");
  }
  return {};
}

Status HashExchange::check_binding(std::string_view routing_key) {
  if (weight_of(routing_key)) return {};
  return Status(Code::kPreconditionFailed,
                "the binding key of an exchange of type 'x-consistent-hash' is a weight, a whole "
                "number between 1 and " +
                    std::to_string(kMostWeight));
}

HashExchange::HashExchange(const FieldValues& arguments) {
  if (!check_arguments(arguments)) return;
  if (const std::string* const header = text_argument(arguments, kHeader)) {
    source_ = Source::kHeader;
    header_ = *header;
  } else if (const std::string* const property = text_argument(arguments, kProperty)) {
    source_ = *property == kProperties[0]   ? Source::kMessageId
              : *property == kProperties[1] ? Source::kCorrelationId
                                            : Source::kTimestamp;
  }
}

Status HashExchange::bind(const ExchangeBinding& binding) {
  const auto weight = weight_of(binding.routing_key);
  if (!weight) return check_binding(binding.routing_key);
  const bool added =
      bindings_
          .try_emplace(binding.number,
                       Binding{binding.target, std::string(binding.target_name), *weight})
          .second;
  stale_ = stale_ || added;
  return {};
}

void HashExchange::unbind(BindingNumber number) {
  if (bindings_.erase(number) > 0) stale_ = true;
}

/// A target's points depend on its name alone: they are the same on every router.
void HashExchange::compile() {
  ring_.clear();
  std::string text;
  for (const auto& [number, binding] : bindings_) {
    for (std::uint32_t i = 0; i < binding.weight * kPointsEach; ++i) {
      text.assign(1, binding.target.is_queue() ? 'q' : 'x');
      append_le(text, i);
      text += binding.target_name;
      ring_.push_back({xxh3_64(text), binding.target});
    }
  }
  std::sort(ring_.begin(), ring_.end());
  stale_ = false;
}

std::string_view HashExchange::text_of(const RoutedMessage& message) {
  switch (source_) {
    case Source::kRoutingKey:
      return message.routing_key;
    case Source::kMessageId:
      return message.properties.message_id();
    case Source::kCorrelationId:
      return message.properties.correlation_id();
    case Source::kTimestamp:
      scratch_ = std::to_string(message.properties.timestamp_ms());
      return scratch_;
    case Source::kHeader:
      break;
  }
  const auto header = message.properties.headers().find(header_);
  scratch_.clear();
  if (header == message.properties.headers().end()) return scratch_;
  if (header->second.kind_case() == v1::FieldValue::kStringValue) {
    return header->second.string_value();
  }
  google::protobuf::io::StringOutputStream stream(&scratch_);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  header->second.SerializeToCodedStream(&coded);
  coded.Trim();
  return scratch_;
}

RouteTarget HashExchange::target_of(std::string_view text) const {
  std::uint64_t nearest = std::numeric_limits<std::uint64_t>::max();
  const Point* chosen = &ring_.front();
  for (int probe = 0; probe < kProbes; ++probe) {
    const std::uint64_t place = xxh3_64(text, static_cast<std::uint64_t>(probe) + 1);
    auto behind = std::lower_bound(
        ring_.begin(), ring_.end(), place,
        [](const Point& point, std::uint64_t wanted) { return point.place < wanted; });
    if (behind == ring_.end()) behind = ring_.begin();
    const std::uint64_t distance = behind->place - place;  // around the ring
    if (distance >= nearest) continue;
    nearest = distance;
    chosen = &*behind;
  }
  return chosen->target;
}

void HashExchange::match(const RoutedMessage& message, std::vector<RouteTarget>& targets) {
  targets.clear();
  if (stale_) compile();
  if (!ring_.empty()) targets.push_back(target_of(text_of(message)));
}

}  // namespace segue
