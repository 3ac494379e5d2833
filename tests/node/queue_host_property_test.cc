// Random work on a host over a disk that finishes things when it is told to, crashes and
// checkpoints included, against what a user was promised.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "common/random.h"
#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

/// How many times more work than usual.
std::uint64_t effort() {
  const char* const text = std::getenv("SEGUE_TEST_EFFORT");
  return text == nullptr ? 1 : std::max<std::uint64_t>(1, std::strtoull(text, nullptr, 10));
}

class QueueHostProperty : public QueueHostTest {
 protected:
  static constexpr std::uint64_t kQueues = 4;
  static constexpr std::uint64_t kTransientQueue = 3;
  static constexpr std::uint64_t kPriorityQueue = 4;
  static constexpr std::uint64_t kPriorities = 4;

  /// What the user knows of one message of one queue.
  struct Promise {
    std::uint64_t batch = 0;
    bool confirmed = false;
    bool settle_sent = false;
    bool settled = false;      // and that was confirmed
    bool may_be_lost = false;  // of a transient queue, and the node was restarted
    bool gone = false;         // the same, and it was confirmed before
    int deliveries = 0;
    int ended_without_ack = 0;
    bool out = false;  // with a consumer of this life of the node
  };
  struct Batch {
    std::uint64_t queue = 0;
    std::uint64_t first_seq = 0;
    std::vector<std::string> bodies;
    bool confirmed = false;
  };
  struct Out {
    std::uint64_t queue = 0;
    std::string body;
  };
  using ConsumerKey = std::pair<std::uint64_t, std::uint64_t>;  // peer, consumer
  struct LiveConsumer {
    std::uint64_t queue = 0;
    bool no_ack = false;
    bool cancelled = false;
    std::map<std::uint64_t, Out> out;  // by delivery number
  };

  std::uint64_t pick(std::uint64_t bound) { return random_->below(bound); }

  void start(std::uint64_t seed) {
    random_ = std::make_unique<SeededRandom>(seed);
    disk = storage::FakeDiskDataCenter();
    disk.commit_on_flush = false;
    disk.finish_on_poll = false;
    definitions.clear();
    promises_.clear();
    batches_.clear();
    consumers_.clear();
    waiting_settles_.clear();
    last_fresh_.clear();
    made_.clear();
    next_seq_ = 1;
    large_ = seed % 2 == 0;
    options.memory_limit = 2 << 20;
    options.free_disk_limit = 0;
    options.checkpoint_wal_bytes = seed % 3 == 0 ? 4000 : 100'000;
    open();
    for (std::uint64_t queue = 1; queue <= kQueues; ++queue) {
      v1::QueueDefinition& definition = definitions.emplace_back(
          define(queue, queue != kTransientQueue, false, queue == 2 ? 5 : kShard));
      if (queue == kPriorityQueue) {
        (*definition.mutable_arguments())["x-max-priority"].set_int_value(kPriorities - 1);
      }
      definitions.erase(definitions.end() - 2);
      host->add_queue(definitions.back());
    }
    session_ = 1;
  }

  // ---- operations

  std::string new_body(std::uint64_t queue) {
    std::string body = std::to_string(queue) + ":" + std::to_string(++made_[queue]) + ":";
    if (queue == kPriorityQueue) body += std::to_string(pick(kPriorities)) + ":";
    body.resize(body.size() + pick(large_ ? 20'000 : 20), 'x');
    return body;
  }

  void do_publish() {
    // As a router: what was refused goes first.
    if (std::exchange(refused_, false)) send_again();
    Batch batch;
    batch.queue = 1 + pick(kQueues);
    batch.first_seq = next_seq_;
    // Now and then more than a step of the delivery marks (10,000).
    const std::uint64_t count = !large_ && pick(60) == 0 ? 1 + pick(12'000) : 1 + pick(8);
    for (std::uint64_t i = 0; i < count; ++i) batch.bodies.push_back(new_body(batch.queue));
    next_seq_ += count;
    send(batch);
  }

  void send(const Batch& batch) {
    v1::ShardPublish message =
        publish_of(batch.bodies, {batch.queue}, batch.queue == 2 ? 5 : kShard);
    if (batch.queue == kPriorityQueue) set_priorities(batch, message);
    message.set_batch_id(++last_batch);
    message.set_producer_id("producer");
    message.set_producer_session(session_);
    message.set_first_seq(batch.first_seq);
    std::uint64_t settled_below = next_seq_;
    for (const auto& [id, other] : batches_) {
      if (!other.confirmed) settled_below = std::min(settled_below, other.first_seq);
    }
    message.set_settled_below(std::min(settled_below, batch.first_seq));
    message.set_resumes(resuming_.erase(message.shard()) > 0);
    for (const std::string& body : batch.bodies) promises_[body].batch = last_batch;
    batches_[last_batch] = batch;
    host->on_publish(kRouter, message, joined(batch.bodies));
  }

  static void set_priorities(const Batch& batch, v1::ShardPublish& message) {
    v1::MessageBatch messages;
    messages.ParseFromString(message.batch());
    messages.clear_headers();
    for (std::uint32_t priority = 0; priority < kPriorities; ++priority) {
      messages.add_headers()->mutable_properties()->set_priority(priority);
    }
    for (const std::string& body : batch.bodies) {
      messages.add_header_index(static_cast<std::uint32_t>(priority_of(body)));
    }
    message.set_batch(messages.SerializeAsString());
  }

  /// As a router after a reset: what is unconfirmed is sent again, in order.
  void send_again() {
    ++session_;
    resuming_ = {kShard, 5};
    std::map<std::uint64_t, Batch> again;
    for (auto& [id, batch] : batches_) {
      if (!batch.confirmed) again[batch.first_seq] = batch;
    }
    std::erase_if(batches_, [](const auto& entry) { return !entry.second.confirmed; });
    for (const auto& [seq, batch] : again) send(batch);
  }

  void do_subscribe() {
    const ConsumerKey key{1 + pick(2), 1 + pick(5)};
    if (consumers_.contains(key)) return;
    LiveConsumer consumer;
    consumer.queue = 1 + pick(kQueues);
    consumer.no_ack = pick(6) == 0;
    Terms terms;
    terms.prefetch = static_cast<std::uint32_t>(pick(6));
    terms.no_ack = consumer.no_ack;
    terms.priority = static_cast<std::int32_t>(pick(2));
    terms.prefetch_bytes = pick(3) == 0 ? 5000 : 0;
    subscribe(key.second, consumer.queue, terms, PeerId{key.first});
    consumers_[key] = consumer;
  }

  void do_unsubscribe() {
    if (consumers_.empty()) return;
    auto at = std::next(consumers_.begin(), static_cast<long>(pick(consumers_.size())));
    const bool requeue = pick(2) == 0;
    unsubscribe(at->first.second, requeue, PeerId{at->first.first});
    if (requeue) end_without_ack(at->second);
    at->second.cancelled = true;
    if (at->second.out.empty()) consumers_.erase(at);
  }

  void end_without_ack(LiveConsumer& consumer) {
    for (const auto& [number, out] : consumer.out) {
      ++promises_[out.body].ended_without_ack;
      promises_[out.body].out = false;
    }
    consumer.out.clear();
  }

  void do_lose_peer() {
    const std::uint64_t peer = 1 + pick(2);
    host->on_peer_lost(PeerId{peer});
    for (auto at = consumers_.begin(); at != consumers_.end();) {
      if (at->first.first != peer) {
        ++at;
        continue;
      }
      end_without_ack(at->second);
      at = consumers_.erase(at);
    }
  }

  void do_settle() {
    if (consumers_.empty()) return;
    auto at = std::next(consumers_.begin(), static_cast<long>(pick(consumers_.size())));
    LiveConsumer& consumer = at->second;
    if (consumer.out.empty()) return;
    auto first = std::next(consumer.out.begin(), static_cast<long>(pick(consumer.out.size())));
    const std::uint64_t low = first->first;
    const std::uint64_t high = low + (pick(4) == 0 ? pick(12'000) : pick(4));
    const auto outcome = static_cast<v1::Outcome>(1 + pick(3));
    const std::uint64_t confirm = pick(2) == 0 ? ++last_confirm_ : 0;
    settle(at->first.second, low, high, outcome, confirm, PeerId{at->first.first});
    std::vector<std::string> bodies;
    for (auto out = first; out != consumer.out.end() && out->first <= high;) {
      Promise& promise = promises_[out->second.body];
      promise.out = false;
      if (outcome == v1::OUTCOME_REQUEUE) {
        ++promise.ended_without_ack;
      } else {
        promise.settle_sent = true;
        bodies.push_back(out->second.body);
      }
      out = consumer.out.erase(out);
    }
    if (confirm != 0) waiting_settles_[confirm] = bodies;
    if (consumer.cancelled && consumer.out.empty()) consumers_.erase(at);
  }

  void do_get() {
    const std::uint64_t queue = 1 + pick(kQueues);
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.set_request_id(++last_request);
    message.mutable_get()->set_consumer(90);
    message.mutable_get()->set_no_ack(true);
    host->on_queue_request(kRouter, message);
    gets_[last_request] = queue;
  }

  void do_purge() {
    const std::uint64_t queue = 1 + pick(kQueues);
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.set_request_id(++last_request);
    message.mutable_purge();
    host->on_queue_request(kRouter, message);
    // Which ones were ready is the host's to know; none that is not out need come any more.
    for (auto& [body, promise] : promises_) {
      if (queue_of(body) == queue && !promise.out) promise.settle_sent = true;
    }
  }

  void do_restart() {
    for (auto& [body, promise] : promises_) {
      promise.out = false;
      if (queue_of(body) != kTransientQueue) continue;
      promise.may_be_lost = true;
      promise.gone = promise.gone || promise.confirmed;
    }
    consumers_.clear();
    waiting_settles_.clear();
    gets_.clear();
    open();
    send_again();
  }

  static std::uint64_t queue_of(const std::string& body) { return body[0] - '0'; }
  static std::uint64_t priority_of(const std::string& body) {
    return queue_of(body) == kPriorityQueue ? std::stoull(body.substr(body.find(':', 2) + 1)) : 0;
  }
  /// What is in order by itself: a queue, or one priority of it.
  static std::uint64_t line_of(const std::string& body) {
    return queue_of(body) * 10 + priority_of(body);
  }
  static std::uint64_t number_of(const std::string& body) { return std::stoull(body.substr(2)); }

  // ---- what comes back

  void saw(const SeenMessage& message, std::uint64_t queue, bool no_ack) {
    const auto at = promises_.find(message.body);
    ASSERT_NE(at, promises_.end()) << "a message that nobody sent";
    Promise& promise = at->second;
    ASSERT_EQ(queue_of(message.body), queue);
    ASSERT_FALSE(promise.settled) << message.body.substr(0, 8) << " was settled for good";
    ASSERT_FALSE(promise.out) << message.body.substr(0, 8) << " is with another consumer";
    ASSERT_FALSE(promise.gone);
    ASSERT_TRUE(message.redelivered || promise.deliveries == 0)
        << message.body.substr(0, 8) << " was delivered before and is not flagged";
    ASSERT_LE(message.delivery_count, static_cast<std::uint32_t>(promise.ended_without_ack));
    if (!message.redelivered) {
      // Consumers that are served in one turn get theirs side by side.
      const std::uint64_t line = line_of(message.body);
      ASSERT_GT(number_of(message.body), last_fresh_[line]) << "not in order";
      turn_fresh_[line] = std::max(turn_fresh_[line], number_of(message.body));
    }
    ++promise.deliveries;
    promise.out = !no_ack;
    if (no_ack) promise.settle_sent = true;
  }

  void look() {
    for (const v1::ShardConfirm& confirm : output->confirms) {
      const auto batch = batches_.find(confirm.batch_id());
      if (confirm.has_error()) refused_ = true;
      if (batch == batches_.end() || confirm.has_error()) continue;
      batch->second.confirmed = true;
      for (const std::string& body : batch->second.bodies) promises_[body].confirmed = true;
    }
    output->confirms.clear();
    for (auto& delivered : std::exchange(output->deliveries, {})) {
      const auto at = consumers_.find({delivered.peer.value, delivered.delivery.consumer()});
      ASSERT_NE(at, consumers_.end());
      std::map<std::uint64_t, std::uint64_t> before;
      for (const SeenMessage& message : delivered.messages) {
        std::uint64_t& last = before[line_of(message.body)];
        ASSERT_GT(number_of(message.body), last) << "not in order";
        last = number_of(message.body);
        saw(message, at->second.queue, at->second.no_ack);
        if (HasFatalFailure()) return;
        if (!at->second.no_ack) {
          ASSERT_TRUE(
              at->second.out.emplace(message.number, Out{at->second.queue, message.body}).second);
        }
      }
    }
    for (const auto& [peer, event] : output->events) {
      if (!event.has_settle_ok()) continue;
      for (const std::string& body : waiting_settles_[event.settle_ok().confirm_id()]) {
        promises_[body].settled = true;
      }
    }
    output->events.clear();
    for (const auto& replied : output->replies) {
      for (const SeenMessage& message : replied.messages) {
        saw(message, gets_[replied.reply.request_id()], true);
      }
    }
    output->replies.clear();
    for (const auto& [line, last] : std::exchange(turn_fresh_, {})) {
      last_fresh_[line] = std::max(last_fresh_[line], last);
    }
  }

  void step() {
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return do_publish();
      case 4:
      case 5:
        return do_subscribe();
      case 6:
        return do_unsubscribe();
      case 7:
      case 8:
      case 9:
      case 10:
        return do_settle();
      case 11:
        return pick(8) == 0 ? do_lose_peer() : do_get();
      case 12:
        return pick(10) == 0 ? do_purge() : send_again();
      case 13:
        return tick();
      case 14:
        if (pick(6) == 0) do_restart();
        return;
      default:
        disk.store_result = pick(8) == 0 ? Status(Code::kNoSpace, "full") : Status();
        return;
    }
  }

  void run_turn() {
    host->end_turn(clock.now(), clock.wall_ms());
    disk.flush();
    disk.commit(pick(6));
    disk.finish(pick(4));
    for (const storage::Committed& committed : disk.poll()) {
      host->on_committed(committed.shard, committed.up_to);
    }
  }

  /// Everything that is still there is read by one consumer for each queue, and must be what was
  /// promised.
  void drain() {
    disk.commit_on_flush = true;
    disk.finish_on_poll = true;
    disk.store_result = {};
    disk.commit();
    for (int i = 0; i < 30; ++i) tick(std::chrono::seconds(1));
    look();
    ASSERT_EQ(host->state().blocked_reason(), "") << host->state().ShortDebugString();
    // More than the memory takes at once is refused, and sent again.
    for (int round = 0; round < 10; ++round) {
      send_again();
      for (int i = 0; i < 20; ++i) tick();
      look();
    }
    if (HasFatalFailure()) return;
    for (std::uint64_t peer : {1u, 2u}) host->on_peer_lost(PeerId{peer});
    for (auto& [key, consumer] : consumers_) end_without_ack(consumer);
    consumers_.clear();
    gets_.clear();
    for (std::uint64_t queue = 1; queue <= kQueues; ++queue) {
      subscribe(queue, queue, {}, PeerId{9});
      consumers_[{9, queue}] = LiveConsumer{queue, false, false, {}};
    }
    for (int i = 0; i < 100; ++i) tick();
    std::map<std::uint64_t, std::uint64_t> last;
    std::uint64_t priority = kPriorities;
    std::set<std::string> there;
    for (const auto& delivered : output->deliveries) {
      for (const SeenMessage& message : delivered.messages) {
        ASSERT_TRUE(there.insert(message.body).second) << "twice: " << message.body.substr(0, 8);
        const std::uint64_t line = line_of(message.body);
        ASSERT_GT(number_of(message.body), last[line]) << "not in order";
        last[line] = number_of(message.body);
        if (queue_of(message.body) != kPriorityQueue) continue;
        ASSERT_LE(priority_of(message.body), priority);
        priority = priority_of(message.body);
      }
    }
    look();
    if (HasFatalFailure()) return;
    for (const auto& [body, promise] : promises_) {
      ASSERT_TRUE(promise.confirmed || promise.may_be_lost)
          << body.substr(0, 8) << ' ' << host->state().ShortDebugString();
      if (promise.settle_sent || promise.may_be_lost) continue;
      ASSERT_TRUE(there.contains(body)) << "lost: " << body.substr(0, 8);
    }
    ASSERT_EQ(host->state().ready(), 0u);
    ASSERT_EQ(host->state().unacked(), there.size());
  }

  std::unique_ptr<SeededRandom> random_;
  std::map<std::string, Promise> promises_;
  std::map<std::uint64_t, Batch> batches_;
  std::map<ConsumerKey, LiveConsumer> consumers_;
  std::map<std::uint64_t, std::vector<std::string>> waiting_settles_;  // by confirm id
  std::map<std::uint64_t, std::uint64_t> gets_;                        // request -> queue
  std::map<std::uint64_t, std::uint64_t> last_fresh_;                  // by line
  std::map<std::uint64_t, std::uint64_t> turn_fresh_;
  std::map<std::uint64_t, std::uint64_t> made_;  // messages, by queue
  std::uint64_t next_seq_ = 1;
  std::uint64_t session_ = 1;
  std::uint64_t last_confirm_ = 0;
  bool large_ = false;
  bool refused_ = false;
  std::set<std::uint32_t> resuming_;  // shards whose next publish says that refusals are known
};

TEST_F(QueueHostProperty, KeepsItsPromisesThroughCrashesAndCheckpoints) {
  for (std::uint64_t seed = 1; seed <= 150 * effort(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    start(seed);
    for (int i = 0; i < 400 && !HasFatalFailure(); ++i) {
      step();
      if (HasFatalFailure()) return;
      if (pick(3) > 0) run_turn();
      look();
    }
    if (HasFatalFailure()) return;
    drain();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace segue::node
