#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace segue {

// Looking for single fields in serialized protobuf messages without parsing the rest. Bytes that
// are no message end the search.

namespace wire {

enum Type : std::uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

inline bool read_varint(std::string_view& bytes, std::uint64_t* value) {
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

inline bool skip(std::string_view& bytes, std::size_t count) {
  if (bytes.size() < count) return false;
  bytes.remove_prefix(count);
  return true;
}

}  // namespace wire

/// Calls visit(number, value) for each length-delimited field (texts, bytes, messages), and
/// visit_number(number, value) for each whole number, in the order in which they stand there; false
/// if the bytes are no message.
template <typename Visit, typename VisitNumber>
bool for_each_field(std::string_view bytes, const Visit& visit, const VisitNumber& visit_number) {
  while (!bytes.empty()) {
    std::uint64_t tag = 0;
    std::uint64_t value = 0;
    if (!wire::read_varint(bytes, &tag)) return false;
    switch (tag & 7) {
      case wire::kVarint:
        if (!wire::read_varint(bytes, &value)) return false;
        visit_number(tag >> 3, value);
        break;
      case wire::kFixed64:
        if (!wire::skip(bytes, 8)) return false;
        break;
      case wire::kFixed32:
        if (!wire::skip(bytes, 4)) return false;
        break;
      case wire::kLength:
        if (!wire::read_varint(bytes, &value) || value > bytes.size()) return false;
        visit(tag >> 3, bytes.substr(0, static_cast<std::size_t>(value)));
        bytes.remove_prefix(static_cast<std::size_t>(value));
        break;
      default:
        return false;
    }
  }
  return true;
}

/// The same of length-delimited fields alone.
template <typename Visit>
bool for_each_field(std::string_view bytes, const Visit& visit) {
  return for_each_field(bytes, visit, [](std::uint64_t /*number*/, std::uint64_t /*value*/) {});
}

}  // namespace segue
