#include "common/expiry.h"

#include <charconv>
#include <cstddef>

namespace segue {

namespace {

// Of segue.v1.MessageHeader and segue.v1.Properties.
constexpr std::uint32_t kPropertiesField = 4;
constexpr std::uint32_t kExpirationField = 8;
constexpr std::uint32_t kDelayField = 14;
constexpr std::uint32_t kDeliverAtField = 15;

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

bool read_varint(std::string_view& bytes, std::uint64_t* value) {
  std::uint64_t read = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    read |= static_cast<std::uint64_t>(byte & 127u) << (7 * i);
    if ((byte & 128u) == 0) {
      bytes.remove_prefix(i + 1);
      *value = read;
      return true;
    }
  }
  return false;
}

bool skip(std::string_view& bytes, std::size_t count) {
  if (bytes.size() < count) return false;
  bytes.remove_prefix(count);
  return true;
}

/// Calls `text(number, value)` for each length-delimited field and `varint(number, value)` for each
/// of that kind; false if the bytes are no message.
template <typename Text, typename Varint>
bool for_fields(std::string_view bytes, Text text, Varint varint) {
  while (!bytes.empty()) {
    std::uint64_t tag = 0;
    std::uint64_t value = 0;
    if (!read_varint(bytes, &tag)) return false;
    switch (tag & 7) {
      case kVarint:
        if (!read_varint(bytes, &value)) return false;
        varint(tag >> 3, value);
        break;
      case kFixed64:
        if (!skip(bytes, 8)) return false;
        break;
      case kFixed32:
        if (!skip(bytes, 4)) return false;
        break;
      case kLength:
        if (!read_varint(bytes, &value) || value > bytes.size()) return false;
        text(tag >> 3, bytes.substr(0, static_cast<std::size_t>(value)));
        bytes.remove_prefix(static_cast<std::size_t>(value));
        break;
      default:
        return false;
    }
  }
  return true;
}

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
  const auto nothing = [](std::uint64_t /*number*/, std::uint64_t /*value*/) {};
  const auto in_properties = [&](std::uint64_t number, std::string_view value) {
    if (number == kExpirationField) expiration = value;
  };
  const auto number_in_properties = [&](std::uint64_t number, std::uint64_t value) {
    if (number == kDelayField) delay = static_cast<std::int64_t>(value);
    if (number == kDeliverAtField) deliver_at = static_cast<std::int64_t>(value);
  };
  const auto in_header = [&](std::uint64_t number, std::string_view value) {
    if (number == kPropertiesField) for_fields(value, in_properties, number_in_properties);
  };
  MessageTimes times;
  if (!for_fields(header, in_header, nothing)) return times;
  times.expiration = parse_expiration(expiration).value_or(kNoExpiration);
  if (delay > 0 && delay <= kMaxExpirationMs) times.delay_ms = delay;
  if (deliver_at > 0 && deliver_at <= kLatestDeliverAtMs) times.deliver_at_ms = deliver_at;
  return times;
}

}  // namespace segue
