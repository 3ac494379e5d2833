#include "storage/segment_writer.h"

#include <cstring>

namespace segue::storage {

namespace {

constexpr std::size_t kChunkBytes = 1u << 20;
constexpr std::uint64_t kMuchBytes = 128u << 10;
constexpr std::size_t kKeepBytes = 4 * kChunkBytes;

std::uint64_t block_of(std::uint64_t offset) {
  return offset & ~(SegmentFiles::kBlock - 1ull);
}

Status write_one(File& file, std::uint64_t offset, std::string_view bytes) {
  return file.write(offset, std::span(&bytes, 1));
}

}  // namespace

Status SegmentWriter::begin_chunk(OpenSegment& files, std::uint64_t offset) {
  chunk_.clear();
  chunk_offset_ = block_of(offset);
  const auto before = static_cast<std::size_t>(offset - chunk_offset_);
  if (before == 0) return {};
  if (files.tail_end == offset) {
    chunk_.append(files.tail);
    return {};
  }
  chunk_.resize(SegmentFiles::kBlock);
  auto read = files.data->read(chunk_offset_, chunk_.data(), SegmentFiles::kBlock);
  if (!read.is_ok()) return read.status();
  if (*read < before) std::memset(chunk_.data() + *read, 0, before - *read);
  chunk_.resize(before);
  return {};
}

Status SegmentWriter::end_chunk(OpenSegment& files) {
  const std::uint64_t end = chunk_offset_ + chunk_.size();
  const auto tail_begin = static_cast<std::size_t>(block_of(end) - chunk_offset_);
  files.tail.assign(chunk_.view().substr(tail_begin));
  files.tail_end = std::numeric_limits<std::uint64_t>::max();  // unknown if the write fails
  files.data_unsynced = true;
  chunk_.pad();
  SEGUE_RETURN_IF_ERROR(write_one(*files.data, chunk_offset_, chunk_.view()));
  // The checkpoint that syncs all of it shall not wait for much.
  if (!files.direct && chunk_.size() >= kMuchBytes) {
    files.data->begin_sync(chunk_offset_, chunk_.size());
  }
  files.tail_end = end;
  return {};
}

void SegmentWriter::add_message(QueueId queue, const SegmentWrite& write, const MessageRun& run,
                                std::uint32_t skip) {
  const std::uint32_t message = run.begin + skip;
  const Sequence sequence = run.first.next(skip);
  const std::string_view header = run.batch->header(message);
  const std::string_view body = run.batch->body(message);
  MessageRecord record;
  record.header_bytes = static_cast<std::uint32_t>(header.size());
  record.body_bytes = static_cast<std::uint32_t>(body.size());
  record.sequence = sequence;
  if (run.arrived_ms != 0) {
    record.arrived_ms = run.arrived_ms;
    record.expiration_ms = run.own_expiration(message);
  }
  const std::uint64_t place = chunk_offset_ + chunk_.size();
  char* const at = chunk_.extend(record.record_bytes());
  char* const payload = at + record.head_bytes();
  if (!header.empty()) std::memcpy(payload, header.data(), header.size());
  if (!body.empty()) std::memcpy(payload + header.size(), body.data(), body.size());
  record.payload_checksum =
      MessageRecord::checksum_payload({payload, header.size() + body.size()}, queue);
  record.encode(at, queue);

  IndexEntry entry;
  entry.sequence_offset = static_cast<std::uint32_t>(sequence.value - write.segment.value);
  entry.data_offset = static_cast<std::uint32_t>(place);
  entry.body_bytes = record.body_bytes;
  entry.arrived_ms = record.arrived_ms;
  entry.expiration_ms = record.expiration_ms;
  const std::size_t end = entries_.size();
  entries_.resize(end + IndexEntry::size(write.timed));
  entry.encode(entries_.data() + end, write.segment, write.timed);
}

Status SegmentWriter::write_some(QueueFiles& queue, const SegmentWrite& write,
                                 WriteProgress& progress) {
  const bool first = write.first_ordinal == 0 && progress.messages == 0;
  const auto access = write.records_end - write.data_offset >= kMuchBytes
                          ? SegmentFiles::Access::kMuch
                          : SegmentFiles::Access::kLittle;
  auto opened = first ? files_.create(queue, write.segment, access)
                      : files_.open(queue, write.segment, access);
  if (!opened.is_ok()) return opened.status();
  OpenSegment& files = **opened;
  entries_.clear();
  std::uint64_t index_offset =
      IndexEntry::place(write.first_ordinal + progress.messages, write.timed);
  if (first) {
    SEGUE_RETURN_IF_ERROR(begin_chunk(files, 0));
    SegmentHeader{queue.id, write.segment, {}, {}, write.timed}.encode(
        chunk_.extend(SegmentHeader::kSize));
    entries_.resize(IndexHeader::kSize);
    IndexHeader{queue.id, write.segment, write.timed}.encode(entries_.data());
    index_offset = 0;
  } else {
    SEGUE_RETURN_IF_ERROR(begin_chunk(files, write.data_offset + progress.bytes));
  }
  WriteProgress next = progress;
  const std::uint64_t begin = chunk_offset_ + chunk_.size();
  while (next.run < write.runs.size() && chunk_.size() < kChunkBytes) {
    const MessageRun& run = write.runs[next.run];
    add_message(queue.id, write, run, next.message);
    ++next.messages;
    if (++next.message == run.count) {
      next.message = 0;
      ++next.run;
    }
  }
  next.bytes += chunk_offset_ + chunk_.size() - begin;
  SEGUE_RETURN_IF_ERROR(end_chunk(files));
  files.index_unsynced = true;
  SEGUE_RETURN_IF_ERROR(write_one(*files.index, index_offset, entries_));
  chunk_.shrink(kKeepBytes);
  progress = next;
  return {};
}

Status SegmentWriter::seal(QueueFiles& queue, SegmentName segment, const SegmentFooter& footer) {
  auto opened = files_.open(queue, segment);
  if (!opened.is_ok()) return opened.status();
  OpenSegment& files = **opened;
  SEGUE_RETURN_IF_ERROR(begin_chunk(files, footer.records_end));
  footer.encode(chunk_.extend(SegmentFooter::kSize));
  SEGUE_RETURN_IF_ERROR(end_chunk(files));
  return files.data->truncate(footer.records_end + SegmentFooter::kSize);
}

}  // namespace segue::storage
