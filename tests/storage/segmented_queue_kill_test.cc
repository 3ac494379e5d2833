// A SegmentedQueue in a process of its own that is killed.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "segue/segmented_queue.h"
#include "tests/fakes/process.h"

namespace segue::storage {
namespace {

constexpr std::uint64_t kBatch = 7;

std::string body(std::uint64_t number) {
  return std::to_string(number) + ":" + std::string(number % 3000, 'b');
}

/// What the child tells through the pipe: how far it has come for certain.
struct Progress {
  std::uint64_t offered = 0;
  std::uint64_t polled = 0;
};

SegmentedQueueOptions options_of(const std::string& directory) {
  SegmentedQueueOptions options;
  options.directory = directory;
  options.memory_bytes = 4 << 20;
  options.segment_bytes = 1 << 20;
  options.log_bytes = 4 << 20;
  return options;
}

/// Offers and polls until it is killed. Two offered for one polled, so that segments are made and
/// it is never empty.
[[noreturn]] void work(const std::string& directory, Progress progress, int pipe) {
  auto opened = SegmentedQueue::open(options_of(directory));
  if (!opened.is_ok()) ::_exit(2);
  SegmentedQueue& queue = **opened;
  std::vector<std::string> texts(kBatch);
  for (std::uint64_t turn = 0;; ++turn) {
    std::vector<std::string_view> views;
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      texts[i] = body(progress.offered + i);
      views.push_back(texts[i]);
    }
    const auto added = queue.offer_batch(views);
    if (!added.is_ok() || *added != kBatch) ::_exit(3);
    progress.offered += kBatch;
    if (turn % 2 == 1) {
      const auto batch = turn % 4 == 1 ? queue.poll_batch(kBatch) : queue.poll_unacked(kBatch);
      if (!batch.is_ok()) ::_exit(4);
      if (turn % 4 != 1 && !queue.ack(*batch).is_ok()) ::_exit(5);
      progress.polled += batch->size();
    }
    if (::write(pipe, &progress, sizeof progress) != sizeof progress) ::_exit(6);
  }
}

/// Runs the child until it has told `turns` times, and kills it. The last that it told.
Progress run_and_kill(const std::string& directory, Progress progress, int turns) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    work(directory, progress, ends[1]);
  }
  ::close(ends[1]);
  Progress told = progress;
  for (int i = 0; i < turns && ::read(ends[0], &told, sizeof told) == sizeof told; ++i) {
  }
  ::kill(child, SIGKILL);
  while (::read(ends[0], &told, sizeof told) == sizeof told) {
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
  return told;
}

TEST(SegmentedQueueKill, NothingConfirmedIsLostOrComesBack) {
  const TempDir directory;
  const std::string path = directory.path() + "/queue";
  Progress progress;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Progress told = run_and_kill(path, progress, 1 + round * 37 % 200);
    auto opened = SegmentedQueue::open(options_of(path));
    ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
    // Of the one step that was not told of, all or a part may have happened.
    std::string message;
    ASSERT_TRUE(*(*opened)->peek(message));
    const std::uint64_t first = std::stoull(message);
    const std::uint64_t end = first + (*opened)->size();
    EXPECT_GE(first, told.polled);
    EXPECT_LE(first, told.polled + kBatch);
    EXPECT_GE(end, told.offered);
    EXPECT_LE(end, told.offered + kBatch);
    if (HasFailure()) return;
    progress = {end, first};
  }
  auto opened = SegmentedQueue::open(options_of(path));
  ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
  std::string message;
  for (std::uint64_t number = progress.polled; number < progress.offered; ++number) {
    const auto polled = (*opened)->poll_batch(1);
    ASSERT_TRUE(polled.is_ok()) << polled.status().to_string();
    ASSERT_EQ(polled->front(), body(number));
    if (number % 64 != 0) continue;
    const auto more = (*opened)->poll_batch(63);
    for (const std::string_view text : *more) ASSERT_EQ(text, body(++number));
  }
  EXPECT_EQ((*opened)->size(), 0u);
}

}  // namespace
}  // namespace segue::storage
