#include "client/publish_batch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "client/frame_writer.h"
#include "common/message_batch.h"
#include "segue/v1/client.pb.h"

namespace segue::client {
namespace {

HeaderPtr header(const std::string& key) {
  v1::MessageHeader wire;
  wire.set_routing_key(key);
  return std::make_shared<const std::string>(wire.SerializeAsString());
}

PublishBatch batch_of(std::uint32_t count, std::uint64_t first_seq = 10) {
  PublishBatch batch(first_seq, 0, std::make_shared<BufferPool>());
  const HeaderPtr shared = header("k");
  for (std::uint32_t i = 0; i < count; ++i) batch.append(shared, std::string(i, 'b'));
  batch.seal();
  return batch;
}

TEST(PublishBatch, SharesHeadersAndKeepsBodiesBackToBack) {
  PublishBatch batch(5, 0, std::make_shared<BufferPool>());
  const HeaderPtr a = header("a");
  const HeaderPtr b = header("b");
  batch.append(a, "one");
  batch.append(a, "");
  batch.append(b, "three");
  batch.append(a, "four");
  batch.seal();
  EXPECT_EQ(batch.last_seq(), 8u);
  EXPECT_EQ(batch.headers().size(), 2u);
  EXPECT_EQ(batch.header_index(), (std::vector<std::uint32_t>{0, 0, 1, 0}));
  EXPECT_EQ(batch.bodies({0, 4}).view(), "onethreefour");
  EXPECT_EQ(batch.bodies({2, 1}).view(), "three");
  EXPECT_EQ(batch.body_bytes({1, 2}), 5u);
}

TEST(PublishBatch, IsWrittenAsThePublishFrameOfTheContract) {
  PublishBatch batch(1'000'000, 0, std::make_shared<BufferPool>());
  for (int i = 0; i < 300; ++i) {
    batch.append(header("k" + std::to_string(i % 3)),
                 std::string(static_cast<std::size_t>(i), 'x'));
  }
  batch.seal();
  const PublishBatch::Run run{100, 150};
  const std::string bytes = write_publish(0x1122334455667788, 300, 999, batch, run);
  EXPECT_LE(bytes.size(), publish_frame_bound(batch, run.count));
  v1::ClientFrame frame;
  ASSERT_TRUE(frame.ParseFromString(bytes));
  EXPECT_EQ(frame.link().epoch(), 0x1122334455667788u);
  EXPECT_EQ(frame.link().sequence(), 300u);
  ASSERT_TRUE(frame.has_publish());
  EXPECT_EQ(frame.publish().first_seq(), 1'000'100u);
  EXPECT_EQ(frame.publish().settled_below(), 999u);
  const auto parsed = MessageBatch::parse(
      SharedBytes::from(frame.publish().batch().SerializeAsString()), batch.bodies(run));
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  ASSERT_EQ((*parsed)->count(), 150u);
  for (std::uint32_t i = 0; i < 150; ++i) {
    EXPECT_EQ((*parsed)->body_size(i), 100 + i);
    v1::MessageHeader wire;
    ASSERT_TRUE(wire.ParseFromString(std::string((*parsed)->header(i))));
    EXPECT_EQ(wire.routing_key(), "k" + std::to_string((100 + i) % 3));
  }
}

TEST(PublishBatch, FindsAHeaderAgainThatWasUsedBefore) {
  PublishBatch batch(1, 0, std::make_shared<BufferPool>());
  std::vector<HeaderPtr> headers;
  for (int i = 0; i < 50; ++i) headers.push_back(header(std::to_string(i)));
  for (int round = 0; round < 10; ++round) {
    for (const HeaderPtr& one : headers) batch.append(one, "x");
  }
  EXPECT_EQ(batch.headers().size(), 50u);
}

// Against a set of settled places.
RC_GTEST_PROP(PublishBatch, SettlesEachSeqOnceInWhateverRangesTheyCome, ()) {
  const auto count = *rc::gen::inRange<std::uint32_t>(1, 40);
  PublishBatch batch = batch_of(count);
  std::set<std::uint64_t> open;
  for (std::uint32_t i = 0; i < count; ++i) open.insert(10 + i);
  const auto steps = *rc::gen::inRange(0, 20);
  for (int step = 0; step < steps; ++step) {
    const std::uint64_t first = 10 + *rc::gen::inRange<std::uint32_t>(0, count);
    const std::uint64_t last = first + *rc::gen::inRange<std::uint64_t>(0, 10 + count - first);
    std::vector<SeqRange> newly;
    batch.settle(first, last, newly);
    std::set<std::uint64_t> expected;
    for (std::uint64_t seq = first; seq <= last; ++seq) {
      if (open.erase(seq) != 0) expected.insert(seq);
    }
    std::set<std::uint64_t> told;
    for (const SeqRange& range : newly) {
      for (std::uint64_t seq = range.first; seq <= range.last; ++seq) {
        RC_ASSERT(told.insert(seq).second);
      }
    }
    RC_ASSERT(told == expected);
    RC_ASSERT(batch.unsettled() == open.size());
    RC_ASSERT(batch.first_unsettled() == (open.empty() ? 10 + count : *open.begin()));
    // What is left to send is exactly what is open, in order.
    batch.mark_unsent();
    std::vector<std::uint64_t> unsent;
    for (auto run = batch.next_unsent(); run.count > 0; run = batch.next_unsent()) {
      for (std::uint32_t i = 0; i < run.count; ++i) unsent.push_back(10 + run.begin + i);
      batch.mark_sent(run.begin + run.count);
    }
    RC_ASSERT(unsent == std::vector<std::uint64_t>(open.begin(), open.end()));
  }
}

}  // namespace
}  // namespace segue::client
