// What the node's queues cost by themselves: messages through QueueHost over a disk data center
// that commits at once and keeps nothing. In batches as a router sends them.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/queue_host.h"
#include "segue/v1/types.pb.h"

namespace segue::node {
namespace {

/// Takes everything and keeps nothing; commits at the next poll.
class NoDisk final : public storage::DiskDataCenter {
 public:
  Status append(storage::LogRecord record) override {
    committed_ = {{record.shard, record.index}};
    return {};
  }
  void flush() override {}
  std::vector<storage::Committed> poll() override { return std::exchange(committed_, {}); }
  void store(ShardId, QueueId, std::vector<MessageRun>, std::function<void(Status)> done) override {
    done({});
  }
  void load(QueueId, Sequence, Sequence, std::size_t,
            std::function<void(Result<storage::LoadedMessages>)> done) override {
    done(Status(Code::kNotFound, "nothing is kept"));
  }
  void settle(QueueId, Sequence, Sequence) override {}
  bool has_expired(QueueId, const storage::ExpiryScan&) const override { return false; }
  void find_expired(QueueId, const storage::ExpiryScan&,
                    std::function<void(Result<storage::ExpiredMessages>)> done) override {
    done(storage::ExpiredMessages());
  }
  void find_due(QueueId, const storage::DueScan&,
                std::function<void(storage::FoundDue)> done) override {
    done({});
  }
  void drop_queue(QueueId) override {}
  std::optional<NumberRange> valid_run(QueueId, Sequence, Sequence) const override { return {}; }
  std::uint64_t body_bytes(QueueId, Sequence, Sequence) const override { return 0; }
  storage::StoredQueue stored(QueueId) const override { return {}; }
  void checkpoint(ShardId, LogIndex, std::string, std::function<void(Status)> done) override {
    done({});
  }
  void release_log(ShardId, LogIndex) override {}
  std::vector<ShardId> pinning_log() const override { return {}; }
  std::vector<ShardId> take_wanted_checkpoints() override { return {}; }
  std::vector<storage::StoredSegment> segments(QueueId, Sequence, std::size_t) const override {
    return {};
  }
  Status collect(storage::GcCommand, std::optional<QueueId>) override { return {}; }
  storage::QueueGc collecting(QueueId) const override { return {}; }
  void set_gc(QueueId, const storage::GcOverrides&) override {}
  void run_in_background(std::function<void()> work, std::function<void()> done) override {
    work();
    done();
  }
  storage::DiskStats stats() const override {
    storage::DiskStats stats;
    stats.free_bytes = 1ull << 40;
    return stats;
  }
  Status begin_backup(storage::BackupOptions) override { return {}; }
  void cancel_backup() override {}
  storage::BackupState backup() const override { return {}; }
  void stop() override {}

 private:
  std::vector<storage::Committed> committed_;
};

/// Counts what comes, and settles deliveries as a consumer that keeps up.
class CountingOutput final : public PeerOutput {
 public:
  void confirm(PeerId, v1::ShardConfirm confirm) override {
    confirms += confirm.has_error() ? 0 : 1;
  }
  void deliver(PeerId, v1::NodeDelivery delivery, std::vector<SharedBytes> bodies) override {
    delivered += delivery.count();
    last_number = delivery.first_number() + delivery.count() - 1;
    benchmark::DoNotOptimize(bodies.data());
  }
  void consumer_event(PeerId, v1::ConsumerEvent) override {}
  void queue_reply(PeerId, v1::QueueReply, std::vector<SharedBytes>) override {}
  void catalog_reply(PeerId, v1::CatalogReply) override {}
  void catalog_feed(PeerId, v1::CatalogFeed) override {}

  std::uint64_t confirms = 0;
  std::uint64_t delivered = 0;
  std::uint64_t last_number = 0;
};

struct Bench {
  Bench(std::uint32_t messages, std::uint32_t size, bool consume) {
    SEGUE_CHECK(host.restore(disk, {}).is_ok());
    host.start({}, {}, 1);
    v1::QueueDefinition queue;
    queue.set_id(1);
    queue.set_name("q");
    queue.set_durable(true);
    host.add_queue(queue);
    v1::MessageBatch batch;
    batch.add_headers()->set_routing_key("q");
    for (std::uint32_t i = 0; i < messages; ++i) batch.add_sizes(size);
    publish.set_batch(batch.SerializeAsString());
    publish.set_body_bytes(std::uint64_t{messages} * size);
    publish.add_targets()->set_queue_id(1);
    publish.set_producer_id("producer");
    publish.set_first_seq(1);
    if (!consume) return;
    v1::ConsumerCommand command;
    command.set_consumer(1);
    command.mutable_subscribe()->set_queue_id(1);
    command.mutable_subscribe()->set_prefetch_count(10'000);
    command.mutable_subscribe()->set_window_bytes(16 << 20);
    host.on_consumer_command(PeerId{1}, command);
  }

  void turn() {
    host.end_turn({}, 1);
    disk.flush();
    for (const storage::Committed& committed : disk.poll()) {
      host.on_committed(committed.shard, committed.up_to);
    }
  }

  void publish_batch(std::uint32_t messages) {
    // As it comes from the socket: a buffer of its own.
    host.on_publish(PeerId{1}, publish, SharedBytes::from(std::string(publish.body_bytes(), 'x')));
    publish.set_first_seq(publish.first_seq() + messages);
    publish.set_settled_below(publish.first_seq() > 1000 ? publish.first_seq() - 1000 : 0);
  }

  void settle_all() {
    if (output.last_number == settled) return;
    v1::PeerSettle settle;
    settle.set_consumer(1);
    auto& tags = *settle.add_settled();
    tags.mutable_tags()->set_first(settled + 1);
    tags.mutable_tags()->set_last(output.last_number);
    tags.set_outcome(v1::OUTCOME_ACK);
    host.on_settle(PeerId{1}, settle);
    settled = output.last_number;
  }

  SystemClock clock;
  Logger log{null_log_sink(), clock, {LogLevel::kOff, 0}};
  NoDisk disk;
  CountingOutput output;
  QueueHost::Options options{.memory_limit = 8ull << 30};
  QueueHost host{options, output, log, {}};
  v1::ShardPublish publish;
  std::uint64_t settled = 0;
};

void report(benchmark::State& state, std::int64_t messages) {
  state.SetItemsProcessed(messages);
  state.counters["per_message"] = benchmark::Counter(
      static_cast<double>(messages), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Batches of `range(0)` messages of `range(1)` bytes, published and confirmed; the backlog is
/// purged now and then.
void publish(benchmark::State& state) {
  const auto messages = static_cast<std::uint32_t>(state.range(0));
  Bench bench(messages, static_cast<std::uint32_t>(state.range(1)), false);
  std::int64_t done = 0;
  for (auto _ : state) {
    bench.publish_batch(messages);
    bench.turn();
    done += messages;
    if (done % (messages * 4096) == 0) {
      v1::QueueRequest purge;
      purge.set_queue_id(1);
      purge.mutable_purge();
      bench.host.on_queue_request(PeerId{1}, purge);
      bench.turn();
    }
  }
  if (bench.output.confirms != static_cast<std::uint64_t>(state.iterations())) {
    state.SkipWithError("not everything was confirmed");
  }
  report(state, done);
}

/// The same with a consumer that settles everything.
void publish_deliver_settle(benchmark::State& state) {
  const auto messages = static_cast<std::uint32_t>(state.range(0));
  Bench bench(messages, static_cast<std::uint32_t>(state.range(1)), true);
  std::int64_t done = 0;
  for (auto _ : state) {
    bench.publish_batch(messages);
    bench.turn();
    bench.settle_all();
    done += messages;
  }
  for (int i = 0; i < 5; ++i) bench.turn();
  if (bench.output.delivered != static_cast<std::uint64_t>(done)) {
    state.SkipWithError("not everything was delivered");
  }
  report(state, done);
}

BENCHMARK(publish)->Args({1, 1024})->Args({64, 100})->Args({64, 1024})->Args({256, 1024});
BENCHMARK(publish_deliver_settle)
    ->Args({1, 1024})
    ->Args({64, 100})
    ->Args({64, 1024})
    ->Args({256, 1024});

}  // namespace
}  // namespace segue::node

BENCHMARK_MAIN();
