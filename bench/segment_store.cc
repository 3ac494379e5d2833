// How fast segments are stored, loaded and checkpointed, and what they cost in memory.
//
//     segment_store DIRECTORY [MESSAGES [BYTES]]     (default 1000000 of 1024 bytes)
//     segment_store DIRECTORY queues COUNT           one message in each of COUNT queues
//
// Prints one line per figure. The directory is made, and removed at the end.

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "common/clock.h"
#include "storage/background_thread.h"
#include "storage/checkpoint_job.h"
#include "storage/posix_file_system.h"
#include "storage/recovery_segments.h"
#include "storage/segment_store.h"

namespace segue::storage {
namespace {

constexpr std::uint32_t kPerBatch = 512;
const ShardId kShard{0};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Resident memory of this process in bytes.
std::uint64_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0, in_memory = 0;
  statm >> pages >> in_memory;
  return in_memory * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

MessageBatchPtr make_batch(std::size_t body_bytes) {
  MessageBatchBuilder builder;
  const SharedBytes body = SharedBytes::from(std::string(body_bytes, 'b'));
  for (std::uint32_t i = 0; i < kPerBatch; ++i) builder.add("a header of some size", body);
  return MessageBatch::parse(SharedBytes::from(builder.take().batch),
                             SharedBytes::from(std::string(body_bytes * kPerBatch, 'b')))
      .value();
}

struct Store {
  explicit Store(const std::string& directory)
      : logger(stderr_log_sink(LogFormat::kText), clock, {LogLevel::kWarn, 10}),
        context{files, logger, directory, 64ull << 20,
                [](const Status& status) {
                  std::fprintf(stderr, "%s\n", status.to_string().c_str());
                  std::abort();
                }},
        executor({}),
        segments(context, executor, {}) {}
  ~Store() { executor.stop(); }

  void wait_for(const std::uint64_t& count, std::uint64_t value) {
    while (count < value) {
      executor.poll();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void checkpoint() {
    const auto begin = std::chrono::steady_clock::now();
    auto job = std::make_shared<CheckpointJob>(context, segments.worker(),
                                               segments.snapshot(kShard), LogIndex{1}, "state");
    std::printf("checkpoint snapshot on the reactor: %.3f ms\n", seconds_since(begin) * 1000);
    std::uint64_t done = 0;
    executor.post({[job] { return job->step(); }, [&] { ++done; }});
    wait_for(done, 1);
    if (job->status().is_ok()) segments.checkpointed(job->snapshot());
    std::printf("checkpoint: %.3f s %s\n", seconds_since(begin), job->status().to_string().c_str());
  }

  SystemClock clock;
  PosixFileSystem files;
  Logger logger;
  SegmentContext context;
  BackgroundThread executor;
  SegmentStore segments;
};

void store_messages(Store& store, std::uint64_t messages, std::size_t body_bytes) {
  const MessageBatchPtr batch = make_batch(body_bytes);
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  std::uint64_t started = 0, ended = 0;
  for (std::uint64_t sequence = 1; sequence <= messages; sequence += kPerBatch) {
    store.segments.store(kShard, QueueId{1}, {{Sequence{sequence}, batch, 0, kPerBatch}},
                         [&](const Status&) { ++ended; });
    if (++started > ended + 64) store.wait_for(ended, started - 32);
  }
  store.wait_for(ended, started);
  const double took = seconds_since(begin);
  const auto count = static_cast<double>(messages);
  std::printf("store: %.0f messages/s, %.0f MB/s, %.2f us CPU per message\n", count / took,
              count * static_cast<double>(body_bytes) / took / 1e6,
              (cpu_seconds() - cpu) / count * 1e6);
}

void load_messages(Store& store, std::size_t body_bytes) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  std::uint64_t loaded = 0, asked = 0, answered = 0, batches = 0;
  Sequence from{1};
  const Sequence last = store.segments.stored(QueueId{1}).last_stored;
  while (from <= last) {
    store.segments.load(QueueId{1}, from, last, 4u << 20, [&](Result<LoadedMessages> result) {
      for (const MessageRun& run : result->runs) loaded += run.count;
      batches += result->runs.size();
      from = result->scanned_through.next();
      ++answered;
    });
    store.wait_for(answered, ++asked);
  }
  const double took = seconds_since(begin);
  const auto count = static_cast<double>(loaded);
  std::printf(
      "load: %.0f messages/s, %.0f MB/s, %.2f us CPU per message, %.0f messages per batch\n",
      count / took, count * static_cast<double>(body_bytes) / took / 1e6,
      (cpu_seconds() - cpu) / count * 1e6, count / static_cast<double>(batches));
}

void settle_messages(Store& store, std::uint64_t messages) {
  auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t s = 1; s <= messages; s += 2) {
    store.segments.settle(QueueId{1}, Sequence{s}, Sequence{s});
  }
  std::printf(
      "settle every second, one by one: %.0f messages/s, tables now %.0f bytes per million\n",
      static_cast<double>(messages) / 2 / seconds_since(begin),
      static_cast<double>(store.segments.memory_bytes()) / static_cast<double>(messages) * 1e6);
  store.checkpoint();
  begin = std::chrono::steady_clock::now();
  store.segments.settle(QueueId{1}, Sequence{1}, Sequence{messages});
  std::printf("settle the rest at once: %.3f ms\n", seconds_since(begin) * 1000);
}

void recover(const std::string& directory, std::uint64_t messages) {
  const std::uint64_t before = resident();
  const auto begin = std::chrono::steady_clock::now();
  Store store(directory);
  const auto shards = SegmentRecovery(store.context, store.segments).run();
  std::printf(
      "recover: %.3f s, resident + %.1f MB, tables %.0f bytes per million messages\n",
      seconds_since(begin), static_cast<double>(resident() - before) / 1e6,
      static_cast<double>(store.segments.memory_bytes()) / static_cast<double>(messages) * 1e6);
}

void many_queues(const std::string& directory, std::uint64_t count) {
  {
    Store store(directory);
    const MessageBatchPtr batch = make_batch(100);
    const std::uint64_t before = resident();
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t ended = 0;
    for (std::uint64_t queue = 1; queue <= count; ++queue) {
      store.segments.store(kShard, QueueId{queue}, {{Sequence{1}, batch, 0, 1}},
                           [&](const Status&) { ++ended; });
    }
    store.wait_for(ended, count);
    std::printf(
        "one message in each of %lu queues: %.0f queues/s, resident + %.0f bytes per queue\n",
        static_cast<unsigned long>(count), static_cast<double>(count) / seconds_since(begin),
        static_cast<double>(resident() - before) / static_cast<double>(count));
    store.checkpoint();
    store.checkpoint();
  }
  recover(directory, count);
}

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: segment_store DIRECTORY [MESSAGES [BYTES] | queues COUNT]\n");
    return 64;
  }
  const std::string directory = argv[1];
  std::filesystem::create_directories(directory);
  if (argc > 3 && std::string(argv[2]) == "queues") {
    many_queues(directory, std::strtoull(argv[3], nullptr, 10));
  } else {
    const std::uint64_t messages = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
    const std::size_t bytes = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1024;
    {
      Store store(directory);
      store_messages(store, messages, bytes);
      std::printf(
          "tables: %.0f bytes per million messages\n",
          static_cast<double>(store.segments.memory_bytes()) / static_cast<double>(messages) * 1e6);
      store.checkpoint();
      load_messages(store, bytes);
    }
    recover(directory, messages);
    Store store(directory);
    (void)SegmentRecovery(store.context, store.segments).run();
    settle_messages(store, messages);
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace segue::storage

int main(int argc, char** argv) {
  return segue::storage::run(argc, argv);
}
