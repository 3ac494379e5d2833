#include "common/expiry.h"

#include <charconv>

#include "common/wire_scan.h"

namespace segue {

namespace {

// Of segue.v1.MessageHeader and segue.v1.Properties.
constexpr std::uint32_t kPropertiesField = 4;
constexpr std::uint32_t kExpirationField = 8;
constexpr std::uint32_t kDelayField = 14;
constexpr std::uint32_t kDeliverAtField = 15;

}  // namespace

std::optional<std::int64_t> parse_expiration(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool digits = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (!digits || error != std::errc() || stopped != end || value > kMaxExpirationMs) return {};
  return value;
}

std::int64_t find_expiration(std::string_view header) {
  return find_times(header).expiration;
}

MessageTimes find_times(std::string_view header) {
  // As protobuf reads them: of a field that stands there twice the last one counts.
  std::string_view expiration;
  std::int64_t delay = 0;
  std::int64_t deliver_at = 0;
  const auto in_properties = [&](std::uint64_t number, std::string_view value) {
    if (number == kExpirationField) expiration = value;
  };
  const auto number_in_properties = [&](std::uint64_t number, std::uint64_t value) {
    if (number == kDelayField) delay = static_cast<std::int64_t>(value);
    if (number == kDeliverAtField) deliver_at = static_cast<std::int64_t>(value);
  };
  const auto in_header = [&](std::uint64_t number, std::string_view value) {
    if (number == kPropertiesField) for_each_field(value, in_properties, number_in_properties);
  };
  MessageTimes times;
  if (!for_each_field(header, in_header)) return times;
  times.expiration = parse_expiration(expiration).value_or(kNoExpiration);
  if (delay > 0 && delay <= kMaxExpirationMs) times.delay_ms = delay;
  if (deliver_at > 0 && deliver_at <= kLatestDeliverAtMs) times.deliver_at_ms = deliver_at;
  return times;
}

}  // namespace segue
