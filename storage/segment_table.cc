#include "storage/segment_table.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "common/check.h"
#include "storage/bit_squeeze.h"

namespace segue::storage {

namespace {

// An emptied active segment below this size is kept until the next checkpoint: making files costs
// more than the space.
constexpr std::uint64_t kKeepActiveBytes = 1u << 20;
// Bounds on what one load spans, and with it the part of the index that it reads.
constexpr std::size_t kMaxLoadRanges = 1024;
constexpr std::uint32_t kMaxLoadSpan = 1u << 16;

Sequence after(Sequence sequence) {
  return sequence.value == std::numeric_limits<std::uint64_t>::max() ? sequence : sequence.next();
}

/// Of messages.
struct OrdinalRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  bool empty() const { return first == end; }
  void widen(std::uint32_t from, std::uint32_t to) {
    first = empty() ? from : std::min(first, from);
    end = std::max(end, to);
  }
};

/// The flags of `copies` are one behind the other in the words; those outside `gone_in` are all
/// set.
void share_out(std::vector<std::unique_ptr<Segment>>& copies, std::uint32_t messages,
               const std::vector<std::uint64_t>& words, const OrdinalRange& gone_in) {
  std::uint32_t begin = 0;  // of the copy's flags
  for (const auto& copy : copies) {
    const std::uint32_t end = begin + copy->messages();
    SEGUE_CHECK(end <= messages);
    const std::uint32_t from = std::max(begin, gone_in.first);
    const std::uint32_t to = std::min(end, gone_in.end);
    for (std::uint32_t at = from; at < to; ++at) {
      if ((words[at / 64] >> (at % 64) & 1) != 0) continue;
      const std::uint32_t ordinal = at - begin;
      copy->validity.clear(ordinal, ordinal + 1, [](std::uint32_t, std::uint32_t) {});
      copy->valid_body_bytes -= copy->sizes.sum(ordinal, ordinal + 1);
    }
    copy->mark_dirty(from - begin, std::max(from, to) - begin);
    begin = end;
  }
  SEGUE_CHECK(begin == messages);
}

}  // namespace

void Segment::forget_messages() {
  sequences = {};
  validity = {};
  sizes = {};
  expiry = {};
  body_bytes = valid_body_bytes = written = 0;
}

void Segment::append_recovered(Sequence sequence, const IndexEntry& entry) {
  const std::uint32_t ordinal = messages();
  sequences.append(sequence, 1);
  validity.append(1);
  sizes.append(entry.body_bytes);
  body_bytes += entry.body_bytes;
  ++written;
  timed = timed || entry.timed();
  if (entry.valid()) {
    valid_body_bytes += entry.body_bytes;
    expiry.add(entry.arrived_ms, entry.expiration_ms);
  } else {
    validity.clear(ordinal, ordinal + 1, [](std::uint32_t, std::uint32_t) {});
  }
}

void Segment::mark_dirty(std::uint32_t first_ordinal, std::uint32_t end_ordinal) {
  if (first_ordinal >= end_ordinal) return;
  if (dirty_first == dirty_end) {
    dirty_first = first_ordinal;
    dirty_end = end_ordinal;
  } else {
    dirty_first = std::min(dirty_first, first_ordinal);
    dirty_end = std::max(dirty_end, end_ordinal);
  }
  changed = true;
}

IndexFlags Segment::dirty_flags() const {
  IndexFlags flags;
  if (dirty_first >= dirty_end) return flags;
  flags.first = dirty_first / 64 * 64;
  flags.end = dirty_end;
  flags.valid = validity.bits(flags.first, flags.end);
  return flags;
}

std::size_t Segment::memory_bytes() const {
  return sizeof(*this) + sequences.memory_bytes() + validity.memory_bytes() + sizes.memory_bytes();
}

bool SegmentTable::end_active() {
  if (segments_.empty() || segments_.back()->state != SegmentState::kActive) return false;
  segments_.back()->state = SegmentState::kFull;
  segments_.back()->changed = true;
  return true;
}

Segment& SegmentTable::begin_segment(Sequence first, bool timed) {
  end_active();
  segments_.push_back(std::make_unique<Segment>());
  segments_.back()->first = first;
  segments_.back()->timed = timed;
  return *segments_.back();
}

std::uint32_t SegmentTable::take(Segment& segment, const MessageRun& run,
                                 std::uint64_t segment_bytes) {
  const std::uint64_t limit = std::min(segment_bytes, kMaxSegmentBytes) - SegmentFooter::kSize;
  const std::uint64_t range_end = segment.first.value + std::numeric_limits<std::uint32_t>::max();
  const std::size_t record_head = MessageRecord::size(run.arrived_ms != 0);
  std::uint32_t taken = 0;
  for (; taken < run.count; ++taken) {
    const std::uint32_t message = run.begin + taken;
    const std::uint32_t body = run.batch->body_size(message);
    const std::uint64_t bytes =
        record_head + run.batch->header(message).size() + std::uint64_t{body};
    const bool fits = segment.data_bytes + bytes <= limit && run.first.value + taken <= range_end;
    // An empty segment takes a message of any size.
    if (!fits && segment.data_bytes > SegmentHeader::kSize) break;
    segment.data_bytes += bytes;
    segment.body_bytes += body;
    segment.valid_body_bytes += body;
    segment.sizes.append(body);
  }
  if (taken == 0) return 0;
  segment.expiry.add(run.arrived_ms, run.least_own_expiration(run.begin, taken));
  segment.sequences.append(run.first, taken);
  segment.validity.append(taken);
  segment.changed = true;
  return taken;
}

std::vector<SegmentWrite> SegmentTable::append(const std::vector<MessageRun>& runs,
                                               std::uint64_t segment_bytes) {
  std::vector<SegmentWrite> writes;
  for (const MessageRun& run : runs) {
    SEGUE_CHECK(run.count > 0);
    for (std::uint32_t begun = 0; begun < run.count;) {
      const MessageRun rest = run.part(begun, run.count - begun);
      const bool timed = run.arrived_ms != 0;
      const bool active = !segments_.empty() && segments_.back()->state == SegmentState::kActive &&
                          (segments_.back()->timed || !timed);
      Segment& segment = active ? *segments_.back() : begin_segment(rest.first, timed);
      SegmentWrite write{segment.first, segment.messages(), segment.data_bytes, 0, 0, {},
                         segment.timed};
      const std::uint32_t taken = take(segment, rest, segment_bytes);
      if (taken == 0) {
        begin_segment(rest.first, timed);
        continue;
      }
      if (writes.empty() || writes.back().segment != segment.first) {
        writes.push_back(std::move(write));
      }
      writes.back().runs.push_back(rest.part(0, taken));
      writes.back().messages += taken;
      writes.back().records_end = segment.data_bytes;
      begun += taken;
    }
  }
  return writes;
}

SegmentPosition SegmentTable::end() const {
  if (segments_.empty()) return {};
  const Segment& last = *segments_.back();
  return {last.last(), last.first, last.state, last.data_bytes};
}

std::vector<SegmentName> SegmentTable::rollback(const SegmentPosition& position) {
  const std::uint64_t dropped = dropped_bytes_;
  auto gone = erase_if([&](const Segment& segment) { return segment.first > position.last; });
  dropped_bytes_ = dropped;  // these never came to be
  if (segments_.empty() || segments_.back()->first != position.segment) return gone;
  Segment& segment = *segments_.back();
  if (segment.state == SegmentState::kSealed) return gone;  // nothing was appended to it
  const std::uint32_t keep = segment.sequences.lower_bound(after(position.last));
  segment.body_bytes -= segment.sizes.sum(keep, segment.messages());
  for (std::uint32_t at = segment.validity.next_valid(keep); at < segment.messages();
       at = segment.validity.next_valid(at + 1)) {
    segment.valid_body_bytes -= segment.sizes.at(at);
  }
  segment.sequences.truncate(keep);
  segment.validity.truncate(keep);
  segment.sizes.truncate(keep);
  SEGUE_CHECK(segment.written <= keep);
  segment.dirty_end = std::min(segment.dirty_end, keep);
  segment.dirty_first = std::min(segment.dirty_first, segment.dirty_end);
  segment.data_bytes = position.data_bytes;
  segment.state = position.state;
  return gone;
}

void SegmentTable::set_written(Sequence first, std::uint32_t messages, std::uint64_t records_end) {
  Segment* const segment = find_exact(first);
  if (segment == nullptr || messages <= segment->written) return;
  SEGUE_CHECK(messages <= segment->messages());
  segment->written = messages;
  segment->written_end = records_end;
}

template <typename Gone>
std::vector<SegmentName> SegmentTable::erase_if(Gone gone) {
  std::vector<SegmentName> erased;
  std::erase_if(segments_, [&](const std::unique_ptr<Segment>& segment) {
    if (segment->collecting() || !gone(*segment)) return false;
    erased.push_back(segment->name());
    dropped_bytes_ += segment->disk_bytes();
    return true;
  });
  return erased;
}

std::vector<SegmentName> SegmentTable::settle(Sequence first, Sequence last) {
  if (last < first || segments_.empty()) return {};
  auto at = std::upper_bound(segments_.begin(), segments_.end(), first,
                             [](Sequence s, const auto& segment) { return s < segment->first; });
  if (at != segments_.begin()) --at;
  bool emptied = false;
  for (; at != segments_.end() && (*at)->first <= last; ++at) {
    Segment& segment = **at;
    const std::uint32_t begin = segment.sequences.lower_bound(first);
    const std::uint32_t end = segment.end_ordinal(last);
    if (begin == 0 && end == segment.messages() && segment.validity.valid() > 0) {
      // All at once: no need to add up sizes.
      segment.mark_dirty(0, end);
      segment.validity.clear(0, end, [](std::uint32_t, std::uint32_t) {});
      segment.valid_body_bytes = 0;
    } else {
      segment.validity.clear(begin, end, [&](std::uint32_t a, std::uint32_t b) {
        segment.mark_dirty(a, b);
        segment.valid_body_bytes -= segment.sizes.sum(a, b);
      });
    }
    emptied = emptied || segment.validity.valid() == 0;
  }
  if (!emptied) return {};
  return erase_if([](const Segment& segment) {
    return segment.validity.valid() == 0 &&
           (segment.state != SegmentState::kActive || segment.data_bytes >= kKeepActiveBytes);
  });
}

std::vector<SegmentName> SegmentTable::drop_consumed() {
  return erase_if([](const Segment& segment) {
    return segment.validity.valid() == 0 && segment.state != SegmentState::kActive;
  });
}

std::vector<SegmentName> SegmentTable::drop_empty() {
  return erase_if([](const Segment& segment) { return segment.validity.valid() == 0; });
}

std::vector<CopySource> SegmentTable::begin_collecting(std::size_t first, std::size_t count) {
  std::vector<CopySource> sources;
  for (std::size_t i = first; i < first + count; ++i) {
    Segment& segment = *segments_[i];
    SEGUE_CHECK(segment.state == SegmentState::kSealed && !segment.collecting());
    segment.work = count > 1 ? SegmentWork::kMerging : SegmentWork::kCompacting;
    sources.push_back({segment.name(), segment.last(), segment.messages(), segment.written_end,
                       segment.validity.bits(0, segment.messages())});
    const std::uint32_t past = segment.messages() % 64;
    if (past != 0) sources.back().valid.back() &= (1ull << past) - 1;
    sources.back().timed = segment.timed;
  }
  return sources;
}

IndexFlags SegmentTable::all_flags(SegmentName name) const {
  const Segment* const segment = find_exact(name);
  if (segment == nullptr) return {};
  return {0, segment->messages(), segment->validity.bits(0, segment->messages())};
}

void SegmentTable::end_collecting(const std::vector<CopySource>& sources) {
  for (const CopySource& source : sources) {
    if (Segment* const segment = find_exact(source.name)) segment->work = SegmentWork::kNone;
  }
}

std::vector<IndexFlags> SegmentTable::install(std::vector<std::unique_ptr<Segment>> copies,
                                              const std::vector<CopySource>& sources) {
  const auto at = std::find_if(segments_.begin(), segments_.end(), [&](const auto& segment) {
    return segment->name() == sources.front().name;
  });
  SEGUE_CHECK(segments_.end() - at >= static_cast<std::ptrdiff_t>(sources.size()));
  // Word by word: a segment has up to a million messages, and nothing else is done meanwhile.
  BitWriter left;
  OrdinalRange gone_in;  // of all copies' messages together
  std::uint64_t valid_body_bytes = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const CopySource& source = sources[i];
    const Segment& segment = *at[static_cast<std::ptrdiff_t>(i)];
    SEGUE_CHECK(segment.name() == source.name && segment.messages() == source.messages);
    const auto now = segment.validity.bits(0, segment.messages());
    for (std::size_t word = 0; word < now.size(); ++word) {
      const std::uint64_t then = source.valid[word];
      const auto copied = static_cast<std::uint32_t>(std::popcount(then));
      const std::uint64_t gone = then & ~now[word];
      if (gone != 0) gone_in.widen(left.size(), left.size() + copied);
      left.append(gone == 0 ? ~0ull : squeeze(now[word], then), copied);
    }
    valid_body_bytes += segment.valid_body_bytes;
  }
  if (copies.size() == 1) {
    SEGUE_CHECK(left.size() == copies[0]->messages());
    copies[0]->mark_dirty(gone_in.first, gone_in.end);
    if (!gone_in.empty()) copies[0]->validity.assign(left.take());
    copies[0]->valid_body_bytes = valid_body_bytes;
  } else {
    share_out(copies, left.size(), left.take(), gone_in);
  }
  std::vector<IndexFlags> flags;
  for (const auto& copy : copies) {
    flags.push_back(copy->dirty_flags());
    copy->changed = true;
  }
  const auto place = segments_.erase(at, at + static_cast<std::ptrdiff_t>(sources.size()));
  segments_.insert(place, std::make_move_iterator(copies.begin()),
                   std::make_move_iterator(copies.end()));
  return flags;
}

Segment* SegmentTable::find(Sequence sequence) const {
  const auto next =
      std::upper_bound(segments_.begin(), segments_.end(), sequence,
                       [](Sequence s, const auto& segment) { return s < segment->first; });
  return next == segments_.begin() ? nullptr : (next - 1)->get();
}

Segment* SegmentTable::find_exact(SegmentName segment) const {
  Segment* const found = find(segment.first);
  return found != nullptr && found->name() == segment ? found : nullptr;
}

bool SegmentTable::has(SegmentName segment) const {
  return find_exact(segment) != nullptr;
}

void SegmentTable::set_sealed(SegmentName name) {
  Segment* const segment = find_exact(name);
  if (segment == nullptr || segment->state != SegmentState::kFull) return;
  segment->state = SegmentState::kSealed;
  segment->data_bytes += SegmentFooter::kSize;
}

void SegmentTable::mark_changed(SegmentName name, std::uint32_t first_ordinal,
                                std::uint32_t end_ordinal) {
  Segment* const segment = find_exact(name);
  if (segment == nullptr) return;
  segment->changed = true;
  segment->mark_dirty(first_ordinal, std::min(end_ordinal, segment->messages()));
}

std::optional<SegmentLoad> SegmentTable::plan_load(Sequence from, Sequence through,
                                                   std::size_t max_bytes) const {
  auto at = std::upper_bound(segments_.begin(), segments_.end(), from,
                             [](Sequence s, const auto& segment) { return s < segment->first; });
  if (at != segments_.begin()) --at;
  for (; at != segments_.end() && (*at)->first <= through; ++at) {
    const Segment& segment = **at;
    const std::uint32_t limit = std::min(segment.written, segment.end_ordinal(through));
    std::uint32_t ordinal = segment.validity.next_valid(segment.sequences.lower_bound(from));
    if (ordinal >= limit) {
      if (segment.validity.next_valid(ordinal) < segment.messages()) return {};  // not written yet
      continue;
    }
    SegmentLoad load;
    load.segment = segment.name();
    load.messages = segment.written;
    load.records_end = segment.written_end;
    const std::uint32_t span_end = ordinal + std::min(limit - ordinal, kMaxLoadSpan);
    while (ordinal < span_end && load.ranges.size() < kMaxLoadRanges &&
           (load.ranges.empty() || load.body_bytes < max_bytes)) {
      const std::uint32_t run_end = segment.validity.valid_end(ordinal, span_end);
      std::uint32_t end = ordinal;
      do {
        load.body_bytes += segment.sizes.at(end++);
      } while (end < run_end && load.body_bytes < max_bytes);
      load.ranges.emplace_back(ordinal, end);
      ordinal = segment.validity.next_valid(end);
    }
    load.last = segment.sequences.at(load.ranges.back().second - 1);
    return load;
  }
  return {};
}

bool SegmentTable::all_valid(const SegmentLoad& load) const {
  const Segment* const segment = find_exact(load.segment);
  return segment != nullptr &&
         std::all_of(load.ranges.begin(), load.ranges.end(), [&](const auto& range) {
           return segment->validity.count_valid(range.first, range.second) ==
                  range.second - range.first;
         });
}

std::optional<Sequence> SegmentTable::next_valid(Sequence from) const {
  auto at = std::upper_bound(segments_.begin(), segments_.end(), from,
                             [](Sequence s, const auto& segment) { return s < segment->first; });
  if (at != segments_.begin()) --at;
  for (; at != segments_.end(); ++at) {
    const Segment& segment = **at;
    const std::uint32_t ordinal = segment.validity.next_valid(segment.sequences.lower_bound(from));
    if (ordinal < segment.messages()) return segment.sequences.at(ordinal);
  }
  return {};
}

std::optional<NumberRange> SegmentTable::valid_run(Sequence from, Sequence through) const {
  const auto first = next_valid(from);
  if (!first || *first > through) return {};
  const Segment& segment = *find(*first);
  const std::uint32_t at = segment.sequences.lower_bound(*first);
  const std::uint32_t limit =
      segment.validity.valid_end(at, std::max(at + 1, segment.end_ordinal(through)));
  const std::uint32_t count = segment.sequences.run_end(at, limit) - at;
  return NumberRange{first->value, first->value + count - 1};
}

std::uint64_t SegmentTable::body_bytes(Sequence first, Sequence last) const {
  std::uint64_t sum = 0;
  auto at = std::upper_bound(segments_.begin(), segments_.end(), first,
                             [](Sequence s, const auto& segment) { return s < segment->first; });
  if (at != segments_.begin()) --at;
  for (; at != segments_.end() && (*at)->first <= last; ++at) {
    const Segment& segment = **at;
    const std::uint32_t begin = segment.sequences.lower_bound(first);
    const std::uint32_t end = segment.end_ordinal(last);
    if (begin == 0 && end == segment.messages()) {
      sum += segment.valid_body_bytes;
      continue;
    }
    for (std::uint32_t ordinal = begin; ordinal < end;) {
      ordinal = segment.validity.next_valid(ordinal, end);
      const std::uint32_t run_end = segment.validity.valid_end(ordinal, end);
      sum += segment.sizes.sum(ordinal, run_end);
      ordinal = run_end;
    }
  }
  return sum;
}

std::uint64_t SegmentTable::messages() const {
  std::uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment->validity.valid();
  return sum;
}

std::uint64_t SegmentTable::body_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment->valid_body_bytes;
  return sum;
}

std::uint64_t SegmentTable::disk_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment->disk_bytes();
  return sum;
}

std::uint64_t SegmentTable::total_messages() const {
  std::uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment->messages();
  return sum;
}

std::size_t SegmentTable::memory_bytes() const {
  std::size_t bytes = sizeof(*this) + segments_.capacity() * sizeof(segments_[0]);
  for (const auto& segment : segments_) bytes += segment->memory_bytes();
  return bytes;
}

}  // namespace segue::storage
