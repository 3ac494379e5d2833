#include "node/queue_messages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "tests/node/batches.h"

namespace segue::node {
namespace {

constexpr Sequence kEnd{1'000'000};

std::vector<std::uint64_t> all_of(const QueueMessages& messages) {
  std::vector<MessageRun> runs;
  messages.collect(Sequence{0}, kEnd, UINT64_MAX, runs);
  return sequences_of(runs);
}

TEST(QueueMessages, GivesRunsInOrder) {
  QueueMessages messages;
  messages.append(run_of(1, make_batch({"a", "b", "c"})));
  messages.append(run_of(10, make_batch({"d"})));
  auto run = messages.first_run(Sequence{2}, kEnd);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->first, Sequence{2});
  EXPECT_EQ(run->count, 2u);
  EXPECT_EQ(body_of(*run, 0), "b");
  run = messages.first_run(Sequence{4}, kEnd);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->first, Sequence{10});
  EXPECT_FALSE(messages.first_run(Sequence{4}, Sequence{9}));
}

TEST(QueueMessages, SettlingInTheMiddleSplitsRunsAndLeavesTheRest) {
  QueueMessages messages;
  messages.append(run_of(1, make_batch({"a", "bb", "c", "dd", "e"})));
  const auto settled = messages.settle({2, 2}, Sequence{0});
  EXPECT_EQ(settled.messages, 1u);
  EXPECT_EQ(settled.body_bytes, 2u);
  EXPECT_EQ(messages.settle({2, 2}, Sequence{0}).messages, 0u);
  EXPECT_EQ(all_of(messages), (std::vector<std::uint64_t>{1, 3, 4, 5}));
  EXPECT_EQ(messages.settle({1, 4}, Sequence{3}).body_bytes, 2u);  // only of those above 3
  EXPECT_EQ(all_of(messages), (std::vector<std::uint64_t>{5}));
}

TEST(QueueMessages, HoldsNothingWhenEverythingIsSettled) {
  QueueMessages messages;
  messages.append(run_of(1, make_batch(10, 100)));
  messages.append(run_of(11, make_batch(10, 100)));
  EXPECT_GT(messages.memory_bytes(), 2000u);
  messages.settle({5, 20}, Sequence{0});
  messages.settle({1, 4}, Sequence{0});
  EXPECT_TRUE(messages.empty());
  EXPECT_EQ(messages.memory_bytes(), 0u);
}

TEST(QueueMessages, AStuckMessageDoesNotKeepTheBlocksBehindIt) {
  QueueMessages messages;
  messages.append(run_of(1, make_batch({"first"})));
  for (std::uint64_t i = 2; i <= 1000; ++i) messages.append(run_of(i, make_batch({"x"})));
  for (std::uint64_t i = 2; i < 1000; ++i) messages.settle({i, i}, Sequence{0});
  EXPECT_EQ(all_of(messages), (std::vector<std::uint64_t>{1, 1000}));
  EXPECT_LT(messages.memory_bytes(), 200u);
}

TEST(QueueMessages, InsertingLeavesWhatIsThere) {
  QueueMessages messages;
  messages.append(run_of(3, make_batch({"own3", "own4"})));
  messages.append(run_of(8, make_batch({"own8"})));
  messages.insert(run_of(1, make_batch(9, 3)));
  EXPECT_EQ(all_of(messages), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const auto run = messages.first_run(Sequence{3}, kEnd);
  EXPECT_EQ(body_of(*run, 0), "own3");
}

TEST(QueueMessages, EvictsOnlyBlocksThatLieInTheRange) {
  QueueMessages messages;
  messages.append(run_of(1, make_batch(5, 10)));
  messages.append(run_of(6, make_batch(5, 10)));
  messages.append(run_of(11, make_batch(5, 10)));
  EXPECT_GT(messages.evict({3, 12}), 50u);
  EXPECT_EQ(all_of(messages), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 11, 12, 13, 14, 15}));
}

TEST(QueueMessages, CollectsWholeBlocksUpToABound) {
  QueueMessages messages;
  messages.append(run_of(1, make_batch(5, 1000)));
  messages.append(run_of(6, make_batch(5, 1000)));
  messages.append(run_of(11, make_batch(5, 1000)));
  std::vector<MessageRun> runs;
  EXPECT_EQ(messages.collect(Sequence{0}, kEnd, 6000, runs), Sequence{10});
  EXPECT_EQ(sequences_of(runs).size(), 10u);
  runs.clear();
  EXPECT_EQ(messages.collect(Sequence{10}, kEnd, 1, runs), Sequence{15});
  runs.clear();
  EXPECT_EQ(messages.collect(Sequence{15}, kEnd, 1, runs), Sequence{15});
  EXPECT_TRUE(runs.empty());
}

RC_GTEST_PROP(QueueMessages, ArePresentUntilSettledOrEvicted, ()) {
  QueueMessages messages;
  std::map<std::uint64_t, std::string> model;
  std::uint64_t next = 1;
  const auto steps = *rc::gen::container<std::vector<std::tuple<int, std::uint8_t, std::uint8_t>>>(
      rc::gen::tuple(rc::gen::inRange(0, 4), rc::gen::arbitrary<std::uint8_t>(),
                     rc::gen::inRange<std::uint8_t>(1, 12)));
  for (const auto& [what, at, length] : steps) {
    const std::uint64_t low = 1 + at % std::max<std::uint64_t>(1, next);
    const NumberRange range{low, low + length};
    if (what <= 1) {
      next += at % 3;  // a hole
      std::vector<std::string> bodies;
      for (std::uint32_t i = 0; i < length; ++i) {
        bodies.push_back(std::to_string(next + i));
        model[next + i] = bodies.back();
      }
      messages.append(run_of(next, make_batch(bodies)));
      next += length;
    } else if (what == 2) {
      std::uint64_t bytes = 0;
      std::uint64_t count = 0;
      const Sequence after{low + length / 2};
      for (auto it = model.lower_bound(range.first);
           it != model.end() && it->first <= range.last;) {
        ++count;
        if (it->first > after.value) bytes += it->second.size();
        it = model.erase(it);
      }
      const auto settled = messages.settle(range, after);
      RC_ASSERT(settled.messages == count);
      RC_ASSERT(settled.body_bytes == bytes);
    } else {
      std::vector<std::string> bodies;
      for (std::uint64_t n = range.first; n <= range.last; ++n) {
        bodies.push_back(std::to_string(n));
        model[n] = bodies.back();
      }
      messages.insert(run_of(range.first, make_batch(bodies)));
      // Settled ones inside of blocks stay settled: the model is what the blocks say.
      std::vector<MessageRun> runs;
      messages.collect(Sequence{0}, kEnd, UINT64_MAX, runs);
      model.clear();
      for (const std::uint64_t n : sequences_of(runs)) model[n] = std::to_string(n);
      next = std::max(next, range.last + 1);
    }
    RC_ASSERT(messages.count_messages() == model.size());
    std::vector<MessageRun> runs;
    messages.collect(Sequence{0}, kEnd, UINT64_MAX, runs);
    std::map<std::uint64_t, std::string> has;
    for (const MessageRun& run : runs) {
      for (std::uint32_t i = 0; i < run.count; ++i) {
        has[run.first.next(i).value] = body_of(run, i);
      }
    }
    RC_ASSERT(has == model);
    RC_ASSERT(messages.empty() == model.empty());
    RC_ASSERT(!model.empty() || messages.memory_bytes() == 0u);
  }
}

}  // namespace
}  // namespace segue::node
