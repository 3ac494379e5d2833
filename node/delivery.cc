#include "node/delivery.h"

#include <algorithm>
#include <utility>

#include "node/delivery_bounds.h"

namespace segue::node {

namespace {

// What one turn gives out at most, of all queues.
constexpr std::uint64_t kTurnMessages = 32768;
constexpr std::uint64_t kTurnBytes = 16 << 20;

/// Consumers alternate after so many messages at the latest.
constexpr std::uint64_t kSlice = 32;

/// More frames than this are not kept open at once: those that are full of turns are sent.
constexpr std::size_t kOpenFrames = 64;

}  // namespace

void Delivery::end_turn() {
  turn_messages_ = 0;
  turn_bytes_ = 0;
  std::vector<HostedQueue*> served;
  for (HostedQueue* hosted : queues_.ready().take_all()) {
    if (turn_messages_ >= kTurnMessages || turn_bytes_ >= kTurnBytes) {
      queues_.ready().add(*hosted);  // first in the next turn
    } else if (serve(*hosted)) {
      served.push_back(hosted);
    }
  }
  for (HostedQueue* hosted : served) queues_.ready().add(*hosted);
}

bool Delivery::serve(HostedQueue& hosted) {
  queue_messages_ = 0;
  queue_bytes_ = 0;
  bool more = gets_.serve(hosted);
  slice_ = slice_for(hosted);
  if (hosted.groups) {
    more = more && serve_groups(hosted);
  } else {
    while (more && has_room()) {
      more = hosted.readers && hosted.readers->ring.front() != nullptr && serve_slice(hosted);
    }
  }
  send_frames();
  HostedQueue& lane = hosted.front_lane();
  if (queue_messages_ > 0) shards_.of(lane).propose_mark(lane);
  if (hosted.has_takers()) read_ahead_.consider(lane);
  turn_messages_ += queue_messages_;
  turn_bytes_ += queue_bytes_;
  return more;
}

bool Delivery::has_room() const {
  return queue_messages_ < kQueueMessages && queue_bytes_ < kQueueBytes;
}

std::uint64_t Delivery::slice_for(HostedQueue& hosted) {
  const std::uint64_t group = hosted.readers ? hosted.readers->ring.front_group_size() : 0;
  if (group <= 1) return kQueueMessages;
  // A few messages are spread over all of them.
  const std::uint64_t ready = hosted.front_lane().queue.ready();
  return std::clamp<std::uint64_t>((ready + group - 1) / group, 1, kSlice);
}

bool Delivery::serve_slice(HostedQueue& hosted) {
  ConsumerRing& ring = hosted.readers->ring;
  Consumer& consumer = *ring.front();
  HostedQueue& lane = hosted.front_lane();
  const std::uint64_t most = std::min(slice_, kQueueMessages - queue_messages_);
  Queue::Next next = shards_.of(lane).next(lane, static_cast<std::uint32_t>(most));
  if (next.wait == Queue::Wait::kMark) shards_.of(lane).propose_mark(lane);
  // Of a lane that turned out to be empty the next one takes the place.
  if (next.wait == Queue::Wait::kEmpty && &lane != &hosted) return true;
  if (next.wait != Queue::Wait::kNothing) return false;
  const std::uint64_t room = kQueueBytes - queue_bytes_;
  next.run.count = std::max(1u, messages_within(next.run, next.run.count, room));
  const std::uint32_t admitted = consumer.admits(next.run);
  if (admitted > 0) {
    give(lane, consumer, next.run.part(0, admitted));
    ring.rotate();
  }
  // What comes next is too large for its credit, or the credit is used up.
  if (admitted < next.run.count || !consumer.has_credit()) no_more(hosted, consumer);
  return true;
}

void Delivery::no_more(HostedQueue& hosted, Consumer& consumer) {
  hosted.readers->ring.withdraw(consumer);
  consumer.wait_for_room();
  slice_ = slice_for(hosted);
}

void Delivery::give(HostedQueue& hosted, Consumer& consumer, const MessageRun& run) {
  Queue& queue = hosted.queue;
  const std::uint64_t number = consumer.deliver(queue.id(), run, !consumer.no_ack());
  frame_of(consumer).add(number, queue, run);
  queue.take(run);
  queue_messages_ += run.count;
  queue_bytes_ += run.body_bytes();
  if (!consumer.no_ack()) {
    subscriptions_.lease(consumer, hosted, {number, number + run.count - 1});
  } else {
    queue.end_unacked(run.count);
    queue.count_settled(run.count);
    shards_.of(hosted).depart(hosted, {run.first.value, run.last().value}, Departure::kAcked);
  }
}

DeliveryFrame& Delivery::frame_of(Consumer& consumer) {
  for (std::size_t i = 0; i < open_count_; ++i) {
    if (open_[i].consumer == &consumer) return open_[i].frame;
  }
  if (open_count_ == kOpenFrames) send_frames();
  if (open_count_ == open_.size()) open_.emplace_back();
  Open& open = open_[open_count_++];
  open.consumer = &consumer;
  return open.frame;
}

void Delivery::send_frames() {
  for (std::size_t i = 0; i < open_count_; ++i) {
    Open& open = open_[i];
    DeliveryFrame::Built built = open.frame.take(*open.consumer);
    output_.deliver(open.consumer->peer(), std::move(built.delivery), std::move(built.bodies));
  }
  open_count_ = 0;
}

}  // namespace segue::node
