// For how long nothing else can be done while a queue's garbage is collected, against the size of
// its files: by Segue's collector, beside the textbook's (one data file for a queue; what is valid
// is copied into a new one under the queue's lock, which then takes its place).
//
//     gc_pauses DIRECTORY [LARGEST_MIB [BODY_BYTES]]     (default 1024, 1024)
//
// Prints a Markdown table. The directory is made, and removed at the end.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/message_batch.h"
#include "storage/disk_data_center.h"
#include "storage/posix_file_system.h"

namespace segue::storage {
namespace {

constexpr std::uint32_t kPerBatch = 512;
constexpr std::uint64_t kMib = 1 << 20;
constexpr int kSettledInATurn = 1000;
const QueueId kQueue{1};
const ShardId kShard{0};

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Two messages of three are acknowledged.
bool acknowledged(std::uint64_t sequence) {
  return sequence % 3 != 0;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "gc_pauses: %s\n", what.c_str());
  std::exit(1);
}

void check(const Status& status) {
  if (!status.is_ok()) fail(status.to_string());
}

struct Figures {
  double longest_pause_us = 0;  // of a turn of the reactor
  double longest_install_us = 0;
  double total_seconds = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t left_bytes = 0;
};

/// The node's reactor, with nothing else to do than to look after the disk.
class Store {
 public:
  Store(const std::string& directory, std::size_t body_bytes) : body_bytes_(body_bytes) {
    DiskOptions options;
    options.directory = directory;
    options.cluster = "bench";
    options.node_id = "n1";
    options.gc->bytes_per_second = 1ull << 40;  // how fast it can be, not how gentle
    auto opened = open_disk_data_center(
        files_, std::move(options),
        [](DiskDataCenter&, const std::vector<RecoveredShard>&) { return Status::ok(); },
        [](const ReplayedRecord&) { return Status::ok(); });
    check(opened.is_ok() ? Status::ok() : opened.status());
    disk_ = std::move(opened->disk);
  }
  ~Store() { disk_->stop(); }

  void fill(std::uint64_t messages) {
    check(disk_->collect(GcCommand::kPause, std::nullopt));
    const MessageBatchPtr batch = make_batch();
    std::uint64_t begun = 0;
    std::uint64_t ended = 0;
    for (std::uint64_t s = 1; s <= messages; s += kPerBatch) {
      disk_->store(kShard, kQueue, {{Sequence{s}, batch, 0, kPerBatch}}, [&](const Status& stored) {
        check(stored);
        ++ended;
      });
      ++begun;
      while (begun > ended + 32) turn();
    }
    while (ended < begun) turn();
    checkpoint();
    for (std::uint64_t s = 1; s <= messages; ++s) {
      if (acknowledged(s)) disk_->settle(kQueue, Sequence{s}, Sequence{s});
    }
  }

  /// Meanwhile a consumer acknowledges half of what is left.
  Figures collect(std::uint64_t messages) {
    check(disk_->collect(GcCommand::kResume, std::nullopt));
    check(disk_->collect(GcCommand::kRun, std::nullopt));
    Figures figures;
    std::uint64_t consumed = 0;
    const auto begin = Clock::now();
    while (true) {
      const auto turn_begin = Clock::now();
      disk_->poll();
      figures.longest_pause_us = std::max(figures.longest_pause_us, microseconds_since(turn_begin));
      for (const ShardId shard : disk_->take_wanted_checkpoints()) begin_checkpoint(shard);
      if (!disk_->stats().gc.running && checkpoints_ == 0) break;
      for (int i = 0; i < kSettledInATurn && consumed < messages / 2; ++i) {
        ++consumed;
        disk_->settle(kQueue, Sequence{consumed}, Sequence{consumed});
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    figures.total_seconds = microseconds_since(begin) / 1e6;
    figures.longest_install_us =
        std::chrono::duration<double, std::micro>(disk_->stats().gc.longest_pause).count();
    figures.copied_bytes = disk_->stats().gc.copied_bytes;
    figures.left_bytes = disk_->stored(kQueue).disk_bytes;
    return figures;
  }

 private:
  MessageBatchPtr make_batch() const {
    MessageBatchBuilder builder;
    const SharedBytes body = SharedBytes::from(std::string(body_bytes_, 'b'));
    for (std::uint32_t i = 0; i < kPerBatch; ++i) builder.add("header", body);
    return MessageBatch::parse(SharedBytes::from(builder.take().batch),
                               SharedBytes::from(std::string(body_bytes_ * kPerBatch, 'b')))
        .value();
  }
  void turn() {
    disk_->poll();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  void begin_checkpoint(ShardId shard) {
    ++checkpoints_;
    disk_->checkpoint(shard, LogIndex{1}, "state", [this](const Status& done) {
      check(done);
      --checkpoints_;
    });
  }
  void checkpoint() {
    begin_checkpoint(kShard);
    while (checkpoints_ > 0) turn();
  }

  const std::size_t body_bytes_;
  PosixFileSystem files_;
  std::unique_ptr<DiskDataCenter> disk_;
  int checkpoints_ = 0;
};

/// The textbook's: all that it does is a pause, since the lock is held.
Figures collect_as_the_textbook(const std::string& directory, std::uint64_t messages,
                                std::size_t body_bytes) {
  const std::string path = directory + "/queue.data";
  const std::string copy_path = directory + "/queue.copy";
  const std::size_t record = body_bytes + 32;
  std::vector<char> chunk(kPerBatch * record, 'b');
  const auto open_new = [](const std::string& name) {
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) fail("cannot make " + name);
    return fd;
  };
  const auto write_all = [](int fd, const char* data, std::size_t size) {
    while (size > 0) {
      const ssize_t written = ::write(fd, data, size);
      if (written <= 0) fail("a write failed");
      data += written;
      size -= static_cast<std::size_t>(written);
    }
  };
  const int from = open_new(path);
  for (std::uint64_t s = 1; s <= messages; s += kPerBatch) {
    write_all(from, chunk.data(), chunk.size());
  }
  if (::fdatasync(from) != 0) fail("a sync failed");

  Figures figures;
  const auto begin = Clock::now();
  const int to = open_new(copy_path);
  std::vector<char> valid;
  std::uint64_t sequence = 1;
  for (std::uint64_t offset = 0; sequence <= messages; offset += chunk.size()) {
    if (::pread(from, chunk.data(), chunk.size(), static_cast<off_t>(offset)) <= 0) {
      fail("a read failed");
    }
    valid.clear();
    for (std::uint32_t i = 0; i < kPerBatch; ++i, ++sequence) {
      if (acknowledged(sequence)) continue;
      valid.insert(valid.end(), chunk.begin() + static_cast<std::ptrdiff_t>(i * record),
                   chunk.begin() + static_cast<std::ptrdiff_t>((i + 1) * record));
    }
    write_all(to, valid.data(), valid.size());
    figures.copied_bytes += valid.size();
  }
  if (::fdatasync(to) != 0 || std::rename(copy_path.c_str(), path.c_str()) != 0) {
    fail("the copy could not be put in place");
  }
  figures.longest_pause_us = microseconds_since(begin);
  figures.total_seconds = figures.longest_pause_us / 1e6;
  ::close(from);
  ::close(to);
  ::unlink(path.c_str());
  return figures;
}

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: gc_pauses DIRECTORY [LARGEST_MIB [BODY_BYTES]]\n");
    return 64;
  }
  const std::string directory = argv[1];
  const std::uint64_t largest = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024;
  const std::size_t body_bytes = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1024;
  std::filesystem::create_directories(directory);
  std::printf(
      "| files of the queue | longest turn | of it to put a copy in place | collected in | copied "
      "| left | the textbook's pause "
      "|\n| --- | --- | --- | --- | --- | --- | --- |\n");
  for (std::uint64_t mib = 1; mib <= largest; mib *= 4) {
    const std::uint64_t messages =
        std::max<std::uint64_t>(1, mib * kMib / body_bytes / kPerBatch) * kPerBatch;
    Figures ours;
    {
      Store store(directory + "/node", body_bytes);
      store.fill(messages);
      ours = store.collect(messages);
    }
    std::filesystem::remove_all(directory + "/node");
    const Figures textbook = collect_as_the_textbook(directory, messages, body_bytes);
    std::printf("| %llu MiB | %.0f us | %.0f us | %.3f s | %.1f MiB | %.1f MiB | %.1f ms |\n",
                static_cast<unsigned long long>(mib), ours.longest_pause_us,
                ours.longest_install_us, ours.total_seconds,
                static_cast<double>(ours.copied_bytes) / kMib,
                static_cast<double>(ours.left_bytes) / kMib, textbook.longest_pause_us / 1000);
    std::fflush(stdout);
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace segue::storage

int main(int argc, char** argv) {
  return segue::storage::run(argc, argv);
}
