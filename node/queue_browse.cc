#include "node/queue_browse.h"

#include <algorithm>
#include <string>
#include <utility>

#include "node/status_error.h"

namespace segue::node {

namespace {

constexpr std::uint64_t kUsualBytes = 1u << 20;
constexpr std::uint64_t kMostBytes = 8u << 20;
/// What a message counts beside its header and body.
constexpr std::uint64_t kMessageBytes = 64;
/// A place in a queue with priorities: how many lanes are before, and the sequence in its lane.
constexpr int kLanesShift = 48;
constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << kLanesShift) - 1;

/// The beginning of the runs, of about `max_bytes`: at least one message.
std::vector<MessageRun> beginning(const std::vector<MessageRun>& runs, std::uint64_t max_bytes) {
  std::vector<MessageRun> kept;
  std::uint64_t bytes = 0;
  for (const MessageRun& run : runs) {
    std::uint32_t count = 0;
    while (count < run.count && bytes < max_bytes) {
      const std::uint32_t place = run.begin + count++;
      bytes += kMessageBytes + run.batch->body_size(place) + run.batch->header(place).size();
    }
    if (count > 0) kept.push_back(run.part(0, count));
    if (count < run.count) break;
  }
  return kept;
}

/// Without those that have expired, and those that are on their way to a dead-letter exchange.
std::vector<MessageRun> shown(const Queue& queue, const std::vector<MessageRun>& runs,
                              std::int64_t now_ms) {
  return queue.without_dead(queue.without_expired(runs, now_ms));
}

}  // namespace

void QueueBrowse::on_browse(PeerId peer, std::uint64_t request_id, const HostedQueue& hosted,
                            const v1::Browse& browse) {
  const std::uint64_t wanted = browse.max_bytes() == 0 ? kUsualBytes : browse.max_bytes();
  Page page{peer, request_id, hosted.queue.id(), Sequence{browse.after() & kSequenceMask},
            std::min(wanted, kMostBytes)};
  if (browse.delayed()) {
    if (hosted.delay_lane == nullptr) return send(page, {}, browse.after(), false);
    page.queue = hosted.delay_lane->queue.id();
    return read(page, hosted.delay_lane->queue);
  }
  const std::uint64_t lanes = hosted.settings.max_priority;
  for (std::uint64_t before = browse.after() >> kLanesShift; before <= lanes; ++before) {
    page.queue = lane_id(hosted.queue.id(), static_cast<std::uint8_t>(lanes - before));
    page.lanes_before = before;
    page.lanes_behind = before < lanes;
    if (const HostedQueue* lane = queues_.find(page.queue)) return read(page, lane->queue);
    page.after = Sequence{0};
  }
  send(page, {}, browse.after(), false);
}

void QueueBrowse::read(const Page& page, const Queue& queue) {
  const Sequence written = queue.written_through();
  if (page.after >= written) return read_memory(page, queue);
  disk_.load(page.queue, page.after.next(), written, page.max_bytes,
             [this, page, written](const Result<storage::LoadedMessages>& result) {
               loaded(page, written, result);
             });
}

void QueueBrowse::loaded(Page page, Sequence wanted,
                         const Result<storage::LoadedMessages>& result) {
  const HostedQueue* const hosted = queues_.find(page.queue);
  if (hosted == nullptr) return fail(page, Status(Code::kNotFound, "the queue was deleted"));
  if (!result.is_ok()) return fail(page, result.status());
  const Sequence through = std::min(result->scanned_through, wanted);
  const auto runs = shown(hosted->queue, result->runs, clock_.wall_ms);
  if (!runs.empty()) return answer(page, runs, through, hosted->queue, result->corrupt);
  page.corrupt += result->corrupt.size();
  // Nothing is left there: at most once for each part of the queue, since `after` rises.
  if (through <= page.after) {
    return fail(page, Status(Code::kInternalError,
                             "the queue's files have no message above number " +
                                 std::to_string(page.after.value) + ", though they should"));
  }
  page.after = through;
  read(page, hosted->queue);
}

void QueueBrowse::read_memory(const Page& page, const Queue& queue) {
  std::vector<MessageRun> runs;
  Sequence through = page.after;
  // Once for each part of what is in memory, until one has messages to show.
  do {
    runs.clear();
    through = std::max(through, queue.collect(through, page.max_bytes, runs));
    runs = shown(queue, runs, clock_.wall_ms);
  } while (runs.empty() && through < queue.applied_through());
  answer(page, runs, through, queue);
}

void QueueBrowse::answer(Page page, const std::vector<MessageRun>& runs, Sequence through,
                         const Queue& queue, const std::vector<Sequence>& corrupt) {
  const std::vector<MessageRun> kept = beginning(runs, page.max_bytes);
  // The place of the last message, so that its reader can name it.
  if (!kept.empty()) through = kept.back().last();
  // Those behind it count when the reader comes there.
  page.corrupt += static_cast<std::uint64_t>(
      std::count_if(corrupt.begin(), corrupt.end(), [&](Sequence at) { return at <= through; }));
  const bool more_here = through < queue.applied_through();
  const std::uint64_t place = kept.empty() && page.lanes_behind && !more_here
                                  ? (page.lanes_before + 1) << kLanesShift
                                  : page.lanes_before << kLanesShift | through.value;
  send(page, kept, place, more_here || page.lanes_behind);
}

void QueueBrowse::send(const Page& page, const std::vector<MessageRun>& runs, std::uint64_t through,
                       bool more) {
  v1::QueueReply reply;
  reply.set_request_id(page.request_id);
  v1::BrowseOk& browsed = *reply.mutable_browse();
  browsed.set_through(through);
  browsed.set_more(more);
  browsed.set_corrupt(page.corrupt);
  std::vector<SharedBytes> bodies;
  if (!runs.empty()) {
    MessageBatchBuilder builder;
    for (const MessageRun& run : runs) builder.add(run.batch, run.begin, run.count);
    MessageBatchBuilder::Built built = builder.take();
    reply.mutable_delivery()->set_batch(std::move(built.batch));
    reply.mutable_delivery()->set_body_bytes(built.body_bytes);
    bodies = std::move(built.bodies);
  }
  output_.queue_reply(page.peer, std::move(reply), std::move(bodies));
}

void QueueBrowse::fail(const Page& page, const Status& status) {
  v1::QueueReply reply;
  reply.set_request_id(page.request_id);
  *reply.mutable_error() = status_error(status, std::to_string(page.queue.value));
  output_.queue_reply(page.peer, std::move(reply), {});
}

}  // namespace segue::node
