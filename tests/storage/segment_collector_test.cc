#include "storage/segment_collector.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "segue/v1/types.pb.h"
#include "storage/segment_gc_policy.h"
#include "tests/fakes/manual_clock.h"
#include "tests/storage/segment_fixture.h"

namespace segue::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const QueueId kQueue{7};
constexpr std::uint64_t kSegment = 64 << 10;

/// A store with a collector, on a clock that stands still.
class Collecting : public ::testing::Test {
 protected:
  static GcOptions options() {
    GcOptions options;
    options.thresholds.segment_bytes = kSegment;
    options.thresholds.min_bytes = 8 << 10;
    options.thresholds.min_messages = 20;
    options.thresholds.slack_bytes = 16 << 10;
    return options;
  }

  /// So many messages of 1,000 bytes, in segments that are sealed.
  void fill(QueueId queue, std::uint64_t messages) {
    ASSERT_TRUE(life_.put(queue, {run_of(1, messages, 1000)}).is_ok());
    ASSERT_TRUE(life_.checkpoint().is_ok());
  }
  /// Settles all but each `nth`.
  void settle_but(QueueId queue, std::uint64_t messages, std::uint64_t nth) {
    for (std::uint64_t s = 1; s <= messages; ++s) {
      if (s % nth != 0) life_.settle(queue, s, s);
    }
  }
  /// False: nothing was done that gives the collector something to do.
  bool poll(Duration passes = milliseconds(50)) {
    clock_.advance(passes);
    collector_.poll(clock_.now());
    life_.executor().poll();
    if (collector_.take_wanted_checkpoints().empty()) return false;
    EXPECT_TRUE(life_.checkpoint().is_ok());
    return true;
  }
  void poll_until_idle() {
    for (int i = 0; i < 1000; ++i) {
      if (!poll() && collector_.idle()) return;
    }
    FAIL() << "it does not come to an end";
  }
  std::uint64_t disk_bytes() const { return store_.stored(kQueue).disk_bytes; }

  FaultyFileSystem files_;
  SegmentLife life_{files_, kSegment};
  ManualClock clock_;
  SegmentStore& store_{life_.store()};
  SegmentCollector collector_{life_.context(), life_.executor(), store_, options(), clock_};
};

TEST_F(Collecting, KeepsAQueueWithinItsBoundAndCountsWhatItDid) {
  fill(kQueue, 1000);
  const std::uint64_t before = disk_bytes();
  settle_but(kQueue, 1000, 10);
  poll_until_idle();
  EXPECT_LT(disk_bytes(), 2 * 100 * 1100 + (16 << 10));
  EXPECT_EQ(life_.all(kQueue).size(), 100u);
  const GcStats stats = collector_.stats();
  EXPECT_GT(stats.copies, 0u);
  EXPECT_EQ(stats.failed_copies, 0u);
  EXPECT_EQ(before - disk_bytes(), stats.reclaimed_bytes + stats.dropped_bytes);
  EXPECT_LE(stats.copied_bytes, 2 * stats.reclaimed_bytes);
  EXPECT_EQ(stats.debt_bytes, 0u);
  EXPECT_EQ(stats.waiting_queues, 0u);
}

/// Messages of 1,000 bytes, each with an expiration of its own, in batches of 50 that arrived 100
/// ms apart.
void fill_timed(SegmentLife& life, const std::vector<std::int64_t>& expirations) {
  for (std::size_t begin = 0; begin < expirations.size(); begin += 50) {
    const std::size_t end = std::min(begin + 50, expirations.size());
    MessageBatchBuilder builder;
    std::string bodies;
    for (std::size_t i = begin; i < end; ++i) {
      v1::MessageHeader header;
      header.mutable_properties()->set_expiration(std::to_string(expirations[i]));
      bodies += body_of(i + 1, 1000);
      builder.add(header.SerializeAsString(), SharedBytes::from(body_of(i + 1, 1000)));
    }
    const auto batch = MessageBatch::parse(SharedBytes::from(builder.take().batch),
                                           SharedBytes::from(std::move(bodies)))
                           .value();
    const auto arrived = static_cast<std::int64_t>(1'000'000 + begin * 2);
    ASSERT_TRUE(
        life.put(kQueue, {{Sequence{begin + 1}, batch, 0, batch->count(), arrived}}).is_ok());
  }
  ASSERT_TRUE(life.checkpoint().is_ok());
}

TEST_F(Collecting, KeepsAQueueWithinItsBoundWhateverTheTimesAtWhichMessagesExpire) {
  std::mt19937 random(7);
  const auto any = [&](std::size_t) -> std::int64_t { return 1 + random() % 20'000; };
  const auto mostly_short = [&](std::size_t) -> std::int64_t {
    return random() % 10 == 0 ? 1'000'000 : 1 + random() % 5'000;
  };
  const auto every_other = [](std::size_t i) -> std::int64_t {
    return i % 2 == 0 ? 4'000 : 15'000;
  };
  const auto alike = [](std::size_t) -> std::int64_t { return 8'000; };
  const std::vector<std::function<std::int64_t(std::size_t)>> patterns{any, mostly_short,
                                                                       every_other, alike};
  for (std::size_t pattern = 0; pattern < patterns.size(); ++pattern) {
    std::vector<std::int64_t> expirations;
    for (std::size_t i = 0; i < 2000; ++i) expirations.push_back(patterns[pattern](i));
    fill_timed(life_, expirations);
    for (std::int64_t now = 1'000'000; now <= 1'030'000; now += 2'500) {
      ExpiryScan scan;
      scan.now_ms = now;
      for (bool more = store_.table(kQueue) != nullptr; more;) {
        std::optional<ExpiredMessages> found;
        store_.find_expired(kQueue, scan, [&](Result<ExpiredMessages> r) { found = *r; });
        life_.poll_until([&] { return found.has_value(); });
        for (const NumberRange& range : found->ranges) {
          life_.settle(kQueue, range.first, range.last);
        }
        more = found->more;
        scan.from = found->scanned_through.next();
      }
      poll_until_idle();
      std::uint64_t left = 0;
      for (std::size_t i = 0; i < expirations.size(); ++i) {
        const auto arrived = static_cast<std::int64_t>(1'000'000 + i / 50 * 50 * 2);
        left += arrived + expirations[i] > now ? 1 : 0;
      }
      EXPECT_EQ(store_.stored(kQueue).messages, left) << pattern << " at " << now;
      std::uint64_t valid = 0;
      if (const SegmentTable* const table = store_.table(kQueue)) {
        for (const auto& segment : table->segments()) valid += figures_of(*segment).valid_bytes;
      }
      EXPECT_GE(valid, left * 1100);
      EXPECT_LE(disk_bytes(), 2 * valid + (16 << 10)) << pattern << " at " << now;
    }
    store_.drop_queue(kQueue);
    life_.executor().poll();
    collector_.forget(kQueue);
  }
}

TEST_F(Collecting, CountsSegmentsThatWentWithoutACopyAsDropped) {
  fill(kQueue, 1000);
  const std::uint64_t before = disk_bytes();
  life_.settle(kQueue, 1, 500);
  poll_until_idle();
  EXPECT_GT(collector_.stats().dropped_bytes, 400'000u);
  EXPECT_EQ(before - disk_bytes(), collector_.stats().dropped_bytes);
  EXPECT_EQ(collector_.stats().copies, 0u);
}

TEST_F(Collecting, AQueueThatACheckpointEmptiesHasNoDebt) {
  // In the segment that takes messages, where the garbage waits for a checkpoint.
  ASSERT_TRUE(life_.put(kQueue, {run_of(1, 50, 1000)}).is_ok());
  life_.settle(kQueue, 1, 49);
  collector_.poll(clock_.now());
  EXPECT_GT(collector_.stats().debt_bytes, 0u);
  life_.settle(kQueue, 50, 50);
  collector_.poll(clock_.now() + milliseconds(50));
  ASSERT_TRUE(life_.checkpoint().is_ok());
  EXPECT_EQ(store_.table(kQueue), nullptr);
  collector_.poll(clock_.now() + milliseconds(100));
  EXPECT_EQ(collector_.stats().debt_bytes, 0u);
}

TEST_F(Collecting, CopiesNoFasterThanItMay) {
  GcOptions slow = options();
  slow.bytes_per_second = 1 << 20;
  slow.thresholds.segment_bytes = 8 << 20;
  SegmentLife life(files_, 8 << 20);
  SegmentCollector collector(life.context(), life.executor(), life.store(), slow, clock_);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 12'000, 1000)}).is_ok());
  ASSERT_TRUE(life.checkpoint().is_ok());
  for (std::uint64_t s = 1; s <= 12'000; ++s) {
    if (s % 4 != 0) life.settle(kQueue, s, s);
  }
  const auto pass = [&](int times) {
    for (int i = 0; i < times; ++i) {
      clock_.advance(milliseconds(50));
      collector.poll(clock_.now());
      life.executor().poll();
    }
  };
  pass(20);  // a second
  EXPECT_FALSE(collector.idle());
  EXPECT_EQ(collector.stats().copies, 0u);
  pass(20);
  EXPECT_GT(collector.stats().bytes_per_second, 500u << 10);
  EXPECT_LE(collector.stats().bytes_per_second, 2u << 20);
  pass(2000);
  EXPECT_TRUE(collector.idle());
  EXPECT_EQ(life.store().stored(kQueue).messages, 3000u);
}

TEST_F(Collecting, BeginsNoCopyWhileItIsPausedButDropsWhatIsConsumed) {
  ASSERT_TRUE(collector_.command(GcCommand::kPause, std::nullopt).is_ok());
  fill(kQueue, 1000);
  settle_but(kQueue, 1000, 10);
  for (int i = 0; i < 100; ++i) poll();
  EXPECT_TRUE(collector_.stats().paused);
  EXPECT_EQ(collector_.stats().copies, 0u);
  EXPECT_EQ(collector_.stats().waiting_queues, 1u);
  EXPECT_EQ(collector_.command(GcCommand::kRun, std::nullopt).code(), Code::kPreconditionFailed);
  EXPECT_EQ(collector_.command(GcCommand::kRun, kQueue).code(), Code::kPreconditionFailed);
  life_.settle(kQueue, 1, 990);
  for (int i = 0; i < 100; ++i) poll();
  EXPECT_GT(collector_.stats().dropped_bytes, 800'000u);
  ASSERT_TRUE(collector_.command(GcCommand::kResume, std::nullopt).is_ok());
  poll_until_idle();
  EXPECT_FALSE(collector_.stats().paused);
  EXPECT_LT(disk_bytes(), 100'000u);
}

TEST_F(Collecting, PausesAQueueByItselfAndTellsItsDebt) {
  const QueueId other{8};
  ASSERT_TRUE(collector_.command(GcCommand::kPause, kQueue).is_ok());
  fill(kQueue, 1000);
  fill(other, 1000);
  settle_but(kQueue, 1000, 10);
  settle_but(other, 1000, 10);
  poll_until_idle();
  EXPECT_TRUE(collector_.queue(kQueue).paused);
  EXPECT_EQ(collector_.stats().paused_queues, 1u);
  EXPECT_FALSE(collector_.queue(other).paused);
  EXPECT_GT(disk_bytes(), 900'000u);
  EXPECT_LT(store_.stored(other).disk_bytes, 2 * 100 * 1100 + (16u << 10));
  EXPECT_GT(collector_.stats().debt_bytes, 800'000u);
  EXPECT_EQ(collector_.command(GcCommand::kRun, kQueue).code(), Code::kPreconditionFailed);
  ASSERT_TRUE(collector_.command(GcCommand::kResume, kQueue).is_ok());
  poll_until_idle();
  EXPECT_LT(disk_bytes(), 2 * 100 * 1100 + (16u << 10));
  EXPECT_EQ(collector_.stats().debt_bytes, 0u);
}

TEST_F(Collecting, ForgetsTheDebtOfAQueueThatIsDeleted) {
  ASSERT_TRUE(collector_.command(GcCommand::kPause, kQueue).is_ok());
  fill(kQueue, 1000);
  settle_but(kQueue, 1000, 10);
  poll_until_idle();
  EXPECT_GT(collector_.stats().debt_bytes, 0u);
  store_.drop_queue(kQueue);
  collector_.forget(kQueue);
  EXPECT_EQ(collector_.stats().debt_bytes, 0u);
  EXPECT_FALSE(collector_.queue(kQueue).paused);
  EXPECT_EQ(collector_.stats().paused_queues, 0u);
}

TEST_F(Collecting, HoldsAQueueToItsOwnThresholds) {
  const QueueId other{8};
  GcOverrides wide;
  wide.min_bytes = 2 << 20;
  collector_.set_overrides(kQueue, wide);
  fill(kQueue, 1000);
  fill(other, 1000);
  settle_but(kQueue, 1000, 10);
  settle_but(other, 1000, 10);
  poll_until_idle();
  EXPECT_GT(disk_bytes(), 900'000u);
  EXPECT_EQ(collector_.stats().debt_bytes, 0u);
  EXPECT_LT(store_.stored(other).disk_bytes, 2 * 100 * 1100 + (16u << 10));
  wide.shared_by = 256;  // 8 KiB are left of 2 MiB
  collector_.set_overrides(kQueue, wide);
  poll_until_idle();
  EXPECT_LT(disk_bytes(), 2 * 100 * 1100 + (16u << 10));
}

TEST_F(Collecting, CollectsWhatTheThresholdsLeaveWhenItIsAskedTo) {
  const QueueId other{8};
  fill(kQueue, 1000);
  fill(other, 1000);
  settle_but(kQueue, 1000, 1000);
  // A third is garbage: within the bound.
  for (std::uint64_t s = 3; s <= 1000; s += 3) life_.settle(other, s, s);
  poll_until_idle();
  const std::uint64_t before = store_.stored(other).disk_bytes;
  EXPECT_GT(before, 950'000u);
  ASSERT_TRUE(collector_.command(GcCommand::kRun, other).is_ok());
  EXPECT_TRUE(collector_.queue(other).running);
  EXPECT_TRUE(collector_.stats().running);
  poll_until_idle();
  EXPECT_FALSE(collector_.queue(other).running);
  EXPECT_LT(store_.stored(other).disk_bytes, before * 3 / 4);
  EXPECT_EQ(store_.stored(other).messages, 667u);

  ASSERT_TRUE(collector_.command(GcCommand::kRun, std::nullopt).is_ok());
  poll_until_idle();
  EXPECT_FALSE(collector_.stats().running);
  EXPECT_LT(disk_bytes(), 5'000u);
}

TEST_F(Collecting, DoesNotRemoveWhatWasCopiedUntilTheCopysFlagsAreWritten) {
  fill(kQueue, 200);
  settle_but(kQueue, 200, 10);
  for (int i = 0; i < 1000 && collector_.stats().copies == 0; ++i) {
    clock_.advance(milliseconds(50));
    collector_.poll(clock_.now());
    while (life_.executor().step()) {
    }
    // The copy is made, and does not stand for its sources yet.
    life_.settle(kQueue, 10, 10);
    files_.clear_faults();
    files_.fail_path("-1.index", FaultyFileSystem::kWrite | FaultyFileSystem::kOpen,
                     Code::kIoError);
    life_.executor().poll();  // puts it in their place
    life_.executor().poll();  // would write the flags and remove them
    files_.clear_faults();
  }
  EXPECT_GT(collector_.stats().copies, 0u);
  poll_until_idle();
  EXPECT_EQ(life_.all(kQueue).size(), 19u);
  EXPECT_TRUE(life_.log().contains("segments_not_removed"));
}

}  // namespace
}  // namespace segue::storage
