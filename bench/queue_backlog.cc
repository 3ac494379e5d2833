// A backlog larger than the memory, through the node's queues and the real disk data center, in
// one process: publishes it as fast as it is taken, then consumes it. Says rates and the highest
// resident memory.
//
//     queue_backlog DIRECTORY [messages] [bytes] [memory limit in MiB]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "common/memory_trim.h"
#include "node/queue_host.h"
#include "segue/v1/types.pb.h"
#include "storage/posix_file_system.h"

namespace segue::node {
namespace {

constexpr std::uint32_t kBatch = 64;
constexpr std::size_t kWindow = 64;  // batches

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages >> pages;
  return pages * 4096;
}

class Output final : public PeerOutput {
 public:
  void confirm(PeerId, v1::ShardConfirm confirm) override {
    (confirm.has_error() ? refused : confirmed) += 1;
    if (confirm.has_error()) last_error = confirm.error().text();
  }
  void deliver(PeerId, v1::NodeDelivery delivery, std::vector<SharedBytes>) override {
    delivered += delivery.count();
  }
  void consumer_event(PeerId, v1::ConsumerEvent) override {}
  void queue_reply(PeerId, v1::QueueReply, std::vector<SharedBytes>) override {}
  void catalog_reply(PeerId, v1::CatalogReply) override {}
  void catalog_feed(PeerId, v1::CatalogFeed) override {}

  std::uint64_t confirmed = 0;
  std::uint64_t refused = 0;
  std::uint64_t delivered = 0;
  std::string last_error;
};

class Backlog {
 public:
  Backlog(std::string directory, std::uint64_t messages, std::uint32_t bytes, std::uint64_t limit)
      : messages_(messages), bytes_(bytes) {
    options_.memory_limit = limit;
    host_ = std::make_unique<QueueHost>(options_, output_, log_, nullptr);
    storage::DiskOptions disk;
    disk.directory = std::move(directory);
    disk.cluster = "bench";
    disk.node_id = "n1";
    auto opened = storage::open_disk_data_center(
        files_, std::move(disk),
        [&](storage::DiskDataCenter& center, const std::vector<storage::RecoveredShard>& shards) {
          return host_->restore(center, shards);
        },
        [&](const storage::ReplayedRecord& record) { return host_->replay(record); });
    if (!opened.is_ok()) {
      std::fprintf(stderr, "%s\n", opened.status().to_string().c_str());
      std::exit(1);
    }
    disk_ = std::move(opened.value());
    host_->start(disk_.log_ends, clock_.now(), clock_.wall_ms());
    v1::QueueDefinition queue;
    queue.set_id(1);
    queue.set_name("backlog");
    queue.set_durable(true);
    host_->add_queue(queue);
  }
  ~Backlog() { disk_.disk->stop(); }

  void publish() {
    v1::MessageBatch batch;
    batch.add_headers()->set_routing_key("backlog");
    for (std::uint32_t i = 0; i < kBatch; ++i) batch.add_sizes(bytes_);
    v1::ShardPublish publish;
    publish.set_batch(batch.SerializeAsString());
    publish.set_body_bytes(std::uint64_t{kBatch} * bytes_);
    publish.add_targets()->set_queue_id(1);
    publish.set_resumes(true);
    const std::uint64_t batches = messages_ / kBatch;
    std::uint64_t sent = 0;
    begin();
    while (output_.confirmed < batches) {
      while (sent - output_.refused < batches &&
             sent - output_.refused - output_.confirmed < kWindow) {
        const std::uint64_t refused = output_.refused;
        host_->on_publish(PeerId{1}, publish,
                          SharedBytes::from(std::string(publish.body_bytes(), 'x')));
        ++sent;
        if (output_.refused != refused) break;
      }
      turn();
    }
    end("published", batches * kBatch);
    std::printf("refused batches %llu (%s)\n", static_cast<unsigned long long>(output_.refused),
                output_.last_error.c_str());
  }

  void consume() {
    v1::ConsumerCommand command;
    command.set_consumer(1);
    command.mutable_subscribe()->set_queue_id(1);
    command.mutable_subscribe()->set_prefetch_count(20'000);
    const std::uint64_t count = messages_ / kBatch * kBatch;
    host_->on_consumer_command(PeerId{1}, command);
    std::uint64_t settled = 0;
    begin();
    while (settled < count) {
      turn();
      if (output_.delivered == settled) continue;
      v1::PeerSettle settle;
      settle.set_consumer(1);
      auto& tags = *settle.add_settled();
      tags.mutable_tags()->set_first(settled + 1);
      tags.mutable_tags()->set_last(output_.delivered);
      tags.set_outcome(v1::OUTCOME_ACK);
      host_->on_settle(PeerId{1}, settle);
      settled = output_.delivered;
    }
    end("consumed", count);
  }

  void shut_down() {
    bool done = false;
    begin();
    host_->begin_shutdown([&] { done = true; });
    while (!done) turn();
    end("shutdown", 1);
  }

 private:
  void begin() {
    started_ = clock_.now();
    cpu_ = std::clock();
  }
  void end(const char* what, std::uint64_t messages) {
    const double seconds = std::chrono::duration<double>(clock_.now() - started_).count();
    std::printf("%s %llu in %.2f s: %.0f/s, %.2f CPU s of all threads, highest resident %.0f MiB\n",
                what, static_cast<unsigned long long>(messages), seconds,
                static_cast<double>(messages) / seconds,
                static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC,
                static_cast<double>(peak_) / (1 << 20));
    std::fflush(stdout);
  }

  void turn() {
    const TimePoint now = clock_.now();
    bool more = commits();
    if (now >= next_tick_) {
      next_tick_ = now + std::chrono::milliseconds(100);
      host_->on_tick(now, clock_.wall_ms());
      trim_.on_tick(now, host_->state().memory_bytes());
      peak_ = std::max(peak_, resident_bytes());
    }
    host_->end_turn(now, clock_.wall_ms());
    disk_.disk->flush();
    more |= commits();
    if (!more && !host_->wants_turn()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  bool commits() {
    const auto committed = disk_.disk->poll();
    for (const auto& one : committed) host_->on_committed(one.shard, one.up_to);
    return !committed.empty();
  }

  const std::uint64_t messages_;
  const std::uint32_t bytes_;
  storage::PosixFileSystem files_;
  SystemClock clock_;
  Logger log_{stderr_log_sink(LogFormat::kText), clock_, {LogLevel::kInfo, 10}};
  Output output_;
  QueueHost::Options options_;
  std::unique_ptr<QueueHost> host_;
  storage::OpenedDisk disk_;
  MemoryTrim trim_;
  TimePoint next_tick_{};
  TimePoint started_{};
  std::clock_t cpu_ = 0;
  std::uint64_t peak_ = 0;
};

}  // namespace
}  // namespace segue::node

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY [messages] [bytes] [memory limit in MiB]\n",
                 arguments[0]);
    return 2;
  }
  const auto number = [&](int at, std::uint64_t otherwise) {
    return count > at ? std::strtoull(arguments[at], nullptr, 10) : otherwise;
  };
  const std::uint64_t memory_limit = number(4, 512) << 20;
  segue::configure_allocator(memory_limit);
  segue::node::Backlog backlog(arguments[1], number(2, 1'000'000),
                               static_cast<std::uint32_t>(number(3, 1024)), memory_limit);
  backlog.publish();
  backlog.consume();
  backlog.shut_down();
  return 0;
}
