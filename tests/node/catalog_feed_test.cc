#include "node/catalog_feed.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_peer_output.h"

namespace segue::node {
namespace {

class CatalogFeedTest : public testing::Test {
 protected:
  CatalogFeedTest() : feed_(options(true), state_, output_) {}

  static CatalogFeed::Options options(bool leads) {
    CatalogFeed::Options made;
    made.tail_bytes = 200;
    made.leads = leads;
    return made;
  }
  void add_queue(CatalogFeed& feed) {
    v1::CatalogEntry entry;
    entry.set_index(state_.index().value + 1);
    v1::QueueDefinition* queue = entry.add_changes()->mutable_queue_created();
    queue->set_id(entry.index());
    queue->set_vhost("/");
    queue->set_name("queue-" + std::to_string(entry.index()));
    state_.apply(entry);
    feed.on_entry(entry);
  }
  std::vector<v1::CatalogFeed> take(PeerId peer) { return std::exchange(output_.feeds[peer], {}); }

  const PeerId peer_{1};
  CatalogState state_;
  FakePeerOutput output_;
  CatalogFeed feed_;
};

TEST_F(CatalogFeedTest, AnswersAFollowerThatHasEverythingAtOnce) {
  feed_.follow(peer_, CatalogIndex(0));
  feed_.end_turn();
  const auto feeds = take(peer_);
  ASSERT_EQ(feeds.size(), 1u);
  EXPECT_EQ(feeds[0].entries_size(), 0);
  feed_.end_turn();
  EXPECT_TRUE(take(peer_).empty());
}

TEST_F(CatalogFeedTest, SendsWhatATurnAppliedTogether) {
  feed_.follow(peer_, CatalogIndex(0));
  feed_.end_turn();
  take(peer_);
  add_queue(feed_);
  add_queue(feed_);
  feed_.end_turn();
  const auto feeds = take(peer_);
  ASSERT_EQ(feeds.size(), 1u);
  EXPECT_EQ(feeds[0].entries_size(), 2);
  EXPECT_FALSE(feeds[0].snapshot());
}

TEST_F(CatalogFeedTest, AFollowerFromBeforeTheTailGetsASnapshot) {
  for (int i = 0; i < 50; ++i) add_queue(feed_);
  feed_.follow(peer_, CatalogIndex(3));
  feed_.follow(PeerId(2), CatalogIndex(48));
  feed_.end_turn();
  const auto feeds = take(peer_);
  ASSERT_FALSE(feeds.empty());
  EXPECT_TRUE(feeds.back().snapshot_end());
  const auto recent = take(PeerId(2));
  ASSERT_EQ(recent.size(), 1u);
  EXPECT_EQ(recent[0].entries(0).index(), 49u);
}

TEST_F(CatalogFeedTest, AFollowerAheadOfTheLeaderIsSetBack) {
  add_queue(feed_);
  feed_.follow(peer_, CatalogIndex(99));
  feed_.end_turn();
  EXPECT_TRUE(take(peer_).back().snapshot_end());
}

TEST_F(CatalogFeedTest, AFollowerAheadOfAReplicaWaits) {
  CatalogFeed replica(options(false), state_, output_);
  replica.follow(peer_, CatalogIndex(1));
  replica.end_turn();
  EXPECT_TRUE(take(peer_).empty());
  add_queue(replica);
  add_queue(replica);
  replica.end_turn();
  const auto feeds = take(peer_);
  ASSERT_EQ(feeds.size(), 1u);
  EXPECT_EQ(feeds[0].entries(0).index(), 2u);
}

TEST_F(CatalogFeedTest, ASnapshotOfTheStateGoesToAllFollowers) {
  feed_.follow(peer_, CatalogIndex(0));
  feed_.end_turn();
  take(peer_);
  state_.reset({}, CatalogIndex(7));
  feed_.on_reset();
  feed_.end_turn();
  EXPECT_TRUE(take(peer_).back().snapshot_end());
}

TEST_F(CatalogFeedTest, ALostPeerGetsNothingMore) {
  feed_.follow(peer_, CatalogIndex(0));
  feed_.on_peer_lost(peer_);
  add_queue(feed_);
  feed_.end_turn();
  EXPECT_TRUE(take(peer_).empty());
}

}  // namespace
}  // namespace segue::node
