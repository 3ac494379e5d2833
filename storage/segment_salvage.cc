#include "storage/segment_salvage.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "storage/segment_scanner.h"

namespace segue::storage {

namespace {

Result<std::string> read_bytes(File& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  auto read = file.read(offset, bytes.data(), size);
  if (!read.is_ok()) return read.status();
  bytes.resize(*read);
  return bytes;
}

/// Where the record of the last entry ends: at the file's end if that cannot be told.
Result<std::uint64_t> end_of_last(File& data, QueueId queue, const IndexEntry& last,
                                  std::uint64_t size) {
  auto bytes = read_bytes(data, last.data_offset, MessageRecord::kTimedSize);
  if (!bytes.is_ok()) return bytes.status();
  const auto record = MessageRecord::decode(*bytes, queue);
  return record ? std::min(size, last.data_offset + record->record_bytes()) : size;
}

Status read_header(File& data, QueueId queue, SalvagedSegment& segment) {
  auto bytes = read_bytes(data, 0, SegmentHeader::kSize);
  if (!bytes.is_ok()) return bytes.status();
  const auto header = SegmentHeader::decode(*bytes);
  if (header.is_ok() && header->queue == queue && header->first == segment.named.first) {
    segment.replaced_first = header->replaced_first;
    segment.replaced_last = header->replaced_last;
  }
  return {};
}

/// The footer if it is right, and fits the file.
Result<std::optional<SegmentFooter>> read_footer(File& data, QueueId queue, Sequence first,
                                                 std::uint64_t size) {
  std::optional<SegmentFooter> none;
  if (size < SegmentHeader::kSize + SegmentFooter::kSize) return none;
  auto bytes = read_bytes(data, size - SegmentFooter::kSize, SegmentFooter::kSize);
  if (!bytes.is_ok()) return bytes.status();
  const auto footer = SegmentFooter::decode(*bytes);
  const bool fits = footer.is_ok() && footer->queue == queue && footer->first == first &&
                    footer->records_end == size - SegmentFooter::kSize;
  return fits ? std::optional<SegmentFooter>(*footer) : none;
}

Status read_entries(FileSystem& files, File& data, QueueId queue, const std::string& index_path,
                    std::optional<std::uint32_t> messages, std::uint64_t records_end,
                    SalvagedSegment& segment) {
  std::unique_ptr<File> index;
  if (files.exists(index_path)) {
    auto opened = files.open(index_path, OpenMode::kRead);
    if (!opened.is_ok()) return opened.status();
    index = std::move(*opened);
  }
  if (index != nullptr && messages) {
    const Status scanned =
        scan_index(*index, queue, segment.named.first, *messages, records_end,
                   [&](const IndexEntry& entry) { segment.entries.push_back(entry); });
    if (scanned.is_ok()) return {};
    if (scanned.code() != Code::kCorruption) return scanned;
    segment.entries.clear();
  }
  auto rebuilt = rebuild_index(data, index.get(), queue, segment.named.first, records_end);
  if (!rebuilt.is_ok()) return rebuilt.status();
  segment.entries = std::move(rebuilt->entries);
  segment.uncertain = static_cast<std::uint32_t>(rebuilt->uncertain.size());
  segment.damaged = rebuilt->damaged_records;
  segment.write_index = true;
  return {};
}

}  // namespace

std::uint32_t SalvagedSegment::valid() const {
  return static_cast<std::uint32_t>(std::count_if(
      entries.begin(), entries.end(), [](const IndexEntry& entry) { return entry.valid(); }));
}

void SalvagedSegment::settle_as(const SalvagedSegment& other) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < other.entries.size(); ++i) {
    if (other.entries[i].valid()) continue;
    const Sequence settled = other.sequence(i);
    while (at < entries.size() && sequence(at) < settled) ++at;
    if (at == entries.size()) break;
    if (sequence(at) != settled || !entries[at].valid()) continue;
    entries[at].flags = 0;
    write_index = true;
  }
  named.valid = valid();
}

std::uint32_t SalvagedSegment::cut_from(Sequence from) {
  std::size_t left = entries.size();
  while (left > 0 && sequence(left - 1) >= from) --left;
  const auto cut = static_cast<std::uint32_t>(entries.size() - left);
  if (cut == 0) return 0;
  named.data_bytes = entries[left].data_offset;
  entries.resize(left);
  write_index = true;
  if (left > 0) named.last = sequence(left - 1);
  named.messages = static_cast<std::uint32_t>(left);
  named.valid = valid();
  return cut;
}

Result<std::optional<SalvagedSegment>> salvage_segment(FileSystem& files, QueueId queue,
                                                       const std::string& directory,
                                                       SegmentName name, bool complete) {
  std::optional<SalvagedSegment> none;
  const std::string path = directory + "/" + segment_file_name(name, ".data");
  auto data = files.open(path, OpenMode::kRead);
  if (!data.is_ok()) return data.status();
  auto size = (*data)->size();
  if (!size.is_ok()) return size.status();
  SalvagedSegment segment;
  segment.named.first = name.first;
  segment.named.generation = name.generation;
  segment.file_bytes = *size;
  SEGUE_RETURN_IF_ERROR(read_header(**data, queue, segment));
  auto footer = read_footer(**data, queue, name.first, *size);
  if (!footer.is_ok()) return footer.status();
  segment.has_footer = footer->has_value();
  const bool whole = complete && *size >= SegmentHeader::kSize + SegmentFooter::kSize;
  std::uint64_t records_end = whole ? *size - SegmentFooter::kSize : *size;
  std::optional<std::uint32_t> messages;
  if (segment.has_footer) {
    records_end = (*footer)->records_end;
    messages = (*footer)->messages;
  }
  const std::string index = directory + "/" + segment_file_name(name, ".index");
  SEGUE_RETURN_IF_ERROR(read_entries(files, **data, queue, index, messages, records_end, segment));
  if (segment.entries.empty()) return none;
  segment.named.sealed = segment.has_footer || whole;
  if (!segment.named.sealed) {
    auto end = end_of_last(**data, queue, segment.entries.back(), *size);
    if (!end.is_ok()) return end.status();
    records_end = *end;
    // What stands behind the last record is the end of a block, or was half-written.
    if (records_end < *size && segment.damaged > 0) --segment.damaged;
  }
  segment.named.data_bytes = records_end + (segment.named.sealed ? SegmentFooter::kSize : 0);
  segment.named.last = segment.sequence(segment.entries.size() - 1);
  segment.named.messages = static_cast<std::uint32_t>(segment.entries.size());
  segment.named.valid = segment.valid();
  return std::optional<SalvagedSegment>(std::move(segment));
}

Result<std::vector<bool>> find_intact(FileSystem& files, QueueId queue,
                                      const std::string& directory,
                                      const SalvagedSegment& segment) {
  auto data = files.open(segment.data_path(directory), OpenMode::kRead);
  if (!data.is_ok()) return data.status();
  SegmentScanner scanner(**data, segment.file_bytes);
  std::vector<bool> intact;
  intact.reserve(segment.entries.size());
  for (std::size_t i = 0; i < segment.entries.size(); ++i) {
    const std::uint64_t offset = segment.entries[i].data_offset;
    auto head = scanner.bytes(offset, MessageRecord::kTimedSize);
    if (!head.is_ok()) return head.status();
    const auto record = MessageRecord::decode(*head, queue);
    bool good = record && record->sequence == segment.sequence(i) &&
                offset + record->record_bytes() <= segment.file_bytes;
    if (good) {
      auto bytes = scanner.bytes(offset, static_cast<std::size_t>(record->record_bytes()));
      if (!bytes.is_ok()) return bytes.status();
      good = MessageRecord::checksum_payload(record->payload(*bytes), queue) ==
             record->payload_checksum;
    }
    intact.push_back(good);
  }
  return intact;
}

Status write_salvaged(FileSystem& files, QueueId queue, const std::string& directory,
                      const SalvagedSegment& segment) {
  const SegmentName name = segment.named.name();
  if (segment.write_index) {
    auto index =
        files.open(directory + "/" + segment_file_name(name, ".index"), OpenMode::kReadWrite);
    if (!index.is_ok()) return index.status();
    SEGUE_RETURN_IF_ERROR(write_index(**index, queue, name.first, segment.entries));
    SEGUE_RETURN_IF_ERROR(
        (*index)->truncate(IndexEntry::place(segment.named.messages, any_timed(segment.entries))));
    SEGUE_RETURN_IF_ERROR((*index)->sync());
  }
  if (segment.named.sealed && !segment.has_footer) {
    auto data =
        files.open(directory + "/" + segment_file_name(name, ".data"), OpenMode::kReadWrite);
    if (!data.is_ok()) return data.status();
    std::uint64_t body_bytes = 0;
    for (const IndexEntry& entry : segment.entries) body_bytes += entry.body_bytes;
    const std::uint64_t records_end = segment.named.data_bytes - SegmentFooter::kSize;
    char bytes[SegmentFooter::kSize];
    SegmentFooter{queue,      segment.named.messages, records_end,
                  body_bytes, segment.named.first,    segment.named.last}
        .encode(bytes);
    const std::string_view piece(bytes, sizeof bytes);
    SEGUE_RETURN_IF_ERROR((*data)->write(records_end, std::span(&piece, 1)));
    SEGUE_RETURN_IF_ERROR((*data)->truncate(segment.named.data_bytes));
    SEGUE_RETURN_IF_ERROR((*data)->sync());
  }
  return files.sync_directory(directory);
}

}  // namespace segue::storage
