#include "storage/segment_remainder.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/segment_scanner.h"

namespace segue::storage {

namespace {

/// Writes a segment front to back. Until finish() nothing has its name.
class RemainderWriter {
 public:
  RemainderWriter(FileSystem& files, QueueId queue, std::string directory, SalvagedSegment& segment)
      : files_(files), queue_(queue), directory_(std::move(directory)), segment_(segment) {}

  Status begin(Sequence replaced_last, bool timed) {
    auto file = files_.open(path(".data.new"), OpenMode::kReadWrite);
    if (!file.is_ok()) return file.status();
    data_ = std::move(*file);
    SEGUE_RETURN_IF_ERROR(data_->truncate(0));
    char bytes[SegmentHeader::kSize];
    SegmentHeader{queue_, segment_.named.first, segment_.named.first, replaced_last, timed}.encode(
        bytes);
    return write({bytes, sizeof bytes});
  }
  Status write(std::string_view bytes) {
    SEGUE_RETURN_IF_ERROR(data_->write(written_, std::span(&bytes, 1)));
    written_ += bytes.size();
    return {};
  }
  Status finish() {
    char bytes[SegmentFooter::kSize];
    std::uint64_t body_bytes = 0;
    for (const IndexEntry& entry : segment_.entries) body_bytes += entry.body_bytes;
    SegmentFooter{queue_,     segment_.named.messages, written_,
                  body_bytes, segment_.named.first,    segment_.named.last}
        .encode(bytes);
    SEGUE_RETURN_IF_ERROR(write({bytes, sizeof bytes}));
    SEGUE_RETURN_IF_ERROR(data_->sync());
    SEGUE_RETURN_IF_ERROR(write_salvaged(files_, queue_, directory_, segment_));  // the index
    SEGUE_RETURN_IF_ERROR(files_.rename(path(".data.new"), path(".data")));
    return files_.sync_directory(directory_);
  }

 private:
  std::string path(std::string_view extension) const {
    return directory_ + "/" + segment_file_name(segment_.named.name(), extension);
  }

  FileSystem& files_;
  const QueueId queue_;
  const std::string directory_;
  SalvagedSegment& segment_;
  std::unique_ptr<File> data_;
  std::uint64_t written_ = 0;
};

/// Of a record that is damaged itself, up to where the next one begins.
Result<std::string_view> record_at(SegmentScanner& scanner, QueueId queue,
                                   const SalvagedSegment& source, std::size_t ordinal,
                                   std::uint64_t records_end) {
  const std::uint64_t offset = source.entries[ordinal].data_offset;
  auto head = scanner.bytes(offset, MessageRecord::kTimedSize);
  if (!head.is_ok()) return head.status();
  const auto record = MessageRecord::decode(*head, queue);
  const std::uint64_t end = record ? offset + record->record_bytes()
                            : ordinal + 1 < source.entries.size()
                                ? source.entries[ordinal + 1].data_offset
                                : records_end;
  return scanner.bytes(offset, static_cast<std::size_t>(std::min(end, records_end) - offset));
}

}  // namespace

Result<SalvagedSegment> make_remainder(FileSystem& files, QueueId queue,
                                       const std::string& directory, const SalvagedSegment& source,
                                       const Remainder& wanted) {
  auto data = files.open(source.data_path(directory), OpenMode::kRead);
  if (!data.is_ok()) return data.status();
  const std::uint64_t records_end =
      source.named.data_bytes - (source.named.sealed ? SegmentFooter::kSize : 0);
  SegmentScanner scanner(**data, source.file_bytes);
  SalvagedSegment made;
  made.named.first = wanted.to.first;
  made.named.generation = wanted.to.generation;
  made.named.sealed = made.has_footer = made.write_index = true;
  RemainderWriter writer(files, queue, directory, made);
  SEGUE_RETURN_IF_ERROR(writer.begin(wanted.last, any_timed(source.entries)));
  std::uint64_t at = SegmentHeader::kSize;
  for (std::size_t i = 0; i < source.entries.size(); ++i) {
    const Sequence sequence = source.sequence(i);
    if (sequence < wanted.first || sequence > wanted.last || !source.entries[i].valid()) continue;
    auto bytes = record_at(scanner, queue, source, i, records_end);
    if (!bytes.is_ok()) return bytes.status();
    IndexEntry entry = source.entries[i];
    entry.sequence_offset = static_cast<std::uint32_t>(sequence.value - made.named.first.value);
    entry.data_offset = static_cast<std::uint32_t>(at);
    SEGUE_RETURN_IF_ERROR(writer.write(*bytes));
    at += bytes->size();
    made.entries.push_back(entry);
    made.named.last = sequence;
  }
  made.named.messages = made.named.valid = static_cast<std::uint32_t>(made.entries.size());
  made.named.data_bytes = at + SegmentFooter::kSize;
  made.file_bytes = made.named.data_bytes;
  SEGUE_RETURN_IF_ERROR(writer.finish());
  made.write_index = false;
  return made;
}

}  // namespace segue::storage
