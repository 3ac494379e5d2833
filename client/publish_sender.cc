#include "client/publish_sender.h"

#include <algorithm>
#include <limits>

#include "client/convert.h"
#include "client/frame_writer.h"
#include "common/check.h"

namespace segue::client {

namespace {

// With fewer batches under way a message goes out at once; with more it waits for company, but not
// longer than this.
constexpr std::size_t kEagerBatches = 4;
constexpr Duration kLongestWait = std::chrono::milliseconds(1);
// What a message costs of the credit beside its body.
constexpr std::uint64_t kMessageCost = 64;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void PublishSender::begin_session(const v1::HelloOk& limits) {
  in_session_ = true;
  granted_ = limits.publish_credit();
  spent_ = 0;
  outstanding_ = 0;
  max_outstanding_ = limits.max_unconfirmed() == 0 ? kUnlimited : limits.max_unconfirmed();
  max_frame_bytes_ = limits.max_frame_bytes() == 0 ? kUnlimited : limits.max_frame_bytes();
  max_message_bytes_ = std::min(
      limits.max_message_bytes() == 0 ? kUnlimited : limits.max_message_bytes(), max_frame_bytes_);
  window_.set_max_message_bytes(max_message_bytes_);
  send_from_ = 0;
  for (auto& [seq, batch] : batches_) batch->mark_unsent();
}

void PublishSender::grant(std::uint64_t total_bytes) {
  granted_ = std::max(granted_, total_bytes);
}

std::uint64_t PublishSender::settled_below() const {
  return batches_.empty() ? next_unseen_seq_ : batches_.begin()->second->first_unsettled();
}

void PublishSender::turn(TimePoint now, LinkWriter& writer) {
  deadline_.reset();
  if (!in_session_) return;
  take_batches(now);
  for (auto at = batches_.lower_bound(send_from_); at != batches_.end() && writer.fine();) {
    PublishBatch& batch = *at->second;
    ++at;  // the batch may be settled, and gone, when a message is too large for this router
    const std::uint64_t next = batch.last_seq() + 1;
    if (!send_batch(batch, writer)) break;
    send_from_ = next;
  }
  hold_publishers(now);
}

void PublishSender::take_batches(TimePoint now) {
  const bool waited = open_since_ && now - *open_since_ >= kLongestWait;
  std::vector<std::unique_ptr<PublishBatch>> taken;
  const bool left = window_.take(waited || batches_.size() < kEagerBatches, taken);
  if (!left || !taken.empty()) open_since_.reset();
  if (left && !open_since_) open_since_ = now;
  if (open_since_) deadline_ = *open_since_ + kLongestWait;
  for (auto& batch : taken) {
    next_unseen_seq_ = batch->last_seq() + 1;
    batches_.emplace_hint(batches_.end(), batch->first_seq(), std::move(batch));
  }
}

void PublishSender::hold_publishers(TimePoint now) {
  if (!window_.publishers_held()) {
    held_since_.reset();
    return;
  }
  if (!held_since_) held_since_ = now;
  if (now - *held_since_ >= kLongestWait) {
    window_.wake_publishers();
    held_since_.reset();
    return;
  }
  const TimePoint due = *held_since_ + kLongestWait;
  deadline_ = deadline_ ? std::min(*deadline_, due) : due;
}

bool PublishSender::send_batch(PublishBatch& batch, LinkWriter& writer) {
  while (writer.fine()) {
    const Run unsent = batch.next_unsent();
    if (unsent.count == 0) return true;
    if (too_large(batch, unsent.begin)) {
      const bool last = batch.unsettled() == 1;
      reject_too_large(batch, unsent.begin);
      if (last) return true;  // the batch is gone
      continue;
    }
    const Run run = within_limits(batch, unsent);
    if (run.count == 0) return false;
    spent_ += batch.body_bytes(run) + run.count * kMessageCost;
    outstanding_ += run.count;
    sent_through_ = std::max(sent_through_, batch.first_seq() + run.begin + run.count - 1);
    batch.mark_sent(run.begin + run.count);
    writer.send_publish(settled_below(), batch, run);
  }
  return false;
}

bool PublishSender::fits(const PublishBatch& batch, Run run) const {
  const std::uint64_t bytes = batch.body_bytes(run);
  const std::uint64_t cost = bytes + run.count * kMessageCost;
  return granted_ >= spent_ && cost <= granted_ - spent_ &&
         outstanding_ + run.count <= max_outstanding_ && bytes <= max_frame_bytes_ &&
         publish_frame_bound(batch, run.count) <= max_frame_bytes_;
}

PublishSender::Run PublishSender::within_limits(const PublishBatch& batch, Run run) const {
  // A larger message than this router takes ends the run; it is dealt with alone.
  if (max_message_bytes_ < batch.body_bytes()) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      if (batch.body_size(run.begin + i) > max_message_bytes_) {
        run.count = i;
        break;
      }
    }
  }
  if (fits(batch, run)) return run;
  // The longest run that fits.
  std::uint32_t fitting = 0;
  std::uint32_t beyond = run.count;
  while (beyond - fitting > 1) {
    const std::uint32_t middle = fitting + (beyond - fitting) / 2;
    (fits(batch, {run.begin, middle}) ? fitting : beyond) = middle;
  }
  return {run.begin, fitting};
}

bool PublishSender::too_large(const PublishBatch& batch, std::uint32_t message) const {
  return batch.body_size(message) > max_message_bytes_ ||
         publish_frame_bound(batch, 1) > max_frame_bytes_;
}

void PublishSender::reject_too_large(PublishBatch& batch, std::uint32_t message) {
  const std::uint64_t seq = batch.first_seq() + message;
  const Error error{ErrorCode::kContentTooLarge,
                    {},
                    "message " + std::to_string(seq) + " has a body of " +
                        std::to_string(batch.body_size(message)) + " bytes and headers of " +
                        std::to_string(batch.header_bytes()) + ", this router takes " +
                        std::to_string(max_message_bytes_) + " at most"};
  Settlement settlement;
  std::vector<SeqRange> newly;
  settle_in(batch, {seq, seq}, newly, settlement);
  for (const SeqRange& range : newly) settlement.rejected.push_back({range, error, {}});
  settlement.settled_below = settled_below();
  window_.settle(settlement);
}

void PublishSender::settle_in(PublishBatch& batch, SeqRange range, std::vector<SeqRange>& newly,
                              Settlement& settlement) {
  const std::size_t before = newly.size();
  batch.settle(range.first, range.last, newly);
  for (std::size_t i = before; i < newly.size(); ++i) {
    const auto begin = static_cast<std::uint32_t>(newly[i].first - batch.first_seq());
    const auto count = static_cast<std::uint32_t>(newly[i].count());
    settlement.bytes += batch.body_bytes({begin, count});
    const std::uint32_t sent = std::min(begin + count, batch.sent());
    if (sent > begin) outstanding_ -= std::min<std::uint64_t>(outstanding_, sent - begin);
  }
  if (batch.unsettled() == 0) batches_.erase(batch.first_seq());
}

void PublishSender::settle_range(std::uint64_t first, std::uint64_t last,
                                 std::vector<SeqRange>& newly, Settlement& settlement) {
  // Nothing else can be meant: what was not sent cannot be confirmed.
  last = std::min(last, sent_through_);
  if (first > last) return;
  auto at = batches_.upper_bound(first);
  if (at != batches_.begin()) --at;
  while (at != batches_.end() && at->first <= last) {
    PublishBatch& batch = *at->second;
    ++at;
    const SeqRange part{std::max(first, batch.first_seq()), std::min(last, batch.last_seq())};
    if (part.first <= part.last) settle_in(batch, part, newly, settlement);
  }
}

void PublishSender::on_confirm(const v1::Confirm& confirm) {
  if (confirm.granted_bytes() != 0) grant(confirm.granted_bytes());
  Settlement settlement;
  settlement.durability = from_wire(confirm.durability());
  for (const v1::Range& range : confirm.confirmed()) {
    settle_range(range.first(), range.last(), settlement.confirmed, settlement);
  }
  if (!settlement.confirmed.empty()) {
    for (const v1::Range& range : confirm.unroutable()) {
      if (range.first() <= range.last()) {
        settlement.unroutable.push_back({range.first(), range.last()});
      }
    }
  }
  std::vector<SeqRange> newly;
  for (const v1::Rejected& rejected : confirm.rejected()) {
    newly.clear();
    settle_range(rejected.seqs().first(), rejected.seqs().last(), newly, settlement);
    for (const SeqRange& range : newly) {
      settlement.rejected.push_back(
          {range, from_wire(rejected.error()),
           std::vector<std::string>(rejected.queues().begin(), rejected.queues().end())});
    }
  }
  if (settlement.confirmed.empty() && settlement.rejected.empty()) return;
  settlement.settled_below = settled_below();
  window_.settle(settlement);
}

void PublishSender::on_return(const v1::Return& returned, const SharedBytes& body) {
  const MessageHeader header = from_wire(returned.header());
  window_.message_returned({returned.seq(), from_wire(returned.error()), header, body.view()});
}

}  // namespace segue::client
