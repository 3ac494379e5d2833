#include "node/dead_letter_links.h"

#include <gtest/gtest.h>

#include <memory>

#include "node/link_server.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/fake_network.h"
#include "tests/fakes/manual_clock.h"

namespace segue::node {
namespace {

/// Node n1, which gets letters, its own too; and the links of n1 itself.
class DeadLetterLinksTest : public ::testing::Test, public PeerHandler, public DeadLetterAnswers {
 protected:
  DeadLetterLinksTest() {
    LinkServer::Options server;
    server.cluster = "c";
    server.shard_count = 4;
    server.node_id = "n1";
    server.node_ids = {"n1", "n2"};
    server_ = std::make_unique<LinkServer>(server, network_, log_.logger());
    server_->set_handler(*this);
    DeadLetterLinks::Options options;
    options.nodes = {{"n1", "inproc://n1"}, {"n2", "inproc://n2"}};
    options.link.hello.set_protocol_version(1);
    options.link.hello.set_cluster("c");
    options.link.hello.set_shard_count(4);
    options.link.hello.set_kind(v1::PEER_KIND_DEAD_LETTERS);
    options.link.hello.set_id("n1");
    links_ = std::make_unique<DeadLetterLinks>(
        options, catalog_, *this,
        [this](const std::string&) -> std::unique_ptr<LinkTransport> {
          auto made = std::make_unique<FakeNetwork::Client>(network_);
          transport_ = made.get();
          return made;
        },
        random_, log_.logger());
    change([](v1::CatalogChange& change) {
      change.mutable_cluster_created()->set_cluster("c");
      change.mutable_cluster_created()->set_shard_count(4);
    });
    change([](v1::CatalogChange& change) {
      change.mutable_shard_assigned()->set_shard(1);
      change.mutable_shard_assigned()->set_node("n1");
    });
    change([](v1::CatalogChange& change) {
      change.mutable_shard_assigned()->set_shard(2);
      change.mutable_shard_assigned()->set_node("gone");
    });
    change([](v1::CatalogChange& change) {
      v1::QueueDefinition& queue = *change.mutable_queue_created();
      queue.set_id(7);
      queue.set_vhost("/");
      queue.set_name("dead");
      queue.set_shard(1);
    });
  }

  void on_peer_up(PeerId peer, const PeerIdentity&) override { peer_ = peer; }
  void on_peer_lost(PeerId, const PeerIdentity&) override {}
  Status on_peer_frame(PeerId peer, v1::PeerFrame& frame, SharedBytes bodies) override {
    peer_ = peer;
    bodies_ += bodies.view();
    for (const auto& publish : frame.publishes().publishes()) got_.push_back(publish.batch_id());
    return {};
  }
  void on_stored(std::uint64_t batch_id) override { stored_.push_back(batch_id); }
  void on_refused(std::uint64_t batch_id, const std::string& reason) override {
    refused_.emplace_back(batch_id, reason);
  }
  void on_full(std::uint64_t batch_id) override { full_.push_back(batch_id); }
  void on_lost(std::uint64_t batch_id) override { lost_.push_back(batch_id); }
  void on_reachable() override { ++reachable_; }

  template <typename Make>
  void change(const Make& make) {
    v1::CatalogEntry entry;
    entry.set_index(catalog_.index().value + 1);
    make(*entry.add_changes());
    catalog_.apply(entry);
  }
  void run() {
    for (int i = 0; i < 4; ++i) {
      links_->poll(clock_.now());
      links_->flush(clock_.now());
      server_->set_catalog_index(served_, clock_.now());
      server_->poll(clock_.now());
      server_->flush(clock_.now());
    }
    links_->poll(clock_.now());
  }
  void publish(std::uint64_t batch_id, const std::string& body, CatalogIndex needs = {}) {
    v1::ShardPublish publish;
    publish.set_batch_id(batch_id);
    publish.set_shard(1);
    publish.set_body_bytes(body.size());
    links_->publish(std::move(publish), {SharedBytes::from(body)}, needs);
  }
  std::vector<DeadLetterTarget> route(const std::string& exchange, const std::string& key) {
    v1::MessageHeader header;
    header.set_exchange(exchange);
    header.set_routing_key(key);
    std::vector<DeadLetterTarget> targets;
    EXPECT_EQ(links_->route("/", header, targets), catalog_.index());
    return targets;
  }

  ManualClock clock_;
  CaptureLogger log_;
  SeededRandom random_{1};
  FakeNetwork network_;
  CatalogState catalog_;
  CatalogIndex served_;
  std::unique_ptr<LinkServer> server_;
  std::unique_ptr<DeadLetterLinks> links_;
  FakeNetwork::Client* transport_ = nullptr;
  PeerId peer_;
  std::vector<std::uint64_t> got_;
  std::string bodies_;
  std::vector<std::uint64_t> stored_;
  std::vector<std::pair<std::uint64_t, std::string>> refused_;
  std::vector<std::uint64_t> full_;
  std::vector<std::uint64_t> lost_;
  int reachable_ = 0;
};

TEST_F(DeadLetterLinksTest, ConnectWhenANodeIsNeededAlsoToTheNodeItself) {
  run();
  EXPECT_EQ(transport_, nullptr);
  EXPECT_FALSE(links_->reachable(ShardId{1}));
  run();
  EXPECT_EQ(reachable_, 1);
  EXPECT_TRUE(links_->reachable(ShardId{1}));
  EXPECT_FALSE(links_->reachable(ShardId{2}));  // its node is not in the configuration
}

TEST_F(DeadLetterLinksTest, EachPublishIsAnsweredOnce) {
  links_->reachable(ShardId{1});
  run();
  publish(1, "one");
  publish(2, "two");
  publish(3, "three");
  run();
  EXPECT_EQ(got_, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(bodies_, "onetwothree");
  v1::ShardConfirm confirm;
  confirm.set_batch_id(2);
  server_->confirm(peer_, confirm);
  server_->confirm(peer_, confirm);
  confirm.set_batch_id(1);
  confirm.mutable_error()->set_text("no room");
  server_->confirm(peer_, confirm);
  run();
  EXPECT_EQ(stored_, std::vector<std::uint64_t>{2});
  ASSERT_EQ(refused_.size(), 1u);
  EXPECT_EQ(refused_[0].second, "no room");
  EXPECT_TRUE(lost_.empty());
  publish(5, "five");
  run();
  v1::ShardConfirm full;
  full.set_batch_id(5);
  full.add_refusals()->set_queue_id(7);
  server_->confirm(peer_, full);
  run();
  EXPECT_EQ(full_, std::vector<std::uint64_t>{5});
  EXPECT_EQ(stored_.size(), 1u);
  transport_->reconnect();  // below the link: the server forgets it
  publish(4, "four");
  run();
  EXPECT_EQ(lost_, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_FALSE(links_->reachable(ShardId{1}));
  clock_.advance(std::chrono::seconds(5));
  run();
  EXPECT_TRUE(links_->reachable(ShardId{1}));
  EXPECT_EQ(reachable_, 2);
}

TEST_F(DeadLetterLinksTest, TheNodeWaitsForTheCatalogThatTheLetterWasRoutedBy) {
  links_->reachable(ShardId{1});
  run();
  publish(1, "one", CatalogIndex{9});
  run();
  EXPECT_TRUE(got_.empty());
  served_ = CatalogIndex{9};
  run();
  EXPECT_EQ(got_, std::vector<std::uint64_t>{1});
}

TEST_F(DeadLetterLinksTest, RouteByTheCatalogAsItIsNow) {
  const auto direct = route("", "dead");
  ASSERT_EQ(direct.size(), 1u);
  EXPECT_EQ(direct[0].queue, QueueId{7});
  EXPECT_EQ(direct[0].shard, ShardId{1});
  EXPECT_EQ(direct[0].name, "dead");
  EXPECT_TRUE(route("missing", "dead").empty());
  EXPECT_TRUE(route("amq.fanout", "key").empty());
  change([](v1::CatalogChange& change) {
    v1::BindingDefinition& binding = *change.mutable_binding_created();
    binding.set_number(1);
    binding.set_vhost("/");
    binding.set_exchange("amq.fanout");
    binding.set_queue("dead");
  });
  EXPECT_EQ(route("amq.fanout", "key").size(), 1u);
  change([](v1::CatalogChange& change) { change.set_binding_deleted(1); });
  EXPECT_TRUE(route("amq.fanout", "key").empty());
}

TEST_F(DeadLetterLinksTest, CloseForGood) {
  links_->reachable(ShardId{1});
  run();
  links_->close(clock_.now());
  EXPECT_FALSE(links_->reachable(ShardId{1}));
  clock_.advance(std::chrono::seconds(60));
  run();
  EXPECT_FALSE(links_->reachable(ShardId{1}));
}

}  // namespace
}  // namespace segue::node
