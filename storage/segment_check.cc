#include "storage/segment_check.h"
#include "common/counted.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace segue::storage {

namespace {

constexpr std::uint32_t kEntriesAtOnce = 1u << 16;
/// What a disk writes as a whole: a loss of power leaves old or new.
constexpr std::uint64_t kSector = 512;

}  // namespace

const char* IndexCursor::raw(std::uint32_t ordinal) {
  if (index_ == nullptr || ordinal >= count_) return nullptr;
  const auto in_window = [&]() -> const char* {
    if (ordinal < window_first_) return nullptr;
    const std::uint64_t at = (ordinal - window_first_) * IndexEntry::size(timed_);
    return at + IndexEntry::size(timed_) <= window_.size() ? window_.data() + at : nullptr;
  };
  if (const char* const found = in_window()) return found;
  window_first_ = ordinal;
  window_.resize(std::min(kEntriesAtOnce, count_ - ordinal) * IndexEntry::size(timed_));
  const auto read =
      index_->read(IndexEntry::place(ordinal, timed_), window_.data(), window_.size());
  window_.resize(read.is_ok() ? *read : 0);
  return in_window();
}

std::optional<IndexEntry> IndexCursor::entry(std::uint32_t ordinal) {
  const char* const bytes = raw(ordinal);
  if (bytes == nullptr) return {};
  return IndexEntry::decode(bytes, segment_, timed_);
}

SegmentCheck::SegmentCheck(FileSystem& files, CheckReport& report, const Queue& queue,
                           const CheckpointSegment& named, DamagedMessages& damaged)
    : files_(files),
      report_(report),
      queue_(queue),
      named_(named),
      damaged_(damaged),
      data_path_(queue.directory + "/" + segment_file_name(named.name(), ".data")),
      index_path_(queue.directory + "/" + segment_file_name(named.name(), ".index")),
      records_end_(named.data_bytes - (named.sealed ? SegmentFooter::kSize : 0)),
      least_(named.first.value) {}

CheckFinding SegmentCheck::in_data(std::uint64_t offset, std::string what) const {
  return {CheckFinding::Kind::kProblem, data_path_, offset, queue_.name, {}, 0, std::move(what)};
}

CheckFinding SegmentCheck::in_index(std::uint64_t offset, std::string what) const {
  return {CheckFinding::Kind::kProblem, index_path_, offset, queue_.name, {}, 0, std::move(what)};
}

void SegmentCheck::run() {
  if (const Status opened = open(); !opened.is_ok()) return report_.problem(data_path_, opened);
  scanner_ = std::make_unique<SegmentScanner>(*data_, std::min(data_bytes_, named_.data_bytes));
  entries_ =
      std::make_unique<IndexCursor>(index_.get(), named_.first, named_.messages, index_timed_);
  check_index_header();
  check_data_header();
  check_records();
  check_flags();
  check_footer();
  check_sizes();
  report_.messages(good_);
}

Status SegmentCheck::open() {
  auto data = open_to_check(files_, data_path_);
  if (!data.is_ok()) return data.status();
  data_ = std::move(*data);
  auto size = data_->size();
  if (!size.is_ok()) return size.status();
  data_bytes_ = *size;
  report_.file();
  auto index = files_.open(index_path_, OpenMode::kRead);
  if (!index.is_ok()) {
    CheckFinding finding = in_index(0,
                                    "is missing: the next start makes it again from the .data "
                                    "file, unless settled messages would come back by that: "
                                    "then it is refused");
    if (files_.exists(index_path_)) finding.what = index.status().message();
    finding.messages = named_.messages;
    report_.add(std::move(finding));
    return {};
  }
  index_ = std::move(*index);
  auto index_size = index_->size();
  if (!index_size.is_ok()) return index_size.status();
  index_bytes_ = *index_size;
  report_.file();
  // A header that is damaged is told of later.
  const auto timed = index_is_timed(*index_);
  index_timed_ = timed.is_ok() && *timed;
  report_.bytes(std::min(index_bytes_, IndexEntry::place(named_.messages, index_timed_)));
  return {};
}

void SegmentCheck::check_index_header() {
  if (index_ == nullptr) return;
  const std::uint64_t expected = IndexEntry::place(named_.messages, index_timed_);
  if (index_bytes_ < expected) {
    report_.add(in_index(index_bytes_, "is cut short: the checkpoint names " +
                                           counted(named_.messages, "message") + ", " +
                                           std::to_string(expected) + " bytes"));
  }
  std::string bytes(IndexHeader::kSize, '\0');
  const auto read = index_->read(0, bytes.data(), bytes.size());
  if (!read.is_ok()) return report_.problem(index_path_, read.status());
  bytes.resize(*read);
  const auto header = IndexHeader::decode(bytes);
  if (!header.is_ok()) {
    report_.add(in_index(0, header.status().message()));
  } else if (*header != IndexHeader{queue_.id, named_.first, index_timed_}) {
    report_.add(in_index(16, "names another queue or segment"));
  }
}

void SegmentCheck::check_data_header() {
  auto bytes = scanner_->bytes(0, SegmentHeader::kSize);
  if (!bytes.is_ok()) return report_.problem(data_path_, bytes.status());
  const auto header = SegmentHeader::decode(*bytes);
  if (!header.is_ok()) return report_.add(in_data(0, header.status().message()));
  if (header->queue != queue_.id) {
    report_.add(
        in_data(16, "the segment's header names queue " + std::to_string(header->queue.value)));
  }
  if (header->first != named_.first) {
    report_.add(in_data(24, "the segment's header names another first sequence, " +
                                std::to_string(header->first.value)));
  }
}

void SegmentCheck::check_records() {
  const std::uint64_t end = std::min(records_end_, data_bytes_);
  while (offset_ < end && check_record()) {
  }
}

bool SegmentCheck::check_record() {
  auto head = scanner_->bytes(offset_, MessageRecord::kTimedSize);
  if (!head.is_ok()) {
    report_.problem(data_path_, head.status());
    return false;
  }
  const auto record = MessageRecord::decode(*head, queue_.id);
  const bool fits =
      record && record->sequence.value >= least_ && record->sequence <= named_.last &&
      record->sequence.value - named_.first.value <= std::numeric_limits<std::uint32_t>::max() &&
      offset_ + record->record_bytes() <= records_end_;
  if (!fits) return damaged_record();
  const std::uint64_t size = record->record_bytes();
  auto bytes = scanner_->bytes(offset_, static_cast<std::size_t>(size));
  if (!bytes.is_ok()) {
    report_.problem(data_path_, bytes.status());
    return false;
  }
  if (bytes->size() < size) return false;  // told with the file's size
  report_.bytes(size);
  IndexEntry expected;
  expected.sequence_offset =
      static_cast<std::uint32_t>(record->sequence.value - named_.first.value);
  expected.data_offset = static_cast<std::uint32_t>(offset_);
  expected.body_bytes = record->body_bytes;
  expected.arrived_ms = record->arrived_ms;
  expected.expiration_ms = record->expiration_ms;
  if (MessageRecord::checksum_payload(record->payload(*bytes), queue_.id) ==
      record->payload_checksum) {
    ++good_;
  } else {
    CheckFinding finding = in_data(offset_,
                                   "the message fails its checksum: it is left out when "
                                   "the queue is read");
    finding.sequence = record->sequence.value;
    const auto entry = entries_->entry(ordinal_);
    report_damaged(std::move(finding), entry && !entry->valid());
  }
  check_entry(expected);
  body_bytes_ += record->body_bytes;
  least_ = record->sequence.value + 1;
  offset_ += size;
  ++ordinal_;
  return true;
}

/// Goes on where the index says that the next message is; without an index, where a record is
/// found.
bool SegmentCheck::damaged_record() {
  whole_ = false;
  CheckFinding finding = in_data(offset_,
                                 "the header of a message's record is damaged: the message "
                                 "is left out when the queue is read");
  const auto entry = entries_->entry(ordinal_);
  if (entry && entry->data_offset == offset_) {
    finding.sequence = named_.first.value + entry->sequence_offset;
  }
  report_damaged(std::move(finding), entry && !entry->valid());
  if (ordinal_ + 1 == named_.messages) {
    offset_ = records_end_;
    ++ordinal_;
    return true;
  }
  const std::uint64_t from = offset_;
  if (const auto next = entries_->entry(ordinal_ + 1);
      next && next->data_offset > from && next->data_offset < records_end_) {
    offset_ = next->data_offset;
    ++ordinal_;
    return true;
  }
  for (++offset_; offset_ < scanner_->end(); ++offset_) {
    auto bytes = scanner_->bytes(offset_, MessageRecord::kTimedSize);
    if (!bytes.is_ok()) {
      report_.problem(data_path_, bytes.status());
      return false;
    }
    if (MessageRecord::decode(*bytes, queue_.id)) break;
  }
  report_.bytes(offset_ - from);
  for (++ordinal_; ordinal_ < named_.messages; ++ordinal_) {
    const auto known = entries_->entry(ordinal_);
    if (!known || known->data_offset >= offset_) break;
  }
  return true;
}

void SegmentCheck::check_entry(const IndexEntry& expected) {
  const char* const raw = entries_->raw(ordinal_);
  if (raw == nullptr) return;  // told with the index's size, or its absence
  const std::uint64_t place = IndexEntry::place(ordinal_, index_timed_);
  auto entry = IndexEntry::decode(raw, named_.first, index_timed_);
  if (entry) {
    unsettled_ += entry->valid();
    const bool known_flags = (entry->flags & ~IndexEntry::kValid) == 0;
    entry->flags = expected.flags;
    if (*entry == expected && known_flags) return;
  }
  CheckFinding finding = in_index(place, entry ? "an entry contradicts the record in the .data file"
                                               : "an entry fails its checksum: the next start "
                                                 "makes the index again");
  if (!entry && is_half_written(expected, raw)) {
    finding.kind = CheckFinding::Kind::kNote;
    finding.what =
        "an entry was being written when the power went: the next start makes the index "
        "again";
  }
  finding.sequence = named_.first.value + expected.sequence_offset;
  finding.messages = 1;
  report_.add(std::move(finding));
}

/// Flags are only ever cleared, and a checkpoint writes them before it counts.
void SegmentCheck::check_flags() {
  if (unsettled_ <= named_.valid) return;
  CheckFinding finding =
      in_index(0, "says of " + counted(unsettled_, "message") +
                      " that they are not settled, but at the checkpoint there were " +
                      std::to_string(named_.valid) +
                      ": it is an older copy, or was made anew after damage, and the others come "
                      "back");
  finding.offset.reset();
  finding.messages = unsettled_ - named_.valid;
  report_.add(std::move(finding));
}

/// Whether the entry is the beginning of one that it can have been and the end of the other, cut
/// where a sector ends.
bool SegmentCheck::is_half_written(const IndexEntry& expected, const char* raw) const {
  const std::uint64_t place = IndexEntry::place(ordinal_, index_timed_);
  const std::size_t size = IndexEntry::size(index_timed_);
  const std::uint64_t boundary = place / kSector * kSector + kSector;
  if (boundary >= place + size) return false;
  const auto cut = static_cast<std::size_t>(boundary - place);
  for (const std::uint32_t flags : {0u, IndexEntry::kValid}) {
    char begin[IndexEntry::kTimedSize];
    char end[IndexEntry::kTimedSize];
    IndexEntry entry = expected;
    entry.flags = flags;
    entry.encode(begin, named_.first, index_timed_);
    entry.flags = flags ^ IndexEntry::kValid;
    entry.encode(end, named_.first, index_timed_);
    std::memcpy(begin + cut, end + cut, size - cut);
    if (std::memcmp(begin, raw, size) == 0) return true;
  }
  return false;
}

void SegmentCheck::check_footer() {
  if (!named_.sealed || data_bytes_ < named_.data_bytes) return;
  auto bytes = scanner_->bytes(records_end_, SegmentFooter::kSize);
  if (!bytes.is_ok()) return report_.problem(data_path_, bytes.status());
  report_.bytes(bytes->size());
  const auto footer = SegmentFooter::decode(*bytes);
  if (!footer.is_ok()) return report_.add(in_data(records_end_, footer.status().message()));
  const SegmentFooter expected{queue_.id,   named_.messages, records_end_,
                               body_bytes_, named_.first,    named_.last};
  if (*footer == expected || !whole_) return;
  report_.add(in_data(records_end_, "the footer contradicts the records or the checkpoint"));
}

void SegmentCheck::report_damaged(CheckFinding finding, bool settled) {
  finding.messages = 1;
  std::optional<Sequence> sequence;
  if (finding.sequence) sequence = Sequence{*finding.sequence};
  if (sequence && damaged_.is_set_aside(queue_.id, *sequence)) {
    finding.kind = CheckFinding::Kind::kNote;
    finding.what += "; it was set aside: the file quarantine has it";
  } else if (!settled) {
    damaged_.found(queue_.id, sequence);
  }
  report_.add(std::move(finding));
}

/// The messages behind the file's end are damaged ones to a reader, and set aside as these are.
void SegmentCheck::report_cut() {
  CheckFinding finding = in_data(data_bytes_, "is cut short: the checkpoint names " +
                                                  std::to_string(named_.data_bytes) + " bytes");
  std::uint64_t set_aside = 0;
  for (std::uint32_t ordinal = ordinal_; ordinal < named_.messages; ++ordinal) {
    const auto entry = entries_->entry(ordinal);
    std::optional<Sequence> sequence;
    if (entry) sequence = named_.first.next(entry->sequence_offset);
    if (sequence && damaged_.is_set_aside(queue_.id, *sequence)) {
      ++set_aside;
      continue;
    }
    if (entry && !entry->valid()) continue;
    damaged_.found(queue_.id, sequence);
    if (finding.messages++ == 0 && sequence) finding.sequence = sequence->value;
  }
  if (finding.messages == 0 && set_aside > 0) {
    finding.kind = CheckFinding::Kind::kNote;
    finding.messages = set_aside;
    finding.what += "; what it lacks was set aside: the file quarantine names it";
  }
  report_.add(std::move(finding));
}

void SegmentCheck::check_sizes() {
  if (data_bytes_ < named_.data_bytes) return report_cut();
  if (named_.sealed && data_bytes_ > named_.data_bytes) {
    report_.add(in_data(named_.data_bytes,
                        std::to_string(data_bytes_ - named_.data_bytes) +
                            " bytes stand behind the footer, where nothing is ever written"));
  }
  const bool last_is_there = least_ == named_.last.value + 1;
  if (!whole_ || (ordinal_ == named_.messages && last_is_there)) return;
  report_.add(in_data(offset_, "has " + counted(ordinal_, "message") + " up to " +
                                   std::to_string(least_ - 1) + ", the checkpoint names " +
                                   std::to_string(named_.messages) + " up to " +
                                   std::to_string(named_.last.value)));
}

}  // namespace segue::storage
