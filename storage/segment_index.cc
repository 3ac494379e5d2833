#include "storage/segment_index.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "storage/segment_scanner.h"

namespace segue::storage {

namespace {

constexpr std::uint32_t kEntriesAtOnce = 1u << 16;
/// Damage that can be told from another entry with certainty.
constexpr int kFewBits = 8;

Status damaged(const File& index, std::uint64_t offset, const char* what) {
  return Status(Code::kCorruption,
                index.path() + ": " + what + " at offset " + std::to_string(offset));
}

Result<std::string> read_bytes(File& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  auto read = file.read(offset, bytes.data(), size);
  if (!read.is_ok()) return read.status();
  bytes.resize(*read);
  return bytes;
}

/// Where a record ends at the earliest: its header's length is not in the index.
std::uint64_t end_of(const IndexEntry& entry) {
  return std::uint64_t{entry.data_offset} + MessageRecord::kSize + entry.body_bytes;
}

Status write_bytes(File& file, std::uint64_t offset, std::string_view bytes) {
  return file.write(offset, std::span(&bytes, 1));
}

/// Decodes the entries in `bytes`, which stand in the file from ordinal `first` on.
Status decode_entries(const File& index, Sequence segment, bool timed, std::uint32_t first,
                      std::uint32_t count, std::string_view bytes,
                      std::vector<IndexEntry>& entries) {
  const std::size_t size = IndexEntry::size(timed);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t at = i * size;
    if (at + size > bytes.size()) {
      return damaged(index, IndexEntry::place(first + i, timed), "an entry is missing");
    }
    const auto entry = IndexEntry::decode(bytes.data() + at, segment, timed);
    if (!entry) {
      return damaged(index, IndexEntry::place(first + i, timed), "an entry fails its checksum");
    }
    entries.push_back(*entry);
  }
  return {};
}

Result<std::vector<IndexEntry>> read_entries(File& index, Sequence segment, bool timed,
                                             std::uint32_t first, std::uint32_t count) {
  auto bytes = read_bytes(index, IndexEntry::place(first, timed), count * IndexEntry::size(timed));
  if (!bytes.is_ok()) return bytes.status();
  std::vector<IndexEntry> entries;
  entries.reserve(count);
  SEGUE_RETURN_IF_ERROR(decode_entries(index, segment, timed, first, count, *bytes, entries));
  return entries;
}

}  // namespace

Result<bool> index_is_timed(File& index) {
  auto bytes = read_bytes(index, 0, IndexHeader::kSize);
  if (!bytes.is_ok()) return bytes.status();
  const auto header = IndexHeader::decode(*bytes);
  if (header.is_ok()) return header->timed;
  return Status(header.status().code(), index.path() + ": " + header.status().message());
}

Result<std::vector<IndexEntry>> read_index(File& index, Sequence segment, std::uint32_t first,
                                           std::uint32_t count) {
  const auto timed = index_is_timed(index);
  if (!timed.is_ok()) return timed.status();
  return read_entries(index, segment, *timed, first, count);
}

Status scan_index(File& index, QueueId queue, Sequence segment, std::uint32_t count,
                  std::uint64_t records_end, const std::function<void(const IndexEntry&)>& body) {
  auto bytes = read_bytes(index, 0, IndexHeader::kSize);
  if (!bytes.is_ok()) return bytes.status();
  const auto header = IndexHeader::decode(*bytes);
  if (!header.is_ok()) {
    return Status(header.status().code(), index.path() + ": " + header.status().message());
  }
  const bool timed = header->timed;
  if (*header != IndexHeader{queue, segment, timed}) {
    return damaged(index, 16, "the index of another segment or queue is named");
  }
  std::uint64_t next_sequence = 0;
  std::uint64_t next_place = SegmentHeader::kSize;
  for (std::uint32_t first = 0; first < count; first += kEntriesAtOnce) {
    auto entries =
        read_entries(index, segment, timed, first, std::min(count - first, kEntriesAtOnce));
    if (!entries.is_ok()) return entries.status();
    for (std::uint32_t i = 0; i < entries->size(); ++i) {
      const IndexEntry& entry = (*entries)[i];
      const std::uint64_t end = end_of(entry);
      if (entry.sequence_offset < next_sequence || entry.data_offset < next_place ||
          end > records_end) {
        return damaged(index, IndexEntry::place(first + i, timed), "an entry is out of order");
      }
      next_sequence = std::uint64_t{entry.sequence_offset} + 1;
      next_place = end;
      body(entry);
    }
  }
  return {};
}

Status write_index_flags(File& index, Sequence segment, const IndexFlags& flags) {
  if (flags.first >= flags.end) return {};
  const auto is_timed = index_is_timed(index);
  if (!is_timed.is_ok()) return is_timed.status();
  const bool timed = *is_timed;
  const std::size_t size = IndexEntry::size(timed);
  for (std::uint32_t first = flags.first; first < flags.end; first += kEntriesAtOnce) {
    const std::uint32_t count = std::min(flags.end - first, kEntriesAtOnce);
    auto bytes = read_bytes(index, IndexEntry::place(first, timed), count * size);
    if (!bytes.is_ok()) return bytes.status();
    std::vector<IndexEntry> entries;
    SEGUE_RETURN_IF_ERROR(decode_entries(index, segment, timed, first, count, *bytes, entries));
    std::uint32_t changed_first = count;
    std::uint32_t changed_end = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t bit = first + i - flags.first;
      const bool valid = (flags.valid[bit / 64] >> (bit % 64) & 1) != 0;
      if (valid == entries[i].valid()) continue;
      entries[i].flags ^= IndexEntry::kValid;
      entries[i].encode(bytes->data() + i * size, segment, timed);
      changed_first = std::min(changed_first, i);
      changed_end = i + 1;
    }
    if (changed_first >= changed_end) continue;
    const std::string_view changed(bytes->data() + changed_first * size,
                                   (changed_end - changed_first) * size);
    SEGUE_RETURN_IF_ERROR(
        write_bytes(index, IndexEntry::place(first + changed_first, timed), changed));
  }
  return {};
}

namespace {

/// What is left of an index, whatever its state.
class OldIndex {
 public:
  /// `index`: null if there is none. `timed`: its entries have arrivals, as far as the data tells;
  /// what the index itself says counts more.
  static Result<OldIndex> read(File* index, Sequence segment, bool timed) {
    if (index == nullptr) return OldIndex(segment, {}, timed);
    auto size = index->size();
    if (!size.is_ok()) return size.status();
    auto bytes = read_bytes(*index, 0, static_cast<std::size_t>(*size));
    if (!bytes.is_ok()) return bytes.status();
    OldIndex old(segment, std::move(*bytes), timed);
    for (std::uint32_t i = 0; old.slot(i) != nullptr; ++i) {
      if (const auto entry = IndexEntry::decode(old.slot(i), segment, old.timed_)) {
        old.good_.emplace(entry->sequence_offset, *entry);
      }
    }
    return old;
  }

  const std::map<std::uint32_t, IndexEntry>& good() const { return good_; }

  /// The flags of a message that was found in the data; nothing if they cannot be told any more.
  std::optional<std::uint32_t> flags_of(const IndexEntry& entry, std::uint32_t ordinal) const {
    if (const auto found = good_.find(entry.sequence_offset); found != good_.end()) {
      return found->second.flags;
    }
    if (slot(ordinal) == nullptr) return {};
    // The entry was one of two. A few flipped bits leave it near to what it was. A half-written one
    // may be taken for either: the log still has its settle.
    const int settled = distance(entry, 0, ordinal);
    const int valid = distance(entry, IndexEntry::kValid, ordinal);
    if (std::min(settled, valid) > kFewBits || settled == valid) return {};
    return settled < valid ? 0 : IndexEntry::kValid;
  }

 private:
  OldIndex(Sequence segment, std::string bytes, bool timed)
      : segment_(segment), bytes_(std::move(bytes)), timed_(timed) {
    if (bytes_.size() < IndexHeader::kSize) return;
    // No single damaged bit makes one of the two sizes of the other.
    const auto size = load_le<std::uint32_t>(bytes_.data() + 12);
    if (size == IndexEntry::kSize || size == IndexEntry::kTimedSize) {
      timed_ = size == IndexEntry::kTimedSize;
    }
  }

  const char* slot(std::uint32_t ordinal) const {
    const std::uint64_t place = IndexEntry::place(ordinal, timed_);
    return place + IndexEntry::size(timed_) <= bytes_.size() ? bytes_.data() + place : nullptr;
  }
  int distance(IndexEntry entry, std::uint32_t flags, std::uint32_t ordinal) const {
    char expected[IndexEntry::kTimedSize];
    entry.flags = flags;
    entry.encode(expected, segment_, timed_);
    int bits = 0;
    for (std::size_t i = 0; i < IndexEntry::size(timed_); ++i) {
      bits += std::popcount(static_cast<unsigned char>(expected[i] ^ slot(ordinal)[i]));
    }
    return bits;
  }

  Sequence segment_;
  std::string bytes_;
  bool timed_;
  std::map<std::uint32_t, IndexEntry> good_;  // by sequence offset
};

/// The next place at or after `offset` that begins like a record; the scanner's end if there is
/// none.
Result<std::uint64_t> next_record(SegmentScanner& scanner, QueueId queue, std::uint64_t offset) {
  for (; offset < scanner.end(); ++offset) {
    auto bytes = scanner.bytes(offset, MessageRecord::kTimedSize);
    if (!bytes.is_ok()) return bytes.status();
    if (MessageRecord::decode(*bytes, queue)) return offset;
  }
  return scanner.end();
}

/// Entries of damaged records that the old index still knows: they keep their place, and are
/// reported when they are read. Only those that fit in between.
void add_damaged(std::map<std::uint32_t, IndexEntry>& found, const OldIndex& old,
                 std::uint64_t records_end) {
  for (const auto& [sequence, entry] : old.good()) {
    const auto next = found.lower_bound(sequence);
    if (next != found.end() && next->first == sequence) continue;
    const std::uint64_t room_begin =
        next == found.begin() ? SegmentHeader::kSize : end_of(std::prev(next)->second);
    const std::uint64_t room_end = next == found.end() ? records_end : next->second.data_offset;
    if (entry.data_offset >= room_begin && end_of(entry) <= room_end)
      found.emplace(sequence, entry);
  }
}

/// The records that can be found in the data, in order, by sequence offset.
Result<std::map<std::uint32_t, IndexEntry>> find_records(File& data, QueueId queue,
                                                         Sequence segment,
                                                         std::uint64_t records_end,
                                                         std::uint32_t& damaged_records) {
  std::map<std::uint32_t, IndexEntry> found;
  SegmentScanner scanner(data, records_end);
  std::uint64_t least = segment.value;
  for (std::uint64_t offset = SegmentHeader::kSize; offset < records_end;) {
    auto bytes = scanner.bytes(offset, MessageRecord::kTimedSize);
    if (!bytes.is_ok()) return bytes.status();
    const auto record = MessageRecord::decode(*bytes, queue);
    const bool fits =
        record && record->sequence.value >= least &&
        record->sequence.value - segment.value <= std::numeric_limits<std::uint32_t>::max() &&
        offset + record->record_bytes() <= records_end;
    if (!fits) {
      ++damaged_records;
      auto next = next_record(scanner, queue, offset + 1);
      if (!next.is_ok()) return next.status();
      offset = *next;
      continue;
    }
    IndexEntry entry;
    entry.sequence_offset = static_cast<std::uint32_t>(record->sequence.value - segment.value);
    entry.data_offset = static_cast<std::uint32_t>(offset);
    entry.body_bytes = record->body_bytes;
    entry.arrived_ms = record->arrived_ms;
    entry.expiration_ms = record->expiration_ms;
    found.emplace(entry.sequence_offset, entry);
    offset += record->record_bytes();
    least = record->sequence.value + 1;
  }
  return found;
}

}  // namespace

Result<RebuiltIndex> rebuild_index(File& data, File* index, QueueId queue, Sequence segment,
                                   std::uint64_t records_end) {
  RebuiltIndex rebuilt;
  auto found = find_records(data, queue, segment, records_end, rebuilt.damaged_records);
  if (!found.is_ok()) return found.status();
  const bool timed = std::any_of(found->begin(), found->end(),
                                 [](const auto& record) { return record.second.timed(); });
  auto old = OldIndex::read(index, segment, timed);
  if (!old.is_ok()) return old.status();
  if (rebuilt.damaged_records > 0) add_damaged(*found, *old, records_end);
  rebuilt.entries.reserve(found->size());
  for (auto& [sequence, entry] : *found) {
    const auto ordinal = static_cast<std::uint32_t>(rebuilt.entries.size());
    const auto flags = old->flags_of(entry, ordinal);
    if (!flags) rebuilt.uncertain.push_back(ordinal);
    entry.flags = flags.value_or(IndexEntry::kValid);
    rebuilt.entries.push_back(entry);
  }
  return rebuilt;
}

std::uint32_t RebuiltIndex::valid() const {
  return static_cast<std::uint32_t>(std::count_if(
      entries.begin(), entries.end(), [](const IndexEntry& entry) { return entry.valid(); }));
}

bool RebuiltIndex::decide(std::uint32_t valid_at_checkpoint) {
  const std::uint32_t most = valid();
  if (uncertain.empty() || most <= valid_at_checkpoint) return true;
  if (most - uncertain.size() < valid_at_checkpoint) return false;
  for (const std::uint32_t ordinal : uncertain) entries[ordinal].flags = 0;
  return true;
}

bool any_timed(const std::vector<IndexEntry>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const IndexEntry& entry) { return entry.timed(); });
}

Status write_index(File& index, QueueId queue, Sequence segment,
                   const std::vector<IndexEntry>& entries) {
  const bool timed = any_timed(entries);
  std::string bytes(IndexEntry::place(static_cast<std::uint32_t>(entries.size()), timed), '\0');
  IndexHeader{queue, segment, timed}.encode(bytes.data());
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    entries[i].encode(bytes.data() + IndexEntry::place(i, timed), segment, timed);
  }
  return write_bytes(index, 0, bytes);
}

}  // namespace segue::storage
