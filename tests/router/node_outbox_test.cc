#include "router/node_outbox.h"

#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

using Kinds = std::vector<v1::PeerFrame::BodyCase>;

class NodeOutboxTest : public ::testing::Test {
 protected:
  void publish(std::size_t bytes, std::uint64_t needs = 0) {
    v1::ShardPublish publish_message;
    publish_message.set_batch_id(++last_id);
    publish_message.set_body_bytes(bytes);
    outbox.publish(publish_message, SharedBytes::from(std::string(bytes, 'x')),
                   CatalogIndex(needs));
  }
  void settle() { outbox.settle({}); }
  void command() { outbox.consumer_command({}); }
  void request() { outbox.queue_request({}, {}); }
  void catalog() { outbox.catalog_request({}); }
  Kinds flush() {
    node.frames.clear();
    outbox.flush(node);
    Kinds kinds;
    for (const auto& sent : node.frames) kinds.push_back(sent.frame.body_case());
    return kinds;
  }

  NodeOutbox outbox;
  FakeNode node;
  std::uint64_t last_id = 0;
};

TEST_F(NodeOutboxTest, PutsEachKindIntoOneFrame) {
  for (int i = 0; i < 3; ++i) {
    publish(10, static_cast<std::uint64_t>(i) + 5);
    settle();
    catalog();
  }
  EXPECT_EQ(flush(), (Kinds{v1::PeerFrame::kPublishes, v1::PeerFrame::kSettles,
                            v1::PeerFrame::kCatalogRequests}));
  EXPECT_EQ(node.frames[0].frame.publishes().publishes_size(), 3);
  EXPECT_EQ(node.frames[0].frame.catalog_index(), 7u);
  EXPECT_EQ(node.frames[0].bodies.size(), 30u);
  EXPECT_EQ(node.frames[1].frame.catalog_index(), 0u);
  EXPECT_TRUE(outbox.empty());
}

TEST_F(NodeOutboxTest, KeepsTheOrderThatMatters) {
  settle();
  command();
  settle();
  EXPECT_EQ(flush(),
            (Kinds{v1::PeerFrame::kSettles, v1::PeerFrame::kConsumers, v1::PeerFrame::kSettles}));
  publish(1);
  request();
  publish(1);
  command();
  EXPECT_EQ(flush(), (Kinds{v1::PeerFrame::kPublishes, v1::PeerFrame::kQueueRequests,
                            v1::PeerFrame::kPublishes, v1::PeerFrame::kConsumers}));
}

TEST_F(NodeOutboxTest, CutsFramesThatGrowLarge) {
  for (int i = 0; i < 40; ++i) publish(60'000);
  EXPECT_EQ(flush().size(), 3u);
  std::uint64_t id = 0;
  for (const auto& sent : node.frames) {
    EXPECT_LE(sent.bodies.size(), 1u << 20);
    for (const auto& one : sent.frame.publishes().publishes()) EXPECT_EQ(one.batch_id(), ++id);
  }
}

TEST_F(NodeOutboxTest, SendsLargeBodiesAloneSoThatTheyNeedNotBeCopied) {
  publish(10);
  publish(100'000);
  publish(10);
  EXPECT_EQ(flush().size(), 3u);
}

}  // namespace
}  // namespace segue::router
