#include "storage/segment_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "common/check.h"
#include "segue/v1/types.pb.h"
#include "storage/segment_index.h"

namespace segue::storage {

namespace {

constexpr std::uint64_t kPieceBytes = 1u << 20;
// From the page cache: what the processor's cache still holds when it is checked and moved.
constexpr std::uint64_t kCachedPieceBytes = 256u << 10;
constexpr std::size_t kKeepBytes = 4u << 20;
// Reading over a gap of this size is faster than another read.
constexpr std::uint64_t kGapBytes = 64u << 10;

}  // namespace

Result<ReadMessages> SegmentReader::read(QueueFiles& queue, const std::string& name,
                                         const SegmentLoad& load) {
  auto opened = files_.open(queue, load.segment);
  if (!opened.is_ok()) return opened.status();
  OpenSegment& files = **opened;
  ReadMessages read;
  auto wanted = look_up(queue, files, load, read.index_made_anew);
  if (!wanted.is_ok()) return wanted.status();
  std::vector<QuarantineRecord> damaged;
  const std::uint64_t piece_bytes = files.direct ? kPieceBytes : kCachedPieceBytes;
  for (std::size_t first = 0; first < wanted->size();) {
    std::size_t end = first + 1;
    while (end < wanted->size() && (*wanted)[end].end - (*wanted)[first].offset <= piece_bytes &&
           (*wanted)[end].offset - (*wanted)[end - 1].end <= kGapBytes) {
      ++end;
    }
    SEGUE_RETURN_IF_ERROR(read_piece(queue, *files.data,
                                     std::span<const Wanted>(*wanted).subspan(first, end - first),
                                     read, damaged));
    first = end;
  }
  if (!damaged.empty()) {
    for (QuarantineRecord& record : damaged) record.queue_name = name;
    read.not_set_aside = quarantine_.set_aside(damaged);
  }
  return read;
}

Result<std::vector<IndexEntry>> SegmentReader::entries(QueueFiles& queue, OpenSegment& files,
                                                       const Extent& extent, std::uint32_t first,
                                                       std::uint32_t count, bool& made_anew) {
  auto read = read_index(*files.index, extent.segment.first, first, count);
  if (read.is_ok() || read.status().code() != Code::kCorruption) return read;
  context_.log.warn(
      "index_damaged",
      {{"queue", queue.name_in_directory()}, {"queue_id", queue.id}, {"reason", read.status()}});
  auto rebuilt = rebuild_index(*files.data, files.index.get(), queue.id, extent.segment.first,
                               extent.records_end);
  if (!rebuilt.is_ok()) return rebuilt.status();
  if (rebuilt->entries.size() != extent.messages) return read;
  SEGUE_RETURN_IF_ERROR(
      write_index(*files.index, queue.id, extent.segment.first, rebuilt->entries));
  files.index_unsynced = true;
  made_anew = true;
  const auto begin = rebuilt->entries.begin() + first;
  return std::vector<IndexEntry>(begin, begin + count);
}

Result<std::vector<SegmentReader::Wanted>> SegmentReader::look_up(QueueFiles& queue,
                                                                  OpenSegment& files,
                                                                  const SegmentLoad& load,
                                                                  bool& made_anew) {
  const std::uint32_t first = load.ranges.front().first;
  const std::uint32_t last = load.ranges.back().second;
  // One more than wanted, if there is one: where it begins the record before it ends.
  const std::uint32_t count = std::min(last + 1, load.messages) - first;
  auto index = entries(queue, files, {load.segment, load.messages, load.records_end}, first, count,
                       made_anew);
  if (!index.is_ok()) return index.status();
  std::vector<Wanted> wanted;
  for (const auto& [begin, end] : load.ranges) {
    for (std::uint32_t ordinal = begin; ordinal < end; ++ordinal) {
      const IndexEntry& entry = (*index)[ordinal - first];
      Wanted message;
      message.sequence = load.segment.first.next(entry.sequence_offset);
      message.offset = entry.data_offset;
      message.end = ordinal + 1 - first < count ? (*index)[ordinal + 1 - first].data_offset
                                                : load.records_end;
      message.body_bytes = entry.body_bytes;
      if (message.end < message.offset || message.end > load.records_end) {
        return Status(Code::kCorruption, files.index->path() + ": entry " +
                                             std::to_string(ordinal) +
                                             " names a place beyond the data's end");
      }
      wanted.push_back(message);
    }
  }
  return wanted;
}

std::optional<SegmentReader::Found> SegmentReader::check(QueueId queue, const Wanted& wanted,
                                                         std::string_view bytes) const {
  const auto record = MessageRecord::decode(bytes, queue);
  if (!record || record->sequence != wanted.sequence || record->body_bytes != wanted.body_bytes ||
      record->record_bytes() > bytes.size()) {
    return {};
  }
  const std::string_view payload = record->payload(bytes);
  if (MessageRecord::checksum_payload(payload, queue) != record->payload_checksum) return {};
  return Found{wanted.sequence, payload.substr(0, record->header_bytes),
               payload.substr(record->header_bytes), record->arrived_ms};
}

Status SegmentReader::read_piece(QueueFiles& queue, File& data, std::span<const Wanted> wanted,
                                 ReadMessages& to, std::vector<QuarantineRecord>& damaged) {
  const std::uint64_t begin = wanted.front().offset / SegmentFiles::kBlock * SegmentFiles::kBlock;
  piece_.clear();
  piece_.resize(static_cast<std::size_t>(wanted.back().end - begin));
  piece_.pad();
  auto read = data.read(begin, piece_.data(), piece_.size());
  if (!read.is_ok()) return read.status();
  const std::string_view bytes = piece_.view().substr(0, *read);
  std::vector<Found> found;
  found.reserve(wanted.size());
  for (const Wanted& message : wanted) {
    const auto at = static_cast<std::size_t>(message.offset - begin);
    const std::string_view place =
        at < bytes.size() ? bytes.substr(at, static_cast<std::size_t>(message.end - message.offset))
                          : std::string_view();
    const auto record = check(queue.id, message, place);
    if (record) {
      found.push_back(*record);
      continue;
    }
    to.corrupt.push_back(message.sequence);
    damaged.push_back({queue.shard,
                       queue.id,
                       {},
                       message.sequence,
                       quarantine_.below_root(data.path()),
                       message.offset,
                       std::string(place)});
  }
  if (!found.empty()) add_batch(found, to);
  piece_.shrink(kKeepBytes);
  return {};
}

void SegmentReader::add_batch(const std::vector<Found>& found, ReadMessages& to) {
  std::size_t body_bytes = 0;
  for (const Found& message : found) body_bytes += message.body.size();
  // Bodies are moved together, once, so that they go out as one piece.
  std::shared_ptr<char[]> bodies = bodies_.take(body_bytes);
  v1::RawMessageBatch raw;
  raw.mutable_sizes()->Reserve(static_cast<int>(found.size()));
  raw.mutable_header_index()->Reserve(static_cast<int>(found.size()));
  std::size_t at = 0;
  std::string_view header;
  for (const Found& message : found) {
    if (raw.headers().empty() || message.header != header) {
      header = message.header;
      raw.add_headers(header.data(), header.size());
    }
    raw.add_header_index(static_cast<std::uint32_t>(raw.headers_size() - 1));
    raw.add_sizes(static_cast<std::uint32_t>(message.body.size()));
    if (!message.body.empty())
      std::memcpy(bodies.get() + at, message.body.data(), message.body.size());
    at += message.body.size();
  }
  if (raw.headers_size() == 1) raw.clear_header_index();
  const char* const data = bodies.get();
  auto batch = MessageBatch::parse(SharedBytes::from(raw.SerializeAsString()),
                                   SharedBytes(std::move(bodies), data, body_bytes));
  SEGUE_CHECK(batch.is_ok());
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    if (i > 0 && found[i].sequence == to.runs.back().last().next() &&
        found[i].arrived_ms == to.runs.back().arrived_ms) {
      ++to.runs.back().count;
    } else {
      to.runs.push_back({found[i].sequence, *batch, i, 1, found[i].arrived_ms});
    }
  }
}

}  // namespace segue::storage
