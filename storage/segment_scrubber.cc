#include "storage/segment_scrubber.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/check_report.h"
#include "storage/segment_scanner.h"

namespace segue::storage {

namespace {

constexpr int kLooksAtOnce = 64;
constexpr std::uint32_t kEntriesAtOnce = 4096;

}  // namespace

/// A segment that is being verified. The background thread's while a slice runs, else the
/// reactor's.
class SegmentScrubber::Scan {
 public:
  Scan(SegmentContext& context, SegmentWorker& worker, ScrubSegment segment)
      : context_(context), worker_(worker), segment_(std::move(segment)) {}

  /// Verifies some more; about kSliceBytes.
  void step() {
    bytes_ = 0;
    const std::uint64_t known = worker_.quarantine.found();
    const Status status = verify();
    if (!status.is_ok()) {
      done_ = true;
      // One that was removed meanwhile is no matter.
      if (status.code() != Code::kNotFound) {
        context_.log.warn("segment_not_verified",
                          {{"path", segment_.queue->data_path(segment_.name)}, {"reason", status}});
      }
    }
    found_ = worker_.quarantine.found() - known;
  }

  bool done() const { return done_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t found() const { return found_; }
  bool index_made_anew() const { return made_anew_; }
  const ScrubSegment& segment() const { return segment_; }

 private:
  Status verify() {
    auto opened = worker_.files.open(*segment_.queue, segment_.name);
    if (!opened.is_ok()) return opened.status();
    if (data_ == nullptr) {
      auto data = open_to_check(context_.files, segment_.queue->data_path(segment_.name));
      if (!data.is_ok()) return data.status();
      data_ = std::move(*data);
      scanner_ =
          std::make_unique<SegmentScanner>(*data_, segment_.records_end + SegmentFooter::kSize);
      SEGUE_RETURN_IF_ERROR(verify_header());
    }
    // One more than is looked at: where it begins the record before it ends.
    const std::uint32_t count = std::min(kEntriesAtOnce + 1, segment_.messages - ordinal_);
    auto entries = worker_.reader.entries(*segment_.queue, **opened,
                                          {segment_.name, segment_.messages, segment_.records_end},
                                          ordinal_, count, made_anew_);
    if (!entries.is_ok()) return entries.status();
    std::vector<QuarantineRecord> damaged;
    const std::uint32_t first = ordinal_;
    const std::uint32_t end = first + std::min(kEntriesAtOnce, count);
    for (; ordinal_ < end && bytes_ < ScrubPolicy::kSliceBytes; ++ordinal_) {
      if ((segment_.valid[ordinal_ / 64] >> (ordinal_ % 64) & 1) == 0) continue;
      const std::size_t i = ordinal_ - first;
      const std::uint64_t record_end =
          i + 1 < entries->size() ? (*entries)[i + 1].data_offset : segment_.records_end;
      SEGUE_RETURN_IF_ERROR(verify((*entries)[i], record_end, damaged));
    }
    if (!damaged.empty()) worker_.quarantine.set_aside(damaged);
    done_ = ordinal_ == segment_.messages;
    return done_ ? verify_footer() : Status();
  }

  /// No message depends on it, as long as the checkpoint names the segment.
  Status verify_header() {
    auto bytes = scanner_->bytes(0, SegmentHeader::kSize);
    if (!bytes.is_ok()) return bytes.status();
    bytes_ += bytes->size();
    const auto header = SegmentHeader::decode(*bytes);
    const bool same = header.is_ok() && header->queue == segment_.queue->id &&
                      header->first == segment_.name.first;
    if (!same) tell_damaged("header", 0);
    return {};
  }

  Status verify_footer() {
    auto bytes = scanner_->bytes(segment_.records_end, SegmentFooter::kSize);
    if (!bytes.is_ok()) return bytes.status();
    bytes_ += bytes->size();
    const auto footer = SegmentFooter::decode(*bytes);
    const bool same = footer.is_ok() && footer->queue == segment_.queue->id &&
                      footer->first == segment_.name.first &&
                      footer->messages == segment_.messages &&
                      footer->records_end == segment_.records_end;
    if (!same) tell_damaged("footer", segment_.records_end);
    return {};
  }

  void tell_damaged(const char* part, std::uint64_t offset) const {
    context_.log.error("segment_damaged", {{"queue", segment_.queue_name},
                                           {"queue_id", segment_.queue->id},
                                           {"path", segment_.queue->data_path(segment_.name)},
                                           {"offset", offset},
                                           {"part", part},
                                           {"lost", "no message"}});
  }

  Status verify(const IndexEntry& entry, std::uint64_t end,
                std::vector<QuarantineRecord>& damaged) {
    const QueueId queue = segment_.queue->id;
    if (end <= entry.data_offset) {
      return Status(Code::kCorruption, "an entry of the index names a place beyond the data's end");
    }
    const auto size = static_cast<std::size_t>(end - entry.data_offset);
    auto bytes = scanner_->bytes(entry.data_offset, size);
    if (!bytes.is_ok()) return bytes.status();
    bytes_ += size;
    const Sequence sequence = segment_.name.first.next(entry.sequence_offset);
    const auto record = MessageRecord::decode(*bytes, queue);
    const bool sound =
        record && record->sequence == sequence && record->body_bytes == entry.body_bytes &&
        record->record_bytes() <= bytes->size() &&
        MessageRecord::checksum_payload(record->payload(*bytes), queue) == record->payload_checksum;
    if (!sound) {
      damaged.push_back({segment_.queue->shard, queue, segment_.queue_name, sequence,
                         worker_.quarantine.below_root(segment_.queue->data_path(segment_.name)),
                         entry.data_offset, std::string(*bytes)});
    }
    return {};
  }

  SegmentContext& context_;
  SegmentWorker& worker_;
  const ScrubSegment segment_;
  std::unique_ptr<File> data_;
  std::unique_ptr<SegmentScanner> scanner_;
  std::uint32_t ordinal_ = 0;  // all before are verified
  std::uint64_t bytes_ = 0;    // by the last step
  std::uint64_t found_ = 0;
  bool made_anew_ = false;
  bool done_ = false;
};

SegmentScrubber::SegmentScrubber(SegmentContext& context, BackgroundExecutor& executor,
                                 SegmentStore& store, const ScrubOptions& options)
    : context_(context), executor_(executor), store_(store), policy_(options) {}

SegmentScrubber::~SegmentScrubber() = default;

void SegmentScrubber::poll(TimePoint now) {
  if (stopped_ || running_ || !policy_.may_read(now)) return;
  if (scan_ == nullptr && !choose(now)) return;
  begin_slice();
}

bool SegmentScrubber::choose(TimePoint now) {
  for (int i = 0; i < kLooksAtOnce; ++i) {
    if (after_) {
      if (auto segment = store_.next_sealed(queue_.queue, *after_)) {
        after_ = segment->name.first;
        scan_ = std::make_shared<Scan>(context_, store_.worker(), std::move(*segment));
        return true;
      }
      after_.reset();
    }
    const auto next = store_.next_queue(queue_);
    if (!next) {
      queue_ = {};
      policy_.pass_ended(now);
      return false;
    }
    queue_ = *next;
    after_ = Sequence{0};
  }
  return false;
}

void SegmentScrubber::begin_slice() {
  running_ = true;
  executor_.post_idle({[scan = scan_] {
                         scan->step();
                         return true;
                       },
                       [this] {
                         running_ = false;
                         policy_.read(scan_->bytes());
                         policy_.found(scan_->found());
                         const ScrubSegment& segment = scan_->segment();
                         if (scan_->index_made_anew()) {
                           store_.index_made_anew(segment.queue, segment.name);
                         }
                         if (scan_->done()) scan_.reset();
                       }});
}

}  // namespace segue::storage
