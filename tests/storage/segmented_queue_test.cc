#include "segue/segmented_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "storage/data_check.h"
#include "storage/posix_file_system.h"
#include "tests/fakes/process.h"
#include "tests/storage/embedded_fixture.h"

namespace segue::storage {
namespace {

constexpr Durability kAll[] = {Durability::kNone, Durability::kInterval, Durability::kEveryCall};

class SegmentedQueueTest : public ::testing::TestWithParam<Durability> {
 protected:
  SegmentedQueueTest() { options_ = small_queue(GetParam()); }

  SegmentedQueue& queue() {
    if (queue_ == nullptr) {
      auto opened = open_queue(files_, clock_, options_);
      EXPECT_TRUE(opened.is_ok()) << opened.status().to_string();
      queue_ = std::move(*opened);
    }
    return *queue_;
  }
  void reopen() {
    ASSERT_TRUE(queue().close().is_ok());
    queue_.reset();
    queue();
  }
  void kill() {
    files_.kill_process();
    SegmentedQueueOpener::abandon(std::move(queue_));
    queue();
  }
  void offer(const std::string& message) { ASSERT_TRUE(queue().offer(message).is_ok()); }
  std::string poll() {
    std::string message;
    const auto polled = queue().poll(message);
    if (!polled.is_ok()) return polled.status().to_string();
    return *polled ? message : "(none)";
  }
  static std::string body(std::uint64_t number) {
    return "message " + std::to_string(number) + std::string(number % 300, 'x');
  }

  FaultyFileSystem files_;
  RunningClock clock_;
  SegmentedQueueOptions options_;
  std::unique_ptr<SegmentedQueue> queue_;
};

TEST_P(SegmentedQueueTest, GivesMessagesInTheOrderThatTheyWereOffered) {
  EXPECT_TRUE(queue().empty());
  EXPECT_EQ(poll(), "(none)");
  offer("a");
  offer("");
  EXPECT_EQ(queue().size(), 2u);
  EXPECT_EQ(poll(), "a");
  offer(std::string("b\0c", 3));
  EXPECT_EQ(poll(), "");
  EXPECT_EQ(poll(), std::string("b\0c", 3));
  EXPECT_EQ(poll(), "(none)");
  EXPECT_EQ(queue().size(), 0u);
}

TEST_P(SegmentedQueueTest, PeekLeavesTheMessage) {
  std::string message;
  EXPECT_FALSE(*queue().peek(message));
  offer("a");
  EXPECT_TRUE(*queue().peek(message));
  EXPECT_EQ(message, "a");
  EXPECT_EQ(queue().size(), 1u);
  EXPECT_EQ(poll(), "a");
}

TEST_P(SegmentedQueueTest, HoldsMoreThanTheMemory) {
  constexpr std::uint64_t kMessages = 5000;
  for (std::uint64_t i = 0; i < kMessages; ++i) offer(body(i));
  EXPECT_LT(queue().stats().memory_bytes, (100u << 10));
  EXPECT_EQ(queue().size(), kMessages);
  for (std::uint64_t i = 0; i < kMessages / 2; ++i) ASSERT_EQ(poll(), body(i));
  reopen();
  EXPECT_EQ(queue().size(), kMessages / 2);
  for (std::uint64_t i = kMessages / 2; i < kMessages; ++i) ASSERT_EQ(poll(), body(i));
  EXPECT_EQ(poll(), "(none)");
}

TEST_P(SegmentedQueueTest, TakesAMessageLargerThanTheMemory) {
  const std::string large(300 << 10, 'l');
  offer("before");
  offer(large);
  offer("behind");
  reopen();
  EXPECT_EQ(poll(), "before");
  EXPECT_EQ(poll(), large);
  EXPECT_EQ(poll(), "behind");
}

TEST_P(SegmentedQueueTest, BatchesGiveAllMessagesOnce) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < 3000; ++i) texts.push_back(body(i));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  EXPECT_EQ(*queue().offer_batch(views), texts.size());
  std::size_t next = 0;
  while (next < texts.size()) {
    const auto batch = queue().poll_batch(97);
    ASSERT_TRUE(batch.is_ok()) << batch.status().to_string();
    ASSERT_GT(batch->size(), 0u);
    ASSERT_LE(batch->size(), 97u);
    for (const std::string_view message : *batch) ASSERT_EQ(message, texts[next++]);
  }
  EXPECT_TRUE(queue().poll_batch(10)->empty());
}

TEST_P(SegmentedQueueTest, UnackedMessagesComeAgainAfterReopening) {
  for (int i = 0; i < 6; ++i) offer(std::to_string(i));
  const auto batch = queue().poll_unacked(4);
  ASSERT_EQ(batch->size(), 4u);
  EXPECT_EQ(queue().stats().unacked, 4u);
  EXPECT_TRUE(queue().ack(batch->first() + 1, 2).is_ok());
  EXPECT_EQ(queue().size(), 4u);
  EXPECT_EQ(queue().stats().unacked, 2u);
  reopen();
  EXPECT_EQ(queue().stats().unacked, 0u);
  for (const char* left : {"0", "3", "4", "5", "(none)"}) EXPECT_EQ(poll(), left);
}

TEST_P(SegmentedQueueTest, ReleasedMessagesComeBeforeLaterOnes) {
  constexpr std::uint64_t kMessages = 3000;
  for (std::uint64_t i = 0; i < kMessages; ++i) offer(body(i));
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto batch = queue().poll_unacked();
    EXPECT_EQ(batch->front(), body(i));
    numbers.push_back(batch->first());
  }
  // Far enough that the first ones are no longer in memory.
  for (std::uint64_t i = 50; i < 2000; ++i) ASSERT_EQ(poll(), body(i));
  EXPECT_TRUE(queue().release(numbers[7]).is_ok());
  EXPECT_TRUE(queue().release(numbers[3], 2).is_ok());
  for (const std::uint64_t i : {3, 4, 7, 2000}) EXPECT_EQ(poll(), body(i));
  EXPECT_TRUE(queue().ack(numbers[0]).is_ok());
  EXPECT_EQ(queue().size(), kMessages - 1950 - 4 - 1);
}

TEST_P(SegmentedQueueTest, RefusesToAckWhatIsNotOut) {
  offer("a");
  offer("b");
  const auto batch = queue().poll_unacked();
  const std::uint64_t number = batch->first();
  EXPECT_EQ(queue().ack(number + 1).code(), Code::kNotFound);
  EXPECT_EQ(queue().ack(number, 2).code(), Code::kNotFound);
  EXPECT_EQ(queue().ack(number, ~0ull).code(), Code::kNotFound);
  EXPECT_EQ(queue().ack(0).code(), Code::kNotFound);
  EXPECT_TRUE(queue().ack(*batch).is_ok());
  EXPECT_EQ(queue().ack(number).code(), Code::kNotFound);
  EXPECT_EQ(queue().release(number).code(), Code::kNotFound);
  EXPECT_EQ(poll(), "b");
  EXPECT_EQ(queue().ack(number + 1).code(), Code::kNotFound);
}

TEST_P(SegmentedQueueTest, BoundsWhatIsOut) {
  for (int i = 0; i < 150; ++i) offer(std::to_string(i));
  std::uint64_t out = 0;
  while (out < 100) out += queue().poll_unacked(70)->size();
  EXPECT_EQ(out, 100u);
  EXPECT_EQ(queue().poll_unacked().status().code(), Code::kResourceError);
  EXPECT_EQ(poll(), "100");
}

TEST_P(SegmentedQueueTest, ClearRemovesEverything) {
  for (std::uint64_t i = 0; i < 4000; ++i) offer(body(i));
  const auto batch = queue().poll_unacked(5);
  EXPECT_TRUE(queue().clear().is_ok());
  EXPECT_EQ(queue().size(), 0u);
  EXPECT_EQ(poll(), "(none)");
  EXPECT_EQ(queue().ack(*batch).code(), Code::kNotFound);
  EXPECT_EQ(batch->front(), body(0));  // polled ones stay readable
  offer("new");
  reopen();
  EXPECT_EQ(poll(), "new");
  EXPECT_EQ(poll(), "(none)");
}

TEST_P(SegmentedQueueTest, FilesAreGivenBackWhenMessagesAreConsumed) {
  for (std::uint64_t i = 0; i < 20000; ++i) offer(body(i));
  ASSERT_TRUE(queue().sync().is_ok());
  const std::uint64_t full = files_.used_bytes();
  EXPECT_GT(full, 2u << 20);
  for (std::uint64_t i = 0; i < 20000; ++i) ASSERT_EQ(poll(), body(i));
  reopen();
  EXPECT_LT(files_.used_bytes(), 400u << 10);
}

TEST_P(SegmentedQueueTest, WhatWasSyncedSurvivesAKill) {
  for (std::uint64_t i = 0; i < 3000; ++i) offer(body(i));
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(poll(), body(i));
  ASSERT_TRUE(queue().sync().is_ok());
  kill();
  EXPECT_EQ(queue().size(), 2000u);
  for (std::uint64_t i = 1000; i < 3000; ++i) ASSERT_EQ(poll(), body(i));
  EXPECT_EQ(poll(), "(none)");
}

TEST_P(SegmentedQueueTest, NumbersAreNeverGivenAgain) {
  std::set<std::uint64_t> numbers;
  for (int round = 0; round < 6; ++round) {
    for (std::uint64_t i = 0; i < 700; ++i) offer(body(i));
    for (std::uint64_t i = 0; i < 700; ++i) {
      const auto batch = queue().poll_unacked();
      ASSERT_EQ(batch->size(), 1u);
      ASSERT_TRUE(numbers.insert(batch->first()).second) << batch->first();
      ASSERT_TRUE(queue().ack(*batch).is_ok());
    }
    if (round % 2 == 0) reopen();
  }
}

TEST_P(SegmentedQueueTest, ADamagedBlockIsReportedAndTheRestGoesOn) {
  for (std::uint64_t i = 0; i < 2000; ++i) offer(body(i));
  reopen();
  std::string data;
  for (const std::string& path : files_.paths()) {
    if (path.ends_with(".data")) data = data.empty() ? path : data;
  }
  ASSERT_FALSE(data.empty());
  files_.flip_bit(data, 8 * 9000);
  std::uint64_t corrupt = 0, found = 0;
  for (;;) {
    std::string message;
    const auto polled = queue().poll(message);
    if (!polled.is_ok()) {
      EXPECT_EQ(polled.status().code(), Code::kCorruption) << polled.status().to_string();
      ++corrupt;
    } else if (*polled) {
      ++found;
    } else {
      break;
    }
  }
  EXPECT_EQ(corrupt, 1u);
  EXPECT_GT(queue().stats().damaged, 0u);
  EXPECT_EQ(found + queue().stats().damaged, 2000u);
  EXPECT_EQ(queue().size(), 0u);
}

TEST_P(SegmentedQueueTest, AFullDiskRefusesOffersAndHeals) {
  std::uint64_t offered = 0;
  for (; offered < 500; ++offered) offer(body(offered));
  files_.set_capacity(files_.used_bytes() + (300 << 10));
  Status status;
  for (int i = 0; i < 20000 && status.is_ok(); ++i) {
    status = queue().offer(body(offered));
    if (status.is_ok()) ++offered;
  }
  EXPECT_EQ(status.code(), Code::kNoSpace) << status.to_string();
  std::uint64_t polled = 0;
  for (; polled < 300; ++polled) ASSERT_EQ(poll(), body(polled));
  files_.set_capacity(~0ull);
  for (int i = 0; i < 2000 && !(status = queue().offer(body(offered))).is_ok(); ++i) {
    SegmentedQueueOpener::tick(queue());
  }
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  ++offered;
  for (; polled < offered; ++polled) ASSERT_EQ(poll(), body(polled));
  EXPECT_EQ(poll(), "(none)");
}

TEST_P(SegmentedQueueTest, AFailedSyncStopsTheQueueAndNotTheProcess) {
  offer("a");
  ASSERT_TRUE(queue().sync().is_ok());
  files_.fail_path("/", FaultyFileSystem::kSync, Code::kIoError, 1000);
  Status status = queue().offer("b");
  if (status.is_ok()) status = queue().sync();
  EXPECT_EQ(status.code(), Code::kIoError) << status.to_string();
  EXPECT_EQ(queue().offer("c").code(), Code::kIoError);
  EXPECT_EQ(queue().close().code(), Code::kIoError);
  queue_.reset();
  files_.clear_faults();
  EXPECT_EQ(poll(), "a");
}

TEST_P(SegmentedQueueTest, CallsAfterCloseAreErrors) {
  offer("a");
  EXPECT_TRUE(queue().close().is_ok());
  EXPECT_EQ(queue().offer("b").code(), Code::kPreconditionFailed);
  std::string message;
  EXPECT_EQ(queue().poll(message).status().code(), Code::kPreconditionFailed);
  EXPECT_TRUE(queue().close().is_ok());
}

INSTANTIATE_TEST_SUITE_P(Durabilities, SegmentedQueueTest, ::testing::ValuesIn(kAll),
                         durability_name);

// ---- with its threads, on the machine's files

TEST(SegmentedQueueOnDisk, RefusesADirectoryThatIsOpen) {
  const TempDir directory;
  SegmentedQueueOptions options;
  options.directory = directory.path() + "/queue";
  const auto queue = SegmentedQueue::open(options);
  ASSERT_TRUE(queue.is_ok()) << queue.status().to_string();
  EXPECT_EQ(SegmentedQueue::open(options).status().code(), Code::kInvalidConfig);
}

TEST(SegmentedQueueOnDisk, IsCheckedWithoutACatalog) {
  const TempDir directory;
  SegmentedQueueOptions options;
  options.directory = directory.path() + "/queue";
  {
    const auto queue = SegmentedQueue::open(options);
    ASSERT_TRUE(queue.is_ok()) << queue.status().to_string();
    ASSERT_TRUE((*queue)->offer("one").is_ok());
  }
  PosixFileSystem files;
  std::vector<std::string> found;
  DataCheckOptions check;
  check.found = [&](const CheckFinding& finding) {
    found.push_back(finding.file + ": " + finding.what);
  };
  const auto totals = check_data(files, options.directory, check);
  ASSERT_TRUE(totals.is_ok()) << totals.status().to_string();
  EXPECT_EQ(found, std::vector<std::string>());
}

TEST(SegmentedQueueOnDisk, RefusesOptionsThatCannotBe) {
  EXPECT_EQ(SegmentedQueue::open({}).status().code(), Code::kInvalidConfig);
  SegmentedQueueOptions options;
  options.directory = "/tmp";
  options.memory_bytes = 1;
  EXPECT_EQ(SegmentedQueue::open(options).status().code(), Code::kInvalidConfig);
}

class SegmentedQueueThreads : public ::testing::TestWithParam<Durability> {};

TEST_P(SegmentedQueueThreads, ProducersAndConsumersShareOneQueue) {
  const TempDir directory;
  SegmentedQueueOptions options;
  options.directory = directory.path() + "/queue";
  options.durability = GetParam();
  options.memory_bytes = 4 << 20;
  options.interval = std::chrono::milliseconds(20);
  auto opened = SegmentedQueue::open(options);
  ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
  SegmentedQueue& queue = **opened;
  const std::uint64_t each = GetParam() == Durability::kEveryCall ? 300 : 20000;
  constexpr int kProducers = 3;
  std::atomic<std::uint64_t> polled{0};
  std::vector<std::thread> threads;
  for (int producer = 0; producer < kProducers; ++producer) {
    threads.emplace_back([&, producer] {
      for (std::uint64_t i = 0; i < each; ++i) {
        const std::string text = std::to_string(producer) + " " + std::to_string(i) + " ";
        ASSERT_TRUE(queue.offer(text + std::string(i % 700, 'x')).is_ok());
      }
    });
  }
  std::array<std::array<std::vector<std::uint64_t>, kProducers>, 2> seen;
  for (std::size_t consumer = 0; consumer < 2; ++consumer) {
    threads.emplace_back([&, consumer] {
      while (polled < kProducers * each) {
        const auto batch = consumer == 0 ? queue.poll_batch(50) : queue.poll_unacked(50);
        ASSERT_TRUE(batch.is_ok()) << batch.status().to_string();
        if (batch->empty()) std::this_thread::yield();
        for (const std::string_view message : *batch) {
          seen[consumer][static_cast<std::size_t>(message[0] - '0')].push_back(
              std::stoull(std::string(message.substr(2, 8))));
        }
        if (consumer == 1) {
          ASSERT_TRUE(queue.ack(*batch).is_ok());
        }
        polled += batch->size();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue.size(), 0u);
  for (std::size_t producer = 0; producer < kProducers; ++producer) {
    std::set<std::uint64_t> all;
    for (const auto& consumer : seen) {
      EXPECT_TRUE(std::is_sorted(consumer[producer].begin(), consumer[producer].end()));
      all.insert(consumer[producer].begin(), consumer[producer].end());
    }
    EXPECT_EQ(all.size(), each);
  }
  EXPECT_TRUE(queue.close().is_ok());
}

INSTANTIATE_TEST_SUITE_P(Durabilities, SegmentedQueueThreads, ::testing::ValuesIn(kAll),
                         durability_name);

}  // namespace
}  // namespace segue::storage
