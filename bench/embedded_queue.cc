// What a SegmentedQueue does in process, on one thread.
//
//     embedded_queue DIRECTORY [--none|--interval|--every-call] [--bytes N] [--messages N]
//                              [--batch N] [--memory MIB] [--single] [--cached|--past-cache]
//
// Adds all messages, then polls all; one line of figures for each. --batch: messages per call
// (default 1,000); --single: one per call, offer() and poll(); --cached, --past-cache: files of
// messages go through the page cache, or do not. The directory is made, and removed at the end.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "segue/segmented_queue.h"

namespace segue::storage {
namespace {

struct Load {
  SegmentedQueueOptions queue;
  std::uint64_t messages = 0;
  std::size_t bytes = 10;
  std::size_t batch = 1000;
  bool single = false;
};

[[noreturn]] void fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Prints how long `work` took for each message.
template <typename Work>
void measure(const char* what, const Load& load, Work work) {
  const double cpu = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  work();
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto count = static_cast<double>(load.messages);
  std::printf("%s %zu B: %.0f messages/s, %.0f MB/s, %.0f ns and %.0f ns of CPU each\n", what,
              load.bytes, count / took, count * static_cast<double>(load.bytes) / took / 1e6,
              took / count * 1e9, (cpu_seconds() - cpu) / count * 1e9);
  std::fflush(stdout);
}

void add(SegmentedQueue& queue, const Load& load) {
  const std::string body(load.bytes, 'm');
  if (load.single) {
    for (std::uint64_t i = 0; i < load.messages; ++i) {
      if (const Status status = queue.offer(body); !status.is_ok()) fail(status);
    }
    return;
  }
  const std::vector<std::string_view> batch(load.batch, body);
  for (std::uint64_t i = 0; i < load.messages; i += load.batch) {
    const auto added = queue.offer_batch(batch);
    if (!added.is_ok()) fail(added.status());
  }
}

std::uint64_t poll(SegmentedQueue& queue, const Load& load) {
  std::uint64_t bytes = 0;
  if (load.single) {
    std::string message;
    for (;;) {
      const auto polled = queue.poll(message);
      if (!polled.is_ok()) fail(polled.status());
      if (!*polled) return bytes;
      bytes += message.size();
    }
  }
  for (;;) {
    const auto batch = queue.poll_batch(load.batch);
    if (!batch.is_ok()) fail(batch.status());
    if (batch->empty()) return bytes;
    for (const std::string_view message : *batch) bytes += message.size();
  }
}

int run(const Load& load) {
  std::filesystem::remove_all(load.queue.directory);
  auto opened = SegmentedQueue::open(load.queue);
  if (!opened.is_ok()) fail(opened.status());
  SegmentedQueue& queue = **opened;
  measure("add ", load, [&] { add(queue, load); });
  std::uint64_t bytes = 0;
  const auto stats = queue.stats();
  measure("poll", load, [&] { bytes = poll(queue, load); });
  std::printf("after adding: %.0f MB in memory, %.0f MB on disk\n",
              static_cast<double>(stats.memory_bytes) / 1e6,
              static_cast<double>(stats.disk_bytes) / 1e6);
  if (bytes != load.messages * load.bytes) {
    std::fprintf(stderr, "polled %llu bytes\n", static_cast<unsigned long long>(bytes));
    return 1;
  }
  if (const Status closed = queue.close(); !closed.is_ok()) fail(closed);
  std::filesystem::remove_all(load.queue.directory);
  return 0;
}

int main(int argc, char** argv) {
  Load load;
  load.queue.durability = Durability::kNone;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto number = [&]() -> std::uint64_t {
      return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0;
    };
    if (argument == "--none") {
      load.queue.durability = Durability::kNone;
    } else if (argument == "--interval") {
      load.queue.durability = Durability::kInterval;
    } else if (argument == "--every-call") {
      load.queue.durability = Durability::kEveryCall;
    } else if (argument == "--bytes") {
      load.bytes = number();
    } else if (argument == "--messages") {
      load.messages = number();
    } else if (argument == "--batch") {
      load.batch = number();
    } else if (argument == "--memory") {
      load.queue.memory_bytes = number() << 20;
    } else if (argument == "--single") {
      load.single = true;
    } else if (argument == "--cached") {
      load.queue.page_cache = true;
    } else if (argument == "--past-cache") {
      load.queue.page_cache = false;
    } else if (!argument.starts_with("-")) {
      load.queue.directory = argument;
    } else {
      load.batch = 0;  // an unknown option: how it is used
    }
  }
  if (load.queue.directory.empty() || load.batch == 0) {
    std::fprintf(stderr,
                 "usage: embedded_queue DIRECTORY [options], see the source's first lines\n");
    return 2;
  }
  if (load.messages == 0) load.messages = load.bytes < 100 ? 50'000'000 : 2'000'000;
  load.messages -= load.messages % load.batch;
  return run(load);
}

}  // namespace
}  // namespace segue::storage

int main(int argc, char** argv) {
  return segue::storage::main(argc, argv);
}
