#include "storage/segment_copier.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "common/check.h"
#include "storage/segment_index.h"

namespace segue::storage {

namespace {

constexpr std::uint64_t kPieceBytes = 1u << 20;
// Reading over a gap of this size is faster than another read.
constexpr std::uint64_t kGapBytes = 64u << 10;
constexpr std::uint32_t kEntriesAtOnce = 4096;
// Also part of the name until the copy is whole.
constexpr const char* kUnfinished = ".data.new";

}  // namespace

SegmentCopier::SegmentCopier(SegmentContext& context, SegmentFiles& files, SegmentReader& reader,
                             CopyPlan plan)
    : context_(context), files_(files), reader_(reader), plan_(std::move(plan)) {
  SEGUE_CHECK(!plan_.sources.empty());
  timed_ = std::any_of(plan_.sources.begin(), plan_.sources.end(),
                       [](const CopySource& source) { return source.timed; });
}

std::string SegmentCopier::path(SegmentName name, const char* extension) const {
  return plan_.queue->directory + "/" + segment_file_name(name, extension);
}

std::uint32_t SegmentCopier::next_valid(const CopySource& source, std::uint32_t from) {
  for (std::uint32_t at = from; at < source.messages;) {
    const std::uint64_t bits = source.valid[at / 64] >> (at % 64);
    if (bits != 0) {
      return std::min(source.messages, at + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
    at = (at / 64 + 1) * 64;
  }
  return source.messages;
}

bool SegmentCopier::step() {
  if (!full_ && !end_) {
    status_ = copy_some();
  } else if (segment_ != nullptr) {
    status_ = finish_segment();
  } else {
    status_ = finish();
    if (status_.is_ok()) return true;
  }
  if (status_.is_ok()) return false;
  data_.reset();
  if (!named_) remove_files();
  return true;
}

Status SegmentCopier::begin(Sequence first) {
  segment_ = std::make_unique<Segment>();
  segment_->first = first;
  segment_->generation = plan_.to.generation;
  const std::string unfinished = path(segment_->name(), kUnfinished);
  auto opened = context_.files.open(unfinished, OpenMode::kReadWriteDirect);
  if (!opened.is_ok() && opened.status().code() == Code::kNotImplemented) {
    opened = context_.files.open(unfinished, OpenMode::kReadWrite);
  }
  if (!opened.is_ok()) return opened.status();
  data_ = std::move(*opened);
  SEGUE_RETURN_IF_ERROR(data_->truncate(0));
  SegmentHeader{plan_.queue->id, first, first, plan_.sources.back().last, timed_}.encode(
      chunk_.extend(SegmentHeader::kSize));
  return {};
}

bool SegmentCopier::fits(std::uint64_t bytes) const {
  return plan_.piece_bytes == 0 ||
         chunk_offset_ + chunk_.size() + bytes + SegmentFooter::kSize <= plan_.piece_bytes;
}

Status SegmentCopier::copy_some() {
  while (source_ < plan_.sources.size()) {
    ordinal_ = next_valid(plan_.sources[source_], ordinal_);
    if (ordinal_ < plan_.sources[source_].messages) break;
    ++source_;
    ordinal_ = 0;
  }
  if (source_ == plan_.sources.size()) {
    end_ = true;
    return {};
  }
  const CopySource& source = plan_.sources[source_];
  auto opened = files_.open(*plan_.queue, source.name);
  if (!opened.is_ok()) return opened.status();
  // One more than can be copied, if there is one: where it begins the record before it ends.
  const std::uint32_t count = std::min(kEntriesAtOnce + 1, source.messages - ordinal_);
  bool made_anew = false;
  auto entries =
      reader_.entries(*plan_.queue, **opened, {source.name, source.messages, source.records_end},
                      ordinal_, count, made_anew);
  if (made_anew) made_anew_.push_back(source.name);
  if (!entries.is_ok()) return entries.status();
  if (segment_ == nullptr) {
    // The first takes the place of all that is before it, too.
    SEGUE_RETURN_IF_ERROR(begin(segments_.empty()
                                    ? plan_.to.first
                                    : source.name.first.next(entries->front().sequence_offset)));
  }
  return copy_records(source, **opened, *entries, std::min(count, kEntriesAtOnce));
}

Status SegmentCopier::copy_records(const CopySource& source, OpenSegment& from,
                                   const std::vector<IndexEntry>& entries, std::size_t count) {
  const std::uint32_t base = ordinal_;
  const auto end_of = [&](std::size_t i) -> std::uint64_t {
    return i + 1 < entries.size() ? entries[i + 1].data_offset : source.records_end;
  };
  const auto bytes_of = [&](std::size_t i) { return end_of(i) - entries[i].data_offset; };
  std::uint64_t taken = bytes_of(0);
  full_ = segment_->messages() > 0 && !fits(taken);
  if (full_) return {};
  const std::uint64_t begin = entries[0].data_offset / SegmentFiles::kBlock * SegmentFiles::kBlock;
  std::vector<std::size_t> wanted{0};
  std::uint64_t end = end_of(0);
  ordinal_ = next_valid(source, base + 1);
  for (; ordinal_ - base < count; ordinal_ = next_valid(source, ordinal_ + 1)) {
    const std::size_t i = ordinal_ - base;
    if (end_of(i) - begin > kPieceBytes || entries[i].data_offset - end > kGapBytes) break;
    taken += bytes_of(i);
    full_ = !fits(taken);
    if (full_) break;
    wanted.push_back(i);
    end = end_of(i);
  }
  for (const std::size_t i : wanted) {
    if (entries[i].data_offset < begin || end_of(i) <= entries[i].data_offset ||
        end_of(i) > source.records_end) {
      return Status(Code::kCorruption, from.index->path() + ": entry " + std::to_string(base + i) +
                                           " names a place beyond the data's end");
    }
  }
  piece_.clear();
  piece_.resize(static_cast<std::size_t>(end - begin));
  piece_.pad();
  auto read = from.data->read(begin, piece_.data(), piece_.size());
  if (!read.is_ok()) return read.status();
  // What a damaged file lacks is zeros in the copy: no record either.
  if (*read < piece_.size()) std::memset(piece_.data() + *read, 0, piece_.size() - *read);
  for (const std::size_t i : wanted) {
    const std::uint64_t at = entries[i].data_offset - begin;
    add_record(source, entries[i],
               piece_.view().substr(static_cast<std::size_t>(at),
                                    static_cast<std::size_t>(end_of(i) - begin - at)));
  }
  if (!damaged_.empty()) reader_.quarantine().set_aside(damaged_);
  damaged_.clear();
  return chunk_.size() >= kPieceBytes ? write_chunk(false) : Status();
}

void SegmentCopier::add_record(const CopySource& source, const IndexEntry& entry,
                               std::string_view bytes) {
  const QueueId queue = plan_.queue->id;
  const Sequence sequence = source.name.first.next(entry.sequence_offset);
  const auto record = MessageRecord::decode(bytes, queue);
  const bool sound =
      record && record->sequence == sequence && record->body_bytes == entry.body_bytes &&
      record->record_bytes() == bytes.size() &&
      MessageRecord::checksum_payload(record->payload(bytes), queue) == record->payload_checksum;
  if (!sound) {
    damaged_.push_back({plan_.queue->shard, queue, plan_.queue_name, sequence,
                        reader_.quarantine().below_root(plan_.queue->data_path(source.name)),
                        entry.data_offset, std::string(bytes)});
  }
  IndexEntry copied;
  copied.sequence_offset = static_cast<std::uint32_t>(sequence.value - segment_->first.value);
  copied.data_offset = static_cast<std::uint32_t>(chunk_offset_ + chunk_.size());
  copied.body_bytes = entry.body_bytes;
  copied.arrived_ms = entry.arrived_ms;
  copied.expiration_ms = entry.expiration_ms;
  chunk_.append(bytes);
  entries_.push_back(copied);
  segment_->append_recovered(sequence, copied);
}

Status SegmentCopier::write_chunk(bool last) {
  const std::size_t whole = chunk_.size() / SegmentFiles::kBlock * SegmentFiles::kBlock;
  const std::size_t left = last ? 0 : chunk_.size() - whole;
  if (last) chunk_.pad();
  const std::string_view bytes = chunk_.view().substr(0, chunk_.size() - left);
  if (const Status written = data_->write(chunk_offset_, std::span(&bytes, 1)); !written.is_ok()) {
    return written;
  }
  chunk_offset_ += bytes.size();
  std::memmove(chunk_.data(), chunk_.data() + bytes.size(), left);
  chunk_.resize(left);
  return {};
}

Status SegmentCopier::sync(File& file) {
  Status status = file.sync();
  if (!status.is_ok()) context_.fatal(status);
  return status;
}

Status SegmentCopier::finish_segment() {
  Segment& segment = *segment_;
  SEGUE_CHECK(segment.messages() > 0);
  const std::uint64_t records_end = chunk_offset_ + chunk_.size();
  SegmentFooter{plan_.queue->id,    segment.messages(), records_end,
                segment.body_bytes, segment.first,      segment.last()}
      .encode(chunk_.extend(SegmentFooter::kSize));
  SEGUE_RETURN_IF_ERROR(write_chunk(true));
  segment.data_bytes = records_end + SegmentFooter::kSize;
  if (!end_) SEGUE_RETURN_IF_ERROR(write_header(segment.last()));
  SEGUE_RETURN_IF_ERROR(data_->truncate(segment.data_bytes));
  SEGUE_RETURN_IF_ERROR(sync(*data_));
  data_.reset();
  auto index = context_.files.open(path(segment.name(), ".index"), OpenMode::kReadWrite);
  if (!index.is_ok()) return index.status();
  SEGUE_RETURN_IF_ERROR((*index)->truncate(0));
  SEGUE_RETURN_IF_ERROR(write_index(**index, plan_.queue->id, segment.first, entries_));
  SEGUE_RETURN_IF_ERROR(sync(**index));
  segment.written_end = records_end;
  segment.state = SegmentState::kSealed;
  segment.changed = false;
  done_bytes_ += chunk_offset_ + chunk_.size();
  chunk_offset_ = 0;
  chunk_.clear();
  entries_.clear();
  full_ = false;
  segments_.push_back(std::move(segment_));
  return {};
}

// Where a piece ends is known at its end only.
Status SegmentCopier::write_header(Sequence replaced_last) {
  piece_.clear();
  piece_.resize(SegmentFiles::kBlock);
  auto read = data_->read(0, piece_.data(), piece_.size());
  if (!read.is_ok()) return read.status();
  SEGUE_CHECK(*read == piece_.size());
  SegmentHeader{plan_.queue->id, segment_->first, segment_->first, replaced_last, timed_}.encode(
      piece_.data());
  const std::string_view bytes = piece_.view();
  return data_->write(0, std::span(&bytes, 1));
}

Status SegmentCopier::finish() {
  SEGUE_CHECK(!segments_.empty());
  // From here on they stand for the sources, once one of these is gone.
  for (const auto& segment : segments_) {
    const Status renamed =
        context_.files.rename(path(segment->name(), kUnfinished), path(segment->name(), ".data"));
    // Some would have their names, and some not.
    if (!renamed.is_ok() && named_) context_.fatal(renamed);
    SEGUE_RETURN_IF_ERROR(renamed);
    named_ = true;
  }
  if (Status named = context_.files.sync_directory(plan_.queue->directory); !named.is_ok()) {
    context_.fatal(named);
    return named;
  }
  // Given back here: megabytes, for which the reactor would have to wait.
  chunk_.shrink(0);
  piece_.shrink(0);
  entries_ = {};
  return {};
}

void SegmentCopier::remove_files() {
  std::vector<SegmentName> names;
  for (const auto& segment : segments_) names.push_back(segment->name());
  if (segment_ != nullptr) names.push_back(segment_->name());
  for (const SegmentName name : names) {
    for (const char* extension : {kUnfinished, ".index"}) {
      if (const Status status = context_.files.remove(path(name, extension)); !status.is_ok()) {
        context_.log.warn("segment_file_not_removed",
                          {{"path", path(name, extension)}, {"reason", status}});
      }
    }
  }
}

}  // namespace segue::storage
