#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/expiry.h"
#include "common/ids.h"
#include "common/status.h"

/// The bytes of a queue's segment: a .data file with message records, and an .index file with one
/// entry per message. Drawn in docs/storage-format.md. All numbers are little-endian; every
/// checksum is XXH3-64 (or its low half) and covers everything before it in its structure.
namespace segue::storage {

inline constexpr std::uint32_t kSegmentVersion = 1;
/// Of the two files of a segment that has records with arrivals.
inline constexpr std::uint32_t kTimedSegmentVersion = 2;

/// Names a segment of a queue, and its files. What collects garbage gives its copies a generation
/// above those of the segments that they replace; what stores made are of generation 0.
struct SegmentName {
  SegmentName() = default;
  // A plain sequence names a segment that is not a copy.
  SegmentName(Sequence its_first,
              std::uint32_t its_generation = 0)  // NOLINT(google-explicit-constructor)
      : first(its_first), generation(its_generation) {}

  Sequence first;
  std::uint32_t generation = 0;

  auto operator<=>(const SegmentName&) const = default;
};

/// First in a .data file.
///
///     0 magic "SGSEGMNT"  8 version  12 zero  16 queue id  24 first sequence
///     32 replaced first sequence  40 replaced last sequence  48 zero  56 checksum
struct SegmentHeader {
  static constexpr std::size_t kSize = 64;

  QueueId queue;
  Sequence first;  // names the file
  /// The range of sequences whose older segments this one, a copy of their valid messages, stands
  /// for. Both 0: it is not a copy.
  Sequence replaced_first;
  Sequence replaced_last;
  bool timed = false;  // there may be records with arrivals

  bool operator==(const SegmentHeader&) const = default;
  void encode(char* to) const;
  /// CORRUPTION, or INVALID_CONFIG for a newer version; without the file's name.
  static Result<SegmentHeader> decode(std::string_view bytes);
};

/// In a .data file in front of a message: its header and its body follow.
///
///     0 magic "SGMR"  4 header length  8 body length  12 attributes  16 sequence
///     24 payload checksum  32 record checksum
///     with attribute bit 0:  40 arrival (ms since 1970)  48 the message's expiration (ms; -1:
///     none)
///
/// The record checksum covers what stands before it and what stands behind it. Both checksums are
/// seeded with the queue's id: no bytes of a message, and no record of another queue, can pass for
/// a record.
struct MessageRecord {
  static constexpr std::size_t kSize = 40;
  /// Of a record with an arrival.
  static constexpr std::size_t kTimedSize = 56;
  static constexpr std::uint32_t kTimed = 1;

  std::uint32_t header_bytes = 0;
  std::uint32_t body_bytes = 0;
  Sequence sequence;
  std::uint64_t payload_checksum = 0;
  std::int64_t arrived_ms = 0;  // 0: not kept
  std::int64_t expiration_ms = kNoExpiration;

  static std::size_t size(bool timed) { return timed ? kTimedSize : kSize; }
  bool timed() const { return arrived_ms != 0; }
  /// Of what stands before the message's header.
  std::size_t head_bytes() const { return size(timed()); }
  std::uint64_t record_bytes() const {
    return head_bytes() + std::uint64_t{header_bytes} + body_bytes;
  }
  /// Of a record's bytes: message header and body.
  std::string_view payload(std::string_view record) const {
    return record.substr(head_bytes(), std::size_t{header_bytes} + body_bytes);
  }
  void encode(char* to, QueueId queue) const;
  /// Nothing if the bytes are not a record of this queue. kTimedSize bytes are enough.
  static std::optional<MessageRecord> decode(std::string_view bytes, QueueId queue);
  static std::uint64_t checksum_payload(std::string_view header_and_body, QueueId queue);
};

/// Last in the .data file of a sealed segment: its records are complete.
///
///     0 magic "SGSEALED"  8 version  12 messages  16 end of records  24 body bytes
///     32 first sequence  40 last sequence  48 queue id  56 checksum
struct SegmentFooter {
  static constexpr std::size_t kSize = 64;

  QueueId queue;
  std::uint32_t messages = 0;
  std::uint64_t records_end = 0;  // where the footer begins
  std::uint64_t body_bytes = 0;
  Sequence first;
  Sequence last;

  bool operator==(const SegmentFooter&) const = default;
  void encode(char* to) const;
  static Result<SegmentFooter> decode(std::string_view bytes);
};

/// First in an .index file.
///
///     0 magic "SGSINDEX"  8 version  12 entry size  16 queue id  24 first sequence  32 checksum
struct IndexHeader {
  static constexpr std::size_t kSize = 40;

  QueueId queue;
  Sequence first;
  bool timed = false;  // entries have arrivals

  bool operator==(const IndexHeader&) const = default;
  void encode(char* to) const;
  static Result<IndexHeader> decode(std::string_view bytes);
};

/// In an .index file: one message.
///
///     0 sequence - first sequence of the segment  4 place of its record in .data  8 body length
///     12 flags (bit 0: valid)  16 checksum (low half)
///
/// In an index whose entries have arrivals:
///
///     0 to 15 as above  16 arrival (ms since 1970; 0: not kept)
///     24 the message's expiration (ms; -1: none)  32 checksum (low half)
struct IndexEntry {
  static constexpr std::size_t kSize = 20;
  static constexpr std::size_t kTimedSize = 36;
  static constexpr std::uint32_t kValid = 1;

  std::uint32_t sequence_offset = 0;
  std::uint32_t data_offset = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t flags = kValid;
  std::int64_t arrived_ms = 0;
  std::int64_t expiration_ms = kNoExpiration;

  static std::size_t size(bool timed) { return timed ? kTimedSize : kSize; }
  bool timed() const { return arrived_ms != 0; }
  bool valid() const { return (flags & kValid) != 0; }
  bool operator==(const IndexEntry&) const = default;
  /// `first` is the segment's; it seeds the checksum.
  void encode(char* to, Sequence first, bool in_timed_index = false) const;
  static std::optional<IndexEntry> decode(const char* bytes, Sequence first,
                                          bool in_timed_index = false);
  /// Where entry number `ordinal` stands in the file.
  static std::uint64_t place(std::uint32_t ordinal, bool in_timed_index = false) {
    return IndexHeader::kSize + std::uint64_t{ordinal} * size(in_timed_index);
  }
};

/// Largest .data file: offsets in the index have 32 bits.
inline constexpr std::uint64_t kMaxSegmentBytes = (1ull << 32) - (1u << 20);

/// "00000000000000000042.data", or, of generation 3, "00000000000000000042-3.data".
std::string segment_file_name(SegmentName segment, std::string_view extension);
/// What such a name names; nothing for any other name.
std::optional<SegmentName> segment_of_file_name(std::string_view name, std::string_view extension);

/// The name of a queue's directory: its name percent-encoded (all but letters, digits, `_` and `.`
/// after the first place; capitals too, for file systems that do not tell them from small letters),
/// cut to 100 bytes, and its id, which makes it unique: "orders-7", the lane of priority 3
/// "orders-7.3", that of delayed messages "orders-7.delayed".
std::string queue_directory_name(std::string_view queue_name, QueueId id);
/// The id in such a name; nothing for any other name.
std::optional<QueueId> queue_of_directory_name(std::string_view name);
/// The queue's name in the name of its directory: as a person wrote it, but for the end of a long
/// one; "id 7" if there is none.
std::string queue_name_of_directory(std::string_view directory);

}  // namespace segue::storage
