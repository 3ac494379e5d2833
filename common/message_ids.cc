#include "common/message_ids.h"

#include <cstdint>

#include "common/wire_scan.h"

namespace segue {

namespace {

// Of segue.v1.MessageHeader, segue.v1.Properties, an entry of its table of headers, and
// segue.v1.FieldValue.
constexpr std::uint64_t kPropertiesField = 4;
constexpr std::uint64_t kHeadersField = 3;
constexpr std::uint64_t kGroupIdField = 16;
constexpr std::uint64_t kEntryName = 1;
constexpr std::uint64_t kEntryValue = 2;
constexpr std::uint64_t kTextValue = 4;
constexpr std::uint64_t kBytesValue = 5;

std::string_view id_in(std::string_view value) {
  std::string_view id;
  for_each_field(value, [&](std::uint64_t number, std::string_view bytes) {
    if (number == kTextValue || number == kBytesValue) id = bytes;
  });
  return id;
}

}  // namespace

// As protobuf reads them: of a field that stands there twice the last one counts.

std::string_view find_group_id(std::string_view header) {
  std::string_view id;
  const bool sound = for_each_field(header, [&](std::uint64_t number, std::string_view bytes) {
    if (number != kPropertiesField) return;
    for_each_field(bytes, [&](std::uint64_t field, std::string_view value) {
      if (field == kGroupIdField) id = value;
    });
  });
  return sound ? id : std::string_view();
}

std::string_view find_deduplication_id(std::string_view header) {
  std::string_view id;
  const auto look_at_entry = [&](std::string_view entry) {
    std::string_view name;
    std::string_view value;
    for_each_field(entry, [&](std::uint64_t number, std::string_view bytes) {
      if (number == kEntryName) name = bytes;
      if (number == kEntryValue) value = bytes;
    });
    if (name == kDeduplicationHeader) id = id_in(value);
  };
  const bool sound = for_each_field(header, [&](std::uint64_t number, std::string_view bytes) {
    if (number != kPropertiesField) return;
    for_each_field(bytes, [&](std::uint64_t field, std::string_view value) {
      if (field == kHeadersField) look_at_entry(value);
    });
  });
  return sound ? id : std::string_view();
}

}  // namespace segue
