#include "common/expiry.h"

#include <charconv>
#include <cstddef>

namespace segue {

namespace {

// Of segue.v1.MessageHeader and segue.v1.Properties.
constexpr std::uint32_t kPropertiesField = 4;
constexpr std::uint32_t kExpirationField = 8;

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

/// Calls `body` with the value of each length-delimited field of this number; false if the bytes
/// are no message.
template <typename Body>
bool for_field(std::string_view bytes, std::uint32_t number, Body body) {
  while (!bytes.empty()) {
    std::uint64_t tag = 0;
    std::uint64_t value = 0;
    if (!read_varint(bytes, &tag)) return false;
    switch (tag & 7) {
      case kVarint:
        if (!read_varint(bytes, &value)) return false;
        break;
      case kFixed64:
        if (!skip(bytes, 8)) return false;
        break;
      case kFixed32:
        if (!skip(bytes, 4)) return false;
        break;
      case kLength:
        if (!read_varint(bytes, &value) || value > bytes.size()) return false;
        if (tag >> 3 == number) body(bytes.substr(0, static_cast<std::size_t>(value)));
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
  // As protobuf reads them: of a field that stands there twice the last one counts.
  std::string_view text;
  const bool sound = for_field(header, kPropertiesField, [&](std::string_view properties) {
    for_field(properties, kExpirationField, [&](std::string_view value) { text = value; });
  });
  return sound ? parse_expiration(text).value_or(kNoExpiration) : kNoExpiration;
}

}  // namespace segue
