// A SegmentedQueue against a model, over a file system that fails, through restarts and crashes.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/random.h"
#include "tests/storage/embedded_fixture.h"
#include "tests/storage/model_workload.h"

namespace segue::storage {
namespace {

std::string body(std::uint64_t offered) {
  return std::to_string(offered) + ":" + std::string(offered * 37 % 900, 'b');
}

/// Does random things to a queue, and to a model of it.
class Driver {
 public:
  Driver(std::uint64_t seed, Durability durability)
      : random_(seed), options_(small_queue(durability)) {}

  void open() {
    auto opened = open_queue(files_, clock_, options_, [this] { return steps(); });
    ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
    queue_ = std::move(*opened);
    out_.clear();
  }
  /// The power may go meanwhile.
  void try_open() {
    auto opened = open_queue(files_, clock_, options_, [this] { return steps(); });
    if (opened.is_ok()) queue_ = std::move(*opened);
    out_.clear();
  }
  bool is_open() const { return queue_ != nullptr; }
  FaultyFileSystem& files() { return files_; }
  SeededRandom& random() { return random_; }

  /// Until the queue fails, at most `count` steps.
  void run(int count) {
    for (int i = 0; i < count && step(); ++i) {
    }
  }

  void reopen() {
    ASSERT_TRUE(queue_->close().is_ok());
    queue_.reset();
    note_durable();
    open();
  }
  void crash(bool power) {
    if (power) {
      files_.crash(random_);
    } else {
      files_.kill_process();
    }
    SegmentedQueueOpener::abandon(std::move(queue_));
    // What was not durable is there or not, and stays as it is.
    unsure_.clear();
    settled_.clear();
  }

  /// Empties the queue and compares with what must, and what may, be there.
  void check() {
    std::vector<std::string> held;
    for (;;) {
      std::string message;
      const auto polled = queue_->poll(message);
      ASSERT_TRUE(polled.is_ok()) << polled.status().to_string();
      if (!*polled) break;
      held.push_back(message);
    }
    EXPECT_EQ(queue_->size(), 0u);
    std::vector<std::uint64_t> order;
    for (const std::string& message : held) {
      const std::uint64_t offered = std::stoull(message);
      ASSERT_EQ(message, body(offered));
      order.push_back(offered);
    }
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(std::adjacent_find(order.begin(), order.end()), order.end());
    const std::set<std::uint64_t> there(order.begin(), order.end());
    for (const std::uint64_t offered : must_) EXPECT_TRUE(there.contains(offered)) << offered;
    for (const std::uint64_t offered : there) EXPECT_TRUE(may_.contains(offered)) << offered;
    ASSERT_TRUE(queue_->sync().is_ok());  // that they are gone
    must_.clear();
    may_.clear();
    unsure_.clear();
    settled_.clear();
  }

  /// In step with the model, without any doubt.
  void check_size() { EXPECT_EQ(queue_->size(), must_.size()); }

 private:
  int steps() { return static_cast<int>(random_.below(6)); }

  // must_: offered (and confirmed as durable), not settled. may_: offered, and not settled durably.
  void note_offered(std::uint64_t offered, bool confirmed) {
    may_.insert(offered);
    if (confirmed && options_.durability == Durability::kEveryCall) {
      must_.insert(offered);
    } else {
      unsure_.insert(offered);
    }
  }
  void note_settled(std::uint64_t offered, bool confirmed) {
    must_.erase(offered);
    unsure_.erase(offered);
    if (confirmed && options_.durability == Durability::kEveryCall) {
      may_.erase(offered);
    } else {
      settled_.insert(offered);
    }
  }
  void note_durable() {
    must_.insert(unsure_.begin(), unsure_.end());
    unsure_.clear();
    for (const std::uint64_t offered : settled_) may_.erase(offered);
    settled_.clear();
  }

  bool step() {
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        return offer_one();
      case 3:
      case 4:
        return offer_some();
      case 5:
      case 6:
        return poll_one();
      case 7:
        return poll_some();
      case 8:
      case 9:
        return take_out();
      case 10:
      case 11:
        return ack();
      case 12:
        return release();
      case 13:
        if (random_.below(8) > 0) return true;
        return sync();
      case 14:
        if (random_.below(40) > 0) return true;
        return clear();
      default:
        SegmentedQueueOpener::tick(*queue_);
        return true;
    }
  }

  bool offer_one() {
    const std::uint64_t offered = next_++;
    const Status status = queue_->offer(body(offered));
    note_offered(offered, status.is_ok());
    return status.is_ok();
  }
  bool offer_some() {
    std::vector<std::string> texts;
    const std::uint64_t first = next_;
    for (std::uint64_t i = random_.below(60); i > 0; --i) texts.push_back(body(next_++));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const auto added = queue_->offer_batch(views);
    // Fewer only when there is no space, as when the log cannot make its next file.
    const std::uint64_t end = added.is_ok() ? first + *added : next_;
    for (std::uint64_t offered = first; offered < end; ++offered) {
      note_offered(offered, added.is_ok());
    }
    return added.is_ok() && end == next_;
  }
  bool poll_one() {
    std::string peeked, message;
    const auto there = queue_->peek(peeked);
    if (!there.is_ok()) return false;
    const auto polled = queue_->poll(message);
    if (polled.is_ok()) {
      EXPECT_EQ(*there, *polled);
      if (*polled) {
        EXPECT_EQ(message, peeked);
        note_settled(std::stoull(message), true);
      }
    } else if (*there) {
      note_settled(std::stoull(peeked), false);
    }
    return polled.is_ok();
  }
  bool poll_some() {
    if (options_.durability == Durability::kEveryCall) return poll_one();
    const auto batch = queue_->poll_batch(1 + random_.below(80));
    if (!batch.is_ok()) return false;
    for (const std::string_view message : *batch) {
      note_settled(std::stoull(std::string(message)), true);
    }
    return true;
  }
  bool take_out() {
    const auto batch = queue_->poll_unacked(1 + random_.below(10));
    if (batch.status().code() == Code::kResourceError) return true;
    if (!batch.is_ok()) return false;
    std::uint64_t number = batch->first();
    for (const std::string_view message : *batch) {
      out_[number++] = std::stoull(std::string(message));
    }
    return true;
  }
  bool ack() {
    if (out_.empty()) return true;
    const auto first = some_out();
    std::uint64_t count = 0;
    const std::uint64_t most = 1 + random_.below(8);
    while (count < most && out_.contains(first->first + count)) ++count;
    const std::uint64_t number = first->first;
    const Status status = queue_->ack(number, count);
    for (std::uint64_t i = 0; i < count; ++i) {
      note_settled(out_[number + i], status.is_ok());
      out_.erase(number + i);
    }
    return status.is_ok();
  }
  bool release() {
    if (out_.empty()) return true;
    const auto one = some_out();
    const Status status = queue_->release(one->first);
    out_.erase(one);
    return status.is_ok();
  }
  std::map<std::uint64_t, std::uint64_t>::iterator some_out() {
    auto at = out_.lower_bound(random_.below(out_.rbegin()->first + 1));
    return at == out_.end() ? out_.begin() : at;
  }
  bool sync() {
    if (!queue_->sync().is_ok()) return false;
    note_durable();
    return true;
  }
  bool clear() {
    const Status status = queue_->clear();
    const std::set<std::uint64_t> all = may_;
    for (const std::uint64_t offered : all) {
      if (!settled_.contains(offered)) note_settled(offered, status.is_ok());
    }
    out_.clear();
    return status.is_ok();
  }

  FaultyFileSystem files_;
  RunningClock clock_;
  SeededRandom random_;
  SegmentedQueueOptions options_;
  std::unique_ptr<SegmentedQueue> queue_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::uint64_t> out_;  // number -> offered
  std::set<std::uint64_t> must_;
  std::set<std::uint64_t> may_;
  std::set<std::uint64_t> unsure_;   // offered, perhaps not durable
  std::set<std::uint64_t> settled_;  // perhaps not durably
};

class SegmentedQueueCrash : public ::testing::TestWithParam<Durability> {};

TEST_P(SegmentedQueueCrash, RestartsChangeNothing) {
  for (std::uint64_t seed = 1; seed <= 30 * effort(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Driver driver(seed, GetParam());
    driver.open();
    for (int restart = 0; restart < 4; ++restart) {
      driver.run(150);
      driver.reopen();
      driver.check_size();
      if (HasFailure()) return;
    }
    driver.check();
    if (HasFailure()) return;
  }
}

TEST_P(SegmentedQueueCrash, NothingDurableIsLostByAKill) {
  for (std::uint64_t seed = 1; seed <= 40 * effort(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Driver driver(seed, GetParam());
    driver.open();
    for (int life = 0; life < 4; ++life) {
      driver.run(static_cast<int>(50 + driver.random().below(300)));
      driver.crash(/*power=*/false);
      driver.open();
      if (driver.random().below(3) == 0) driver.check();
      if (HasFailure()) return;
    }
    driver.check();
    if (HasFailure()) return;
  }
}

TEST_P(SegmentedQueueCrash, NothingDurableIsLostByPowerLossAtAnyCall) {
  for (std::uint64_t seed = 1; seed <= 150 * effort(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Driver driver(seed, GetParam());
    driver.open();
    for (int life = 0; life < 3; ++life) {
      driver.files().halt_at(1 + driver.random().below(400));
      driver.run(400);
      driver.crash(/*power=*/true);
      // Now and then once more while it recovers.
      if (driver.random().below(3) == 0) {
        driver.files().halt_at(1 + driver.random().below(60));
        driver.try_open();
        if (driver.is_open()) {
          driver.crash(true);
        } else {
          driver.files().crash(driver.random());
        }
      }
      driver.open();
      if (driver.random().below(3) == 0) driver.check();
      if (HasFailure()) return;
    }
    driver.check();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Durabilities, SegmentedQueueCrash,
                         ::testing::Values(Durability::kNone, Durability::kInterval,
                                           Durability::kEveryCall),
                         durability_name);

}  // namespace
}  // namespace segue::storage
