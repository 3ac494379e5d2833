#include "node/dead_letter_forwarder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "node/dead_letter_header.h"
#include "node/producer_dedupe.h"

namespace segue::node {

namespace {

/// Bodies on their way, of one queue; a larger message goes alone.
constexpr std::uint64_t kStreamBytes = 2 << 20;
constexpr std::uint64_t kTurnLetters = 8192;
/// Of all queues, a part of the node's memory.
constexpr std::uint64_t kLeastBytes = 1 << 20;
constexpr std::uint64_t kMostBytes = 16 << 20;
constexpr std::size_t kLoadBytes = 512 << 10;
constexpr std::size_t kSmallLoadBytes = 32 << 10;
/// What a message counts beside its body.
constexpr std::uint64_t kMessageBytes = 64;

constexpr Duration kFirstPause = std::chrono::milliseconds(50);
constexpr Duration kLongestPause = std::chrono::seconds(1);
/// The catalog may be so far behind what a client knows of it: a letter is dropped only when it has
/// gone nowhere for this long.
constexpr std::int64_t kHomelessMs = 1000;
constexpr Duration kHomeless = std::chrono::milliseconds(kHomelessMs);

/// Letters of one queue in their order, whichever life of the node sends them: there is nothing for
/// a session to fence.
constexpr std::uint64_t kSession = 1;

/// What the producer ids of a queue's letters begin with; the target's number follows, so that each
/// target's memory of them is its own. Longer than any id of a client.
std::string producer_of(const Queue& queue, std::uint64_t life) {
  std::string id = "dead letters of a queue, published by the node that has it; queue number ";
  static_assert(sizeof("dead letters of a queue, published by the node that has it; ") - 1 +
                    sizeof("queue number ") - 1 >
                ProducerDedupe::kLongestClientId);
  id += std::to_string(queue.id().value);
  // A transient queue counts from 1 again after a restart.
  if (!queue.durable()) id += " in life " + std::to_string(life);
  return id + " to number ";
}

}  // namespace

DeadLetterForwarder::DeadLetterForwarder(const Options& options, storage::DiskDataCenter& disk,
                                         QueueTable& queues, ShardTable& shards,
                                         MemoryBudget& memory, const TurnClock& clock, Logger& log)
    : options_(options),
      disk_(disk),
      queues_(queues),
      shards_(shards),
      memory_(memory),
      clock_(clock),
      log_(log) {}

DeadLetterForwarder::~DeadLetterForwarder() = default;

// ---- which queues have something to do

DeadLetterStream& DeadLetterForwarder::stream_of(const HostedQueue& hosted) {
  auto& stream = streams_[hosted.queue.id()];
  if (!stream)
    stream = std::make_unique<DeadLetterStream>(producer_of(hosted.queue, options_.life));
  return *stream;
}

void DeadLetterForwarder::wake(QueueId queue, DeadLetterStream& stream) {
  if (std::exchange(stream.queued, true)) return;
  queued_.push_back(queue);
}

void DeadLetterForwarder::wake_all() {
  for (const auto& [queue, stream] : streams_) wake(queue, *stream);
}

void DeadLetterForwarder::on_tick() {
  for (auto at = streams_.begin(); at != streams_.end();) {
    DeadLetterStream& stream = *at->second;
    const HostedQueue* hosted = queues_.find(at->first);
    const bool idle = hosted == nullptr || (hosted->queue.dead().empty() && !stream.under_way());
    if (idle && !stream.queued && !stream.loading() && stream.batches() == 0) {
      at = streams_.erase(at);
      continue;
    }
    const bool waits = stream.waits && clock_.now < stream.look_again && !available(*stream.waits);
    if (!idle && !waits) wake(at->first, stream);
    ++at;
  }
}

void DeadLetterForwarder::on_reachable() {
  wake_all();
}

void DeadLetterForwarder::end_turn() {
  if (outlets_ == nullptr) return;
  for (HostedQueue* hosted : queues_.dead().take_all()) {
    wake(hosted->queue.id(), stream_of(*hosted));
  }
  turn_left_ = kTurnLetters;
  for (const QueueId id : std::exchange(queued_, {})) {
    const auto stream = streams_.find(id);
    if (stream == streams_.end()) continue;
    stream->second->queued = false;
    if (HostedQueue* hosted = queues_.find(id)) pump(*hosted, *stream->second);
  }
}

// ---- sending

std::uint64_t DeadLetterForwarder::most_bytes() const {
  return std::clamp(memory_.limit() / 16, kLeastBytes, kMostBytes);
}

bool DeadLetterForwarder::has_room(const DeadLetterStream& stream) const {
  std::uint64_t unsent = 0;
  for (const auto& [target, part] : parts_) unsent += part.bytes;
  return turn_left_ > 0 && stream.bytes() + unsent < kStreamBytes && bytes_ + unsent < most_bytes();
}

void DeadLetterForwarder::pump(HostedQueue& hosted, DeadLetterStream& stream) {
  if (clock_.now < stream.paused_until) return;
  if (stream.waits && !available(*stream.waits) && clock_.now < stream.look_again) return;
  stream.waits.reset();
  rewritten_ = {};
  Queue& queue = hosted.queue;
  while (!stream.loading() && has_room(stream)) {
    const auto range = stream.next(queue.dead());
    if (!range) break;
    MessageRun run;
    const DeadLetterStream::Found found = stream.find(queue, range->sequences, &run);
    if (found == DeadLetterStream::Found::kLoading) {
      load(queue, stream, *range);
      break;
    }
    if (found == DeadLetterStream::Found::kMissing) {
      give_up(hosted, stream, *range);
    } else if (send_run(hosted, stream, *range, run) == Went::kWaits) {
      break;
    }
  }
  send_parts(hosted, stream);
  rewritten_ = {};
  if (turn_left_ == 0) wake(queue.id(), stream);
}

DeadLetterForwarder::Went DeadLetterForwarder::send_run(HostedQueue& hosted,
                                                        DeadLetterStream& stream,
                                                        const DeadLetters::Range& range,
                                                        const MessageRun& run) {
  for (std::uint32_t i = 0; i < run.count && has_room(stream); ++i) {
    const std::uint64_t number = range.first_number + i;
    const Sequence sequence = run.first.next(i);
    if (i > 0) {
      // The window may end here.
      const auto next = stream.next(hosted.queue.dead());
      if (!next || next->first_number != number) return Went::kOn;
    }
    rewrite(hosted, range, run, run.begin + i);
    --turn_left_;
    if (rewritten_.targets.empty()) {
      if (drop(hosted, stream, number, sequence, range.time_ms) == Went::kWaits) {
        return Went::kWaits;
      }
      continue;
    }
    if (!can_go(stream)) return Went::kWaits;
    stream.sent(number, sequence, static_cast<std::uint32_t>(rewritten_.targets.size()));
    add_to_parts(hosted, stream, run, run.begin + i, number);
  }
  return Went::kOn;
}

bool DeadLetterForwarder::can_go(DeadLetterStream& stream) {
  for (const DeadLetterTarget& target : rewritten_.targets) {
    if (available(target.shard)) continue;
    stream.waits = target.shard;
    stream.look_again = clock_.now + kLongestPause;
    stream.forget_loaded();
    return false;
  }
  return true;
}

void DeadLetterForwarder::rewrite(const HostedQueue& hosted, const DeadLetters::Range& range,
                                  const MessageRun& run, std::uint32_t place) {
  const std::uint32_t number = run.batch->header_number(place);
  if (rewritten_.batch == run.batch && rewritten_.header_number == number &&
      rewritten_.reason == range.reason && rewritten_.time_ms == range.time_ms) {
    return;
  }
  rewritten_ = {run.batch, number, range.reason, range.time_ms, false, {}, {}, {}};
  v1::MessageHeader header;
  const std::string_view bytes = run.batch->header(place);
  rewritten_.readable = header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const auto& to = hosted.settings.dead_letters;
  if (!rewritten_.readable || to == nullptr) return;
  add_death({hosted.queue.name(), range.reason, range.time_ms}, header);
  header.set_exchange(to->exchange);
  if (to->routing_key) header.set_routing_key(*to->routing_key);
  header.set_mandatory(false);
  rewritten_.needs = outlets_->route(to->vhost, header, rewritten_.targets);
  if (range.reason != v1::DEAD_REASON_REJECTED) {
    std::erase_if(rewritten_.targets,
                  [&](const DeadLetterTarget& target) { return goes_round(header, target.name); });
  }
  rewritten_.header = header.SerializeAsString();
}

DeadLetterForwarder::Went DeadLetterForwarder::drop(HostedQueue& hosted, DeadLetterStream& stream,
                                                    std::uint64_t number, Sequence sequence,
                                                    std::int64_t died_ms) {
  // Whether it died long ago is asked of the wall clock, unless that was set back.
  if (std::exchange(stream.homeless, number) != number) stream.homeless_since = clock_.now;
  const bool old = clock_.wall_ms - died_ms >= kHomelessMs ||
                   (clock_.wall_ms < died_ms && clock_.now - stream.homeless_since >= kHomeless);
  if (!old) {
    stream.forget_loaded();
    return Went::kWaits;
  }
  stream.homeless = number + 1;
  hosted.queue.count_dead_dropped();
  stream.skip(number);
  settle(hosted, sequence);
  return Went::kOn;
}

bool DeadLetterForwarder::available(ShardId shard) {
  if (outlets_ == nullptr || !outlets_->reachable(shard)) return false;
  const auto found = outlets_of_.find(shard);
  if (found == outlets_of_.end() || !found->second.refusing) return true;
  // What was sent after the refused one is answered first; then the order is ours again.
  return found->second.batches == 0 && clock_.now >= found->second.again;
}

void DeadLetterForwarder::add_to_parts(HostedQueue& hosted, DeadLetterStream& stream,
                                       const MessageRun& run, std::uint32_t place,
                                       std::uint64_t number) {
  const SharedBytes body = run.batch->body_run(place, 1);
  // A header that its neighbour has too stands in the batch once; here it counts all the same.
  const std::uint64_t bytes = body.size() + rewritten_.header.size() + kMessageBytes;
  for (const DeadLetterTarget& target : rewritten_.targets) {
    Part& part = parts_[target.queue];
    if (!part.numbers.empty() && part.bytes + bytes > options_.batch_bytes) {
      send_part(hosted, stream, target.queue, part);
      part = {};
    }
    part.shard = target.shard;
    part.messages.add(rewritten_.header, body);
    part.numbers.push_back(number);
    part.bytes += bytes;
    part.needs = std::max(part.needs, rewritten_.needs);
  }
}

void DeadLetterForwarder::send_parts(HostedQueue& hosted, DeadLetterStream& stream) {
  for (auto& [target, part] : parts_) send_part(hosted, stream, target, part);
  parts_.clear();
}

void DeadLetterForwarder::send_part(HostedQueue& hosted, DeadLetterStream& stream, QueueId target,
                                    Part& part) {
  const Queue& queue = hosted.queue;
  const auto lowest = queue.dead().from_number(0);
  const std::uint64_t settled_below =
      std::min(lowest ? lowest->first_number : part.numbers.front(), part.numbers.front());
  stream.forget_below(settled_below);
  Outlet& outlet = outlets_of_[part.shard];
  v1::ShardPublish publish;
  publish.set_batch_id(++last_batch_);
  publish.set_shard(part.shard.value);
  publish.set_producer_id(stream.producer() + std::to_string(target.value));
  publish.set_producer_session(kSession);
  publish.set_settled_below(settled_below);
  publish.set_first_seq(part.numbers.front());
  if (part.numbers.back() - part.numbers.front() + 1 != part.numbers.size()) {
    publish.mutable_seqs()->Add(part.numbers.begin(), part.numbers.end());
  }
  publish.add_targets()->set_queue_id(target.value);
  publish.set_resumes(std::exchange(outlet.refusing, false));
  MessageBatchBuilder::Built built = part.messages.take();
  publish.set_batch(std::move(built.batch));
  publish.set_body_bytes(built.body_bytes);
  const std::uint64_t bytes = part.bytes;
  ++outlet.batches;
  stream.batch_sent(bytes);
  bytes_ += bytes;
  batches_[last_batch_] = {queue.id(), stream.generation(), part.shard, std::move(part.numbers),
                           bytes};
  outlets_->publish(std::move(publish), std::move(built.bodies), part.needs);
}

void DeadLetterForwarder::settle(HostedQueue& hosted, Sequence sequence) {
  shards_.of(hosted).depart(hosted, {sequence.value, sequence.value}, Departure::kForwarded);
}

// ---- answers

DeadLetterStream* DeadLetterForwarder::answered(std::uint64_t batch_id, Batch& batch) {
  const auto found = batches_.find(batch_id);
  if (found == batches_.end()) return nullptr;
  const bool was_full = bytes_ >= most_bytes();
  batch = std::move(found->second);
  batches_.erase(found);
  bytes_ -= batch.bytes;
  --outlets_of_[batch.shard].batches;
  if (was_full) wake_all();
  const auto stream = streams_.find(batch.queue);
  if (stream == streams_.end()) return nullptr;
  stream->second->batch_answered(batch.bytes);
  wake(batch.queue, *stream->second);
  return stream->second->generation() == batch.generation ? stream->second.get() : nullptr;
}

void DeadLetterForwarder::on_stored(std::uint64_t batch_id) {
  Batch batch;
  DeadLetterStream* stream = answered(batch_id, batch);
  if (batch.numbers.empty()) return;
  outlets_of_[batch.shard].pause = kFirstPause;
  HostedQueue* hosted = queues_.find(batch.queue);
  if (stream == nullptr || hosted == nullptr) return;
  stream->went_well();
  stream->pause = Duration{};
  for (const std::uint64_t number : batch.numbers) {
    Sequence sequence;
    if (stream->stored(number, &sequence)) settle(*hosted, sequence);
  }
}

void DeadLetterForwarder::on_refused(std::uint64_t batch_id, const std::string& reason) {
  Batch batch;
  DeadLetterStream* stream = answered(batch_id, batch);
  if (batch.numbers.empty()) return;
  Outlet& outlet = outlets_of_[batch.shard];
  if (!std::exchange(outlet.refusing, true)) {
    if (outlet.pause <= kFirstPause) {
      log_.info("dead_letters_wait", {{"shard", batch.shard}, {"reason", reason}});
    }
    outlet.pause = std::clamp(outlet.pause, kFirstPause, kLongestPause);
    outlet.again = clock_.now + outlet.pause;
    outlet.pause *= 2;
  }
  if (stream != nullptr) stream->rewind();
}

void DeadLetterForwarder::on_full(std::uint64_t batch_id) {
  Batch batch;
  DeadLetterStream* stream = answered(batch_id, batch);
  if (stream == nullptr) return;
  stream->rewind();
  stream->pause = std::clamp(stream->pause * 2, kFirstPause, kLongestPause);
  stream->paused_until = clock_.now + stream->pause;
}

void DeadLetterForwarder::on_lost(std::uint64_t batch_id) {
  Batch batch;
  DeadLetterStream* stream = answered(batch_id, batch);
  if (batch.numbers.empty()) return;
  outlets_of_[batch.shard].refusing = false;  // the next link begins anew
  if (stream != nullptr) stream->rewind();
}

// ---- reading

void DeadLetterForwarder::load(const Queue& queue, DeadLetterStream& stream,
                               const DeadLetters::Range& range) {
  if (clock_.now < stream.load_again() || memory_.above_block_mark()) return;
  const NumberRange plan = DeadLetterStream::plan_load(queue, range);
  stream.begin_load(plan);
  // A little of a queue whose letters were refused, and of all when many wait with what they read.
  const bool little = stream.tries() || memory_.used() > memory_.limit() / 8;
  disk_.load(queue.id(), Sequence{plan.first}, Sequence{plan.last},
             little ? kSmallLoadBytes : kLoadBytes,
             [this, id = queue.id()](const Result<storage::LoadedMessages>& result) {
               loaded(id, result);
             });
}

void DeadLetterForwarder::loaded(QueueId id, const Result<storage::LoadedMessages>& result) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end()) return;
  if (result) {
    stream->second->finish_load(memory_.tracked(*result));
    wake(id, *stream->second);
    return;
  }
  stream->second->fail_load(clock_.now + kLongestPause);
  log_.error("queue_read_failed", {{"queue_id", id}, {"reason", result.status()}});
}

void DeadLetterForwarder::give_up(HostedQueue& hosted, DeadLetterStream& stream,
                                  const DeadLetters::Range& range) {
  const Sequence sequence{range.sequences.first};
  log_.error("messages_lost", {{"queue", hosted.queue.name()},
                               {"queue_id", hosted.queue.id()},
                               {"messages", 1},
                               {"from", sequence},
                               {"through", sequence},
                               {"reason",
                                "a dead letter that waited to be forwarded was not to be "
                                "read from the disk"}});
  stream.skip(range.first_number);
  if (stream.must_stay(sequence)) return;
  shards_.of(hosted).depart(hosted, {sequence.value, sequence.value}, Departure::kDamaged);
}

}  // namespace segue::node
