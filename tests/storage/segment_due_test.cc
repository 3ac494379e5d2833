// Messages of a delay lane in segments, and looking for those that come next.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "segue/v1/types.pb.h"
#include "tests/storage/segment_fixture.h"

namespace segue::storage {
namespace {

const QueueId kLane = delay_lane_id(QueueId{7});

/// Messages from `first` on that arrived together and are delayed by so much.
MessageRun delayed_run(std::uint64_t first, std::int64_t arrived_ms,
                       const std::vector<std::int64_t>& delays) {
  MessageBatchBuilder builder;
  std::string bodies;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    v1::MessageHeader header;
    header.mutable_properties()->set_delay_ms(delays[i]);
    header.mutable_properties()->set_expiration("1");
    const std::string body = body_of(first + i);
    builder.add(header.SerializeAsString(), SharedBytes::from(body));
    bodies += body;
  }
  const auto batch = MessageBatch::parse(SharedBytes::from(builder.take().batch),
                                         SharedBytes::from(std::move(bodies)))
                         .value();
  MessageRun run{Sequence{first}, batch, 0, batch->count(), arrived_ms};
  run.delayed = true;
  return run;
}

DueMessage due(std::int64_t ms, std::uint64_t sequence) {
  return {ms, Sequence{sequence}};
}

constexpr DueMessage kEnd{std::numeric_limits<std::int64_t>::max(), Sequence{}};

/// What the looks find, in as many as it takes; in order.
std::vector<DueMessage> find_due(SegmentLife& life, DueScan scan) {
  std::vector<DueMessage> all;
  for (bool more = true; more;) {
    std::optional<FoundDue> found;
    life.store().find_due(kLane, scan, [&](FoundDue result) { found = std::move(result); });
    life.poll_until([&] { return found.has_value(); });
    EXPECT_TRUE(found->damage.is_ok()) << found->damage.to_string();
    EXPECT_LE(found->messages.size(), scan.most);
    all.insert(all.end(), found->messages.begin(), found->messages.end());
    more = found->more;
    scan.first = found->scanned_through.next();
  }
  std::sort(all.begin(), all.end());
  return all;
}

DueScan between(DueMessage from, DueMessage below, std::size_t most = 1000) {
  DueScan scan;
  scan.from = from;
  scan.below = below;
  scan.most = most;
  return scan;
}

TEST(SegmentDue, FindsWhatIsDueWithinATimeAlsoAfterARestart) {
  FaultyFileSystem files;
  const std::vector<DueMessage> all{due(503, 4), due(505, 2), due(510, 1), due(710, 5),
                                    due(800, 3)};
  {
    SegmentLife life(files);
    ASSERT_TRUE(
        life.put(kLane, {delayed_run(1, 500, {10, 5, 300, 3}), delayed_run(5, 700, {10})}).is_ok());
    EXPECT_EQ(find_due(life, between({}, kEnd)), all);
    ASSERT_TRUE(life.checkpoint().is_ok());
  }
  SegmentLife life(files);
  ASSERT_TRUE(life.recovery().is_ok()) << life.recovery().to_string();
  EXPECT_EQ(find_due(life, between({}, kEnd)), all);
  EXPECT_EQ(find_due(life, between(due(505, 2), due(800, 3))),
            (std::vector<DueMessage>{due(505, 2), due(510, 1), due(710, 5)}));
  life.store().settle(kLane, Sequence{1}, Sequence{2});
  EXPECT_EQ(find_due(life, between({}, kEnd)),
            (std::vector<DueMessage>{due(503, 4), due(710, 5), due(800, 3)}));
  ASSERT_TRUE(life.put(kLane, {delayed_run(6, 900, {1})}).is_ok());
  EXPECT_EQ(find_due(life, between(due(800, 4), kEnd)), (std::vector<DueMessage>{due(901, 6)}));
}

TEST(SegmentDue, OfASegmentTheFirstOnesComeWhenThereAreMore) {
  FaultyFileSystem files;
  SegmentLife life(files);
  std::mt19937 random(3);
  std::vector<std::int64_t> delays(500);
  std::vector<DueMessage> all;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    delays[i] = static_cast<std::int64_t>(random() % 400);
    all.push_back(due(1000 + delays[i], i + 1));
  }
  ASSERT_TRUE(life.put(kLane, {delayed_run(1, 1000, delays)}).is_ok());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(find_due(life, between({}, kEnd)), all);
  if (life.store().table(kLane)->segments().size() != 1) return;
  all.resize(20);
  EXPECT_EQ(find_due(life, between({}, kEnd, 20)), all);
}

TEST(SegmentDue, NothingIsReadWhereNothingIsDue) {
  FaultyFileSystem files;
  SegmentLife life(files);
  ASSERT_TRUE(life.put(kLane, {delayed_run(1, 500, {100})}).is_ok());
  const SegmentTable* const table = life.store().table(kLane);
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(const_cast<SegmentTable*>(table)->plan_due(between({}, due(599, 9))));
  EXPECT_TRUE(find_due(life, between({}, due(600, 1))).empty());
  EXPECT_TRUE(find_due(life, between(due(600, 2), kEnd)).empty());
}

}  // namespace
}  // namespace segue::storage
