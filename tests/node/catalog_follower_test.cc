#include "node/catalog_follower.h"

#include <gtest/gtest.h>

#include <memory>

#include "node/catalog_feed.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/fake_catalog_db.h"
#include "tests/fakes/fake_disk_data_center.h"
#include "tests/fakes/fake_network.h"

namespace segue::node {
namespace {

using std::chrono::milliseconds;

/// The leader's side: a state, its feed, and a link server that hands follow requests to it.
struct Leader final : PeerHandler {
  Leader(FakeNetwork& network, Logger& log, bool leads = true) {
    LinkServer::Options options;
    options.cluster = "c";
    options.shard_count = 4;
    options.node_id = "n1";
    options.catalog_leader = leads;
    options.node_ids = {"n1", "n2"};
    links = std::make_unique<LinkServer>(options, network, log);
    links->set_handler(*this);
    CatalogFeed::Options feed_options;
    feed_options.leads = true;
    feed_options.tail_bytes = 500;
    feed = std::make_unique<CatalogFeed>(feed_options, state, *links);
  }

  void on_peer_up(PeerId, const PeerIdentity&) override {}
  void on_peer_lost(PeerId peer, const PeerIdentity&) override { feed->on_peer_lost(peer); }
  Status on_peer_frame(PeerId peer, v1::PeerFrame& frame, SharedBytes) override {
    if (frame.has_catalog_follow()) {
      feed->follow(peer, CatalogIndex(frame.catalog_follow().after_index()));
    }
    for (const auto& request : frame.catalog_requests().requests()) {
      asked.push_back(request.operation());
    }
    return {};
  }
  void add_queue() {
    v1::CatalogEntry entry;
    entry.set_index(state.index().value + 1);
    v1::QueueDefinition* queue = entry.add_changes()->mutable_queue_created();
    queue->set_id(entry.index());
    queue->set_vhost("/");
    queue->set_name("queue-" + std::to_string(entry.index()));
    state.apply(entry);
    feed->on_entry(entry);
  }

  CatalogState state;
  std::unique_ptr<LinkServer> links;
  std::unique_ptr<CatalogFeed> feed;
  std::vector<v1::CatalogOperation> asked;
};

class CatalogFollowerTest : public testing::Test {
 protected:
  CatalogFollowerTest()
      : leader_(std::make_unique<Leader>(network_, log_.logger())),
        file_(std::make_unique<storage::FakeCatalogDb>(stored_), state_, disk_, log_.logger(),
              [](CatalogIndex) {}),
        feed_({}, state_, *leader_->links),
        replica_(state_, file_, feed_),
        follower_(replica_, clock_, log_.logger(), [this] { ++caught_up_; }),
        transport_(network_),
        link_(options(), transport_, follower_, random_, log_.logger()) {
    follower_.set_link(&link_);
  }

  static NodeLink::Options options() {
    NodeLink::Options made;
    made.node_id = "n1";
    made.hello.set_protocol_version(1);
    made.hello.set_cluster("c");
    made.hello.set_shard_count(4);
    made.hello.set_kind(v1::PEER_KIND_NODE);
    made.hello.set_id("n2");
    return made;
  }
  void run() {
    for (int i = 0; i < 5; ++i) {
      link_.poll(clock_.now());
      leader_->links->poll(clock_.now());
      leader_->feed->end_turn();
      leader_->links->flush(clock_.now());
    }
    link_.poll(clock_.now());
  }
  void restart_leader(bool leads = true) {
    network_.restart_server();
    leader_ = std::make_unique<Leader>(network_, log_.logger(), leads);
  }

  ManualClock clock_;
  CaptureLogger log_;
  SeededRandom random_{1};
  FakeNetwork network_;
  std::unique_ptr<Leader> leader_;
  CatalogState stored_;
  CatalogState state_;
  storage::FakeDiskDataCenter disk_;
  CatalogFile file_;
  CatalogFeed feed_;
  CatalogReplica replica_;
  int caught_up_ = 0;
  CatalogFollower follower_;
  FakeNetwork::Client transport_;
  NodeLink link_;
};

TEST_F(CatalogFollowerTest, TakesASnapshotThenEntries) {
  for (int i = 0; i < 100; ++i) leader_->add_queue();
  run();
  EXPECT_EQ(state_.queue_count(), 100u);
  EXPECT_EQ(caught_up_, 1);
  leader_->add_queue();
  run();
  EXPECT_EQ(state_.queue_count(), 101u);
  EXPECT_EQ(state_.index(), leader_->state.index());
  EXPECT_TRUE(file_.behind());
}

TEST_F(CatalogFollowerTest, HearsThatItIsUpToDateEvenWhenNothingChanged) {
  run();
  EXPECT_EQ(caught_up_, 1);
}

TEST_F(CatalogFollowerTest, GoesOnWhereItWasAfterALostFrame) {
  run();
  leader_->add_queue();
  transport_.lose_to_client = 1;
  run();
  leader_->add_queue();
  run();
  EXPECT_FALSE(link_.is_up());
  clock_.advance(milliseconds(100));
  run();
  EXPECT_EQ(state_.index(), CatalogIndex(2));
}

TEST_F(CatalogFollowerTest, IsNotSetBackByALeaderThatLostItsData) {
  for (int i = 0; i < 3; ++i) leader_->add_queue();
  run();
  EXPECT_EQ(state_.queue_count(), 3u);
  restart_leader();
  leader_->add_queue();
  for (int i = 0; i < 10; ++i) {
    clock_.advance(milliseconds(500));
    run();
  }
  EXPECT_EQ(state_.queue_count(), 3u);
  EXPECT_TRUE(log_.contains("event=catalog_leader_is_behind"));
}

TEST_F(CatalogFollowerTest, DoesNotFollowANodeThatDoesNotLead) {
  restart_leader(false);
  run();
  EXPECT_FALSE(link_.is_up());
  EXPECT_EQ(caught_up_, 0);
  EXPECT_NE(link_.last_error().message().find("catalog.leader"), std::string::npos);
}

TEST_F(CatalogFollowerTest, BringsRequestsToTheLeader) {
  v1::CatalogOperation operation;
  operation.mutable_delete_queue()->set_id(7);
  follower_.request(operation);  // lost: the link is down
  run();
  follower_.request(operation);
  run();
  ASSERT_EQ(leader_->asked.size(), 1u);
  EXPECT_EQ(leader_->asked[0].delete_queue().id(), 7u);
}

}  // namespace
}  // namespace segue::node
