#include "storage/segment_format.h"

#include <charconv>
#include <cstring>

#include "common/bytes.h"
#include "common/checksum.h"

namespace segue::storage {

namespace {

constexpr std::string_view kSegmentMagic = "SGSEGMNT";
constexpr std::string_view kFooterMagic = "SGSEALED";
constexpr std::string_view kIndexMagic = "SGSINDEX";
constexpr std::uint32_t kRecordMagic = 0x524D4753;  // "SGMR"
constexpr std::size_t kLongestName = 100;
constexpr std::size_t kNameDigits = 20;

void put_magic(char* to, std::string_view magic, bool timed = false) {
  std::memcpy(to, magic.data(), magic.size());
  store_le(to + 8, timed ? kTimedSegmentVersion : kSegmentVersion);
}

bool is_timed(std::string_view bytes) {
  return load_le<std::uint32_t>(bytes.data() + 8) == kTimedSegmentVersion;
}

void put_checksum(char* structure, std::size_t at) {
  store_le(structure + at, xxh3_64({structure, at}));
}

/// Checks magic, version and the checksum at the structure's end.
Status check(std::string_view bytes, std::size_t size, std::string_view magic, const char* what,
             std::uint32_t newest) {
  if (bytes.size() < size) return Status(Code::kCorruption, std::string(what) + " is cut short");
  if (bytes.substr(0, magic.size()) != magic) {
    return Status(Code::kCorruption, std::string(what) + " has a wrong magic number");
  }
  const std::size_t at = size - sizeof(std::uint64_t);
  if (load_le<std::uint64_t>(bytes.data() + at) != xxh3_64(bytes.substr(0, at))) {
    return Status(Code::kCorruption, std::string(what) + " fails its checksum");
  }
  const auto version = load_le<std::uint32_t>(bytes.data() + 8);
  if (version >= kSegmentVersion && version <= newest) return {};
  return Status(Code::kInvalidConfig, std::string(what) + " has format version " +
                                          std::to_string(version) +
                                          ", this program reads version " + std::to_string(newest));
}

template <typename Number>
std::optional<Number> parse_number(std::string_view digits) {
  Number number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
  return number;
}

}  // namespace

void SegmentHeader::encode(char* to) const {
  std::memset(to, 0, kSize);
  put_magic(to, kSegmentMagic, timed);
  store_le(to + 16, queue.value);
  store_le(to + 24, first.value);
  store_le(to + 32, replaced_first.value);
  store_le(to + 40, replaced_last.value);
  put_checksum(to, 56);
}

Result<SegmentHeader> SegmentHeader::decode(std::string_view bytes) {
  SEGUE_RETURN_IF_ERROR(
      check(bytes, kSize, kSegmentMagic, "the segment's header", kTimedSegmentVersion));
  SegmentHeader header;
  header.timed = is_timed(bytes);
  header.queue = QueueId{load_le<std::uint64_t>(bytes.data() + 16)};
  header.first = Sequence{load_le<std::uint64_t>(bytes.data() + 24)};
  header.replaced_first = Sequence{load_le<std::uint64_t>(bytes.data() + 32)};
  header.replaced_last = Sequence{load_le<std::uint64_t>(bytes.data() + 40)};
  return header;
}

namespace {

std::uint64_t record_checksum(std::string_view head, bool timed, QueueId queue) {
  const std::uint64_t before = xxh3_64(head.substr(0, 32), queue.value);
  return timed ? xxh3_64(head.substr(MessageRecord::kSize,
                                     MessageRecord::kTimedSize - MessageRecord::kSize),
                         before)
               : before;
}

}  // namespace

void MessageRecord::encode(char* to, QueueId queue) const {
  store_le(to, kRecordMagic);
  store_le(to + 4, header_bytes);
  store_le(to + 8, body_bytes);
  store_le(to + 12, timed() ? kTimed : std::uint32_t{0});
  store_le(to + 16, sequence.value);
  store_le(to + 24, payload_checksum);
  if (timed()) {
    store_le(to + 40, static_cast<std::uint64_t>(arrived_ms));
    store_le(to + 48, static_cast<std::uint64_t>(expiration_ms));
  }
  store_le(to + 32, record_checksum({to, head_bytes()}, timed(), queue));
}

std::optional<MessageRecord> MessageRecord::decode(std::string_view bytes, QueueId queue) {
  if (bytes.size() < kSize || load_le<std::uint32_t>(bytes.data()) != kRecordMagic) return {};
  const bool timed = load_le<std::uint32_t>(bytes.data() + 12) == kTimed;
  if (bytes.size() < size(timed)) return {};
  if (load_le<std::uint64_t>(bytes.data() + 32) != record_checksum(bytes, timed, queue)) return {};
  MessageRecord record;
  if (timed) {
    record.arrived_ms = static_cast<std::int64_t>(load_le<std::uint64_t>(bytes.data() + 40));
    record.expiration_ms = static_cast<std::int64_t>(load_le<std::uint64_t>(bytes.data() + 48));
    if (record.arrived_ms == 0) return {};  // it would not be a record with an arrival
  }
  record.header_bytes = load_le<std::uint32_t>(bytes.data() + 4);
  record.body_bytes = load_le<std::uint32_t>(bytes.data() + 8);
  record.sequence = Sequence{load_le<std::uint64_t>(bytes.data() + 16)};
  record.payload_checksum = load_le<std::uint64_t>(bytes.data() + 24);
  return record;
}

std::uint64_t MessageRecord::checksum_payload(std::string_view header_and_body, QueueId queue) {
  return xxh3_64(header_and_body, queue.value);
}

void SegmentFooter::encode(char* to) const {
  put_magic(to, kFooterMagic);
  store_le(to + 12, messages);
  store_le(to + 16, records_end);
  store_le(to + 24, body_bytes);
  store_le(to + 32, first.value);
  store_le(to + 40, last.value);
  store_le(to + 48, queue.value);
  put_checksum(to, 56);
}

Result<SegmentFooter> SegmentFooter::decode(std::string_view bytes) {
  SEGUE_RETURN_IF_ERROR(check(bytes, kSize, kFooterMagic, "the segment's footer", kSegmentVersion));
  SegmentFooter footer;
  footer.messages = load_le<std::uint32_t>(bytes.data() + 12);
  footer.records_end = load_le<std::uint64_t>(bytes.data() + 16);
  footer.body_bytes = load_le<std::uint64_t>(bytes.data() + 24);
  footer.first = Sequence{load_le<std::uint64_t>(bytes.data() + 32)};
  footer.last = Sequence{load_le<std::uint64_t>(bytes.data() + 40)};
  footer.queue = QueueId{load_le<std::uint64_t>(bytes.data() + 48)};
  return footer;
}

void IndexHeader::encode(char* to) const {
  put_magic(to, kIndexMagic, timed);
  store_le(to + 12, static_cast<std::uint32_t>(IndexEntry::size(timed)));
  store_le(to + 16, queue.value);
  store_le(to + 24, first.value);
  put_checksum(to, 32);
}

Result<IndexHeader> IndexHeader::decode(std::string_view bytes) {
  SEGUE_RETURN_IF_ERROR(
      check(bytes, kSize, kIndexMagic, "the index's header", kTimedSegmentVersion));
  IndexHeader header;
  header.timed = is_timed(bytes);
  if (load_le<std::uint32_t>(bytes.data() + 12) != IndexEntry::size(header.timed)) {
    return Status(Code::kCorruption, "the index's entries have a wrong size");
  }
  header.queue = QueueId{load_le<std::uint64_t>(bytes.data() + 16)};
  header.first = Sequence{load_le<std::uint64_t>(bytes.data() + 24)};
  return header;
}

void IndexEntry::encode(char* to, Sequence first, bool in_timed_index) const {
  store_le(to, sequence_offset);
  store_le(to + 4, data_offset);
  store_le(to + 8, body_bytes);
  store_le(to + 12, flags);
  if (in_timed_index) {
    store_le(to + 16, static_cast<std::uint64_t>(arrived_ms));
    store_le(to + 24, static_cast<std::uint64_t>(expiration_ms));
  }
  const std::size_t end = size(in_timed_index) - sizeof(std::uint32_t);
  store_le(to + end, static_cast<std::uint32_t>(xxh3_64({to, end}, first.value)));
}

std::optional<IndexEntry> IndexEntry::decode(const char* bytes, Sequence first,
                                             bool in_timed_index) {
  const std::size_t end = size(in_timed_index) - sizeof(std::uint32_t);
  const auto checksum = static_cast<std::uint32_t>(xxh3_64({bytes, end}, first.value));
  if (load_le<std::uint32_t>(bytes + end) != checksum) return {};
  IndexEntry entry{load_le<std::uint32_t>(bytes), load_le<std::uint32_t>(bytes + 4),
                   load_le<std::uint32_t>(bytes + 8), load_le<std::uint32_t>(bytes + 12)};
  if (in_timed_index) {
    entry.arrived_ms = static_cast<std::int64_t>(load_le<std::uint64_t>(bytes + 16));
    // Without an arrival it says nothing.
    if (entry.timed()) {
      entry.expiration_ms = static_cast<std::int64_t>(load_le<std::uint64_t>(bytes + 24));
    }
  }
  return entry;
}

std::string segment_file_name(SegmentName segment, std::string_view extension) {
  std::string digits = std::to_string(segment.first.value);
  std::string name = std::string(kNameDigits - digits.size(), '0') + digits;
  if (segment.generation > 0) name += "-" + std::to_string(segment.generation);
  return name + std::string(extension);
}

std::optional<SegmentName> segment_of_file_name(std::string_view name, std::string_view extension) {
  if (name.size() < kNameDigits + extension.size() || !name.ends_with(extension)) return {};
  name.remove_suffix(extension.size());
  const auto first = parse_number<std::uint64_t>(name.substr(0, kNameDigits));
  if (!first) return {};
  SegmentName segment(Sequence{*first});
  if (name.size() > kNameDigits) {
    const auto generation = parse_number<std::uint32_t>(name.substr(kNameDigits + 1));
    if (name[kNameDigits] != '-' || !generation) return {};
    segment.generation = *generation;
  }
  // One name for each segment: no zeros in front, no "-0".
  if (segment_file_name(segment, {}) != name) return {};
  return segment;
}

std::string queue_directory_name(std::string_view queue_name, QueueId id) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string name;
  for (const char c : queue_name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (c == '.' && !name.empty());
    if (name.size() + (plain ? 1 : 3) > kLongestName) break;
    if (plain) {
      name += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      name += '%';
      name += kHex[byte >> 4];
      name += kHex[byte & 15];
    }
  }
  name += "-" + std::to_string(queue_of_lane(id).value);
  const std::uint64_t priority = priority_of_lane(id);
  if (is_delay_lane(id)) return name + ".delayed";
  return priority == 0 ? name : name + "." + std::to_string(priority);
}

std::optional<QueueId> queue_of_directory_name(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view id = name.substr(dash + 1);
  const std::size_t dot = id.find('.');
  const auto number = parse_number<std::uint64_t>(id.substr(0, dot));
  if (!number || *number >= kQueueIdLimit) return {};
  if (dot == std::string_view::npos) return QueueId{*number};
  if (id.substr(dot + 1) == "delayed") return delay_lane_id(QueueId{*number});
  const auto priority = parse_number<std::uint8_t>(id.substr(dot + 1));
  if (!priority || *priority == 0) return {};
  return lane_id(QueueId{*number}, *priority);
}

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string queue_name_of_directory(std::string_view directory) {
  const std::string_view encoded = directory.substr(0, directory.rfind('-'));
  std::string name;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const bool escaped = encoded[i] == '%' && i + 2 < encoded.size() &&
                         hex_digit(encoded[i + 1]) >= 0 && hex_digit(encoded[i + 2]) >= 0;
    if (escaped) {
      name += static_cast<char>(hex_digit(encoded[i + 1]) * 16 + hex_digit(encoded[i + 2]));
      i += 2;
    } else {
      name += encoded[i];
    }
  }
  // Made before the node knew the queue's name.
  return name.empty() ? "id " + std::string(directory.substr(directory.rfind('-') + 1)) : name;
}

}  // namespace segue::storage
