#include "node/link_server.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

#include "common/random.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/fake_network.h"

namespace segue::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What the server's owner is told.
class Handler final : public PeerHandler {
 public:
  std::vector<std::string> events;  // "up r1", "lost r1"
  std::vector<v1::PeerFrame> frames;
  std::vector<std::string> bodies;
  PeerId last;
  std::function<Status()> on_frame = [] { return Status::ok(); };

  void on_peer_up(PeerId peer, const PeerIdentity& identity) override {
    last = peer;
    events.push_back("up " + identity.id);
  }
  void on_peer_lost(PeerId, const PeerIdentity& identity) override {
    events.push_back("lost " + identity.id);
  }
  Status on_peer_frame(PeerId, v1::PeerFrame& frame, SharedBytes body) override {
    frames.push_back(frame);
    bodies.emplace_back(body.view());
    return on_frame();
  }
};

/// A router's end of a link.
struct Router final : NodeLink::Events {
  Router(FakeNetwork& network, const v1::PeerHello& hello, std::uint64_t seed)
      : random(seed), transport(network), link(options(hello), transport, *this, random, log) {}

  static NodeLink::Options options(const v1::PeerHello& hello) {
    NodeLink::Options made;
    made.node_id = "n1";
    made.endpoint = "memory";
    made.hello = hello;
    return made;
  }
  void on_up(const v1::PeerHelloOk& ok) override { incarnations.push_back(ok.incarnation()); }
  void on_down(const Status& reason) override { downs.push_back(reason); }
  void on_frame(v1::NodeFrame& frame, SharedBytes body) override {
    frames.push_back(frame);
    bodies.emplace_back(body.view());
  }

  SeededRandom random;
  NullLogger log;
  FakeNetwork::Client transport;
  std::vector<std::uint64_t> incarnations;
  std::vector<Status> downs;
  std::vector<v1::NodeFrame> frames;
  std::vector<std::string> bodies;
  NodeLink link;
};

v1::PeerHello hello(const std::string& id = "r1") {
  v1::PeerHello made;
  made.set_protocol_version(1);
  made.set_cluster("c");
  made.set_shard_count(8);
  made.set_kind(v1::PEER_KIND_ROUTER);
  made.set_id(id);
  made.set_incarnation(77);
  return made;
}

class LinkServerTest : public testing::Test {
 protected:
  LinkServerTest() { start_server(100); }

  void start_server(std::uint64_t incarnation, bool leads = false) {
    LinkServer::Options options;
    options.cluster = "c";
    options.shard_count = 8;
    options.node_id = "n1";
    options.incarnation = incarnation;
    options.catalog_leader = leads;
    options.router_ids = {"r1", "r2"};
    options.node_ids = {"n1", "n2"};
    options.held_bytes = 4096;
    network_.restart_server();
    server_ = std::make_unique<LinkServer>(options, network_, log_);
    server_->set_handler(handler_);
  }
  void run(Router& router) {
    for (int i = 0; i < 4; ++i) {
      router.link.poll(clock_.now());
      server_->poll(clock_.now());
      server_->on_timers(clock_.now());
      server_->flush(clock_.now());
    }
    router.link.poll(clock_.now());
  }
  void bring_up(Router& router) {
    run(router);
    ASSERT_TRUE(router.link.is_up());
  }
  /// The reason for which the router's hello is refused.
  std::string refusal(const v1::PeerHello& of) {
    Router router(network_, of, 5);
    run(router);
    EXPECT_FALSE(router.link.is_up());
    return router.link.last_error().message();
  }
  v1::PeerFrame publishes(std::uint64_t batch, std::uint64_t catalog_index = 0) {
    v1::PeerFrame frame;
    frame.set_catalog_index(catalog_index);
    frame.mutable_publishes()->add_publishes()->set_batch_id(batch);
    return frame;
  }

  ManualClock clock_;
  NullLogger log_;
  FakeNetwork network_;
  Handler handler_;
  std::unique_ptr<LinkServer> server_;
};

TEST_F(LinkServerTest, TakesARouterInAndCarriesFramesBothWays) {
  Router router(network_, hello(), 1);
  bring_up(router);
  EXPECT_EQ(router.incarnations, std::vector<std::uint64_t>{100});
  router.link.send(publishes(4), {SharedBytes::from("ab"), SharedBytes::from("c")}, clock_.now());
  run(router);
  ASSERT_EQ(handler_.frames.size(), 1u);
  EXPECT_EQ(handler_.frames[0].publishes().publishes(0).batch_id(), 4u);
  EXPECT_EQ(handler_.bodies[0], "abc");
  v1::ShardConfirm confirm;
  confirm.set_batch_id(4);
  server_->confirm(handler_.last, confirm);
  EXPECT_TRUE(server_->has_output());
  run(router);
  EXPECT_FALSE(server_->has_output());
  ASSERT_EQ(router.frames.size(), 1u);
  EXPECT_EQ(router.frames[0].confirms().confirms(0).batch_id(), 4u);
}

TEST_F(LinkServerTest, ATurnIsOneFrameOfEachKind) {
  Router router(network_, hello(), 1);
  bring_up(router);
  for (int i = 0; i < 10; ++i) {
    server_->confirm(handler_.last, {});
    v1::NodeDelivery delivery;
    delivery.set_body_bytes(2);
    server_->deliver(handler_.last, delivery, {SharedBytes::from("x"), SharedBytes::from("y")});
    server_->consumer_event(handler_.last, {});
    server_->catalog_reply(handler_.last, {});
  }
  run(router);
  ASSERT_EQ(router.frames.size(), 4u);
  EXPECT_TRUE(router.frames[0].has_catalog_replies());
  EXPECT_EQ(router.frames[1].confirms().confirms_size(), 10);
  EXPECT_EQ(router.frames[2].consumer_events().events_size(), 10);
  EXPECT_EQ(router.frames[3].deliveries().deliveries_size(), 10);
  EXPECT_EQ(router.bodies[3], "xyxyxyxyxyxyxyxyxyxy");
}

TEST_F(LinkServerTest, LargeTurnsAreSplit) {
  Router router(network_, hello(), 1);
  bring_up(router);
  const SharedBytes body = SharedBytes::from(std::string(3 << 20, 'x'));
  for (int i = 0; i < 3; ++i) {
    v1::NodeDelivery delivery;
    delivery.set_body_bytes(body.size());
    server_->deliver(handler_.last, delivery, {body});
  }
  run(router);
  ASSERT_EQ(router.frames.size(), 2u);
  EXPECT_EQ(router.frames[0].deliveries().deliveries_size(), 2);
  EXPECT_EQ(router.bodies[1].size(), body.size());
}

TEST_F(LinkServerTest, RefusesStrangersWithAReasonThatHelps) {
  v1::PeerHello other = hello();
  other.set_cluster("d");
  EXPECT_NE(refusal(other).find("belongs to cluster 'd', node n1 to cluster 'c'"),
            std::string::npos);
  other = hello();
  other.set_shard_count(9);
  EXPECT_NE(refusal(other).find("counts 9 shards"), std::string::npos);
  other = hello();
  other.set_protocol_version(2);
  EXPECT_NE(refusal(other).find("version 2"), std::string::npos);
  EXPECT_NE(refusal(hello("r3")).find("no other router 'r3'"), std::string::npos);
  other = hello("n1");
  other.set_kind(v1::PEER_KIND_NODE);
  EXPECT_NE(refusal(other).find("no other node 'n1'"), std::string::npos);
  EXPECT_TRUE(handler_.events.empty());
}

TEST_F(LinkServerTest, DeadLettersHaveALinkBesideTheirNodesOwnAlsoToTheNodeItself) {
  v1::PeerHello node = hello("n2");
  node.set_kind(v1::PEER_KIND_NODE);
  v1::PeerHello letters = hello("n2");
  letters.set_kind(v1::PEER_KIND_DEAD_LETTERS);
  v1::PeerHello own = hello("n1");
  own.set_kind(v1::PEER_KIND_DEAD_LETTERS);
  Router follower(network_, node, 1);
  Router of_other(network_, letters, 2);
  Router of_self(network_, own, 3);
  bring_up(follower);
  bring_up(of_other);
  bring_up(of_self);
  EXPECT_TRUE(follower.link.is_up());
  EXPECT_TRUE(of_other.link.is_up());
  letters.set_id("n3");
  EXPECT_NE(refusal(letters).find("no other dead letters of node 'n3'"), std::string::npos);
}

TEST_F(LinkServerTest, ALostFrameEndsTheEpochAndTheLinkComesBack) {
  Router router(network_, hello(), 1);
  bring_up(router);
  router.transport.lose_to_server = 1;
  router.link.send(publishes(1), {}, clock_.now());
  router.link.send(publishes(2), {}, clock_.now());
  run(router);
  EXPECT_TRUE(handler_.frames.empty());
  EXPECT_EQ(handler_.events, (std::vector<std::string>{"up r1", "lost r1"}));
  ASSERT_EQ(router.downs.size(), 1u);
  clock_.advance(milliseconds(100));
  run(router);
  EXPECT_TRUE(router.link.is_up());
  EXPECT_EQ(handler_.events.back(), "up r1");
}

TEST_F(LinkServerTest, FramesLostOnTheWayBackAreNoticedByTheRouter) {
  Router router(network_, hello(), 1);
  bring_up(router);
  router.transport.lose_to_client = 1;
  server_->confirm(handler_.last, {});
  run(router);
  server_->confirm(handler_.last, {});
  run(router);
  EXPECT_EQ(router.downs.size(), 1u);
  EXPECT_TRUE(router.frames.empty());
  clock_.advance(milliseconds(100));
  run(router);
  EXPECT_EQ(handler_.events, (std::vector<std::string>{"up r1", "lost r1", "up r1"}));
}

TEST_F(LinkServerTest, ARestartedNodeIsNoticedAtTheNextFrame) {
  Router router(network_, hello(), 1);
  bring_up(router);
  start_server(200);
  clock_.advance(milliseconds(500));
  run(router);
  EXPECT_EQ(router.downs.size(), 1u);
  EXPECT_EQ(router.downs[0].code(), Code::kStaleEpoch);
  clock_.advance(milliseconds(100));
  run(router);
  EXPECT_EQ(router.incarnations, (std::vector<std::uint64_t>{100, 200}));
}

TEST_F(LinkServerTest, AConnectionMadeAnewBelowTheLinkResetsIt) {
  Router router(network_, hello(), 1);
  bring_up(router);
  router.transport.reconnect();
  router.link.send(publishes(1), {}, clock_.now());
  run(router);
  EXPECT_EQ(router.downs.size(), 1u);
  EXPECT_TRUE(handler_.frames.empty());
  clock_.advance(milliseconds(100));
  run(router);
  EXPECT_TRUE(router.link.is_up());
  EXPECT_EQ(handler_.events, (std::vector<std::string>{"up r1", "lost r1", "up r1"}));
}

TEST_F(LinkServerTest, ASilentRouterIsLost) {
  Router router(network_, hello(), 1);
  bring_up(router);
  clock_.advance(seconds(1));
  run(router);
  EXPECT_TRUE(router.link.is_up());
  clock_.advance(seconds(2));
  server_->on_timers(clock_.now());
  EXPECT_EQ(handler_.events, (std::vector<std::string>{"up r1", "lost r1"}));
}

TEST_F(LinkServerTest, ARouterThatDoesNotReadIsLostAndTheOthersGoOn) {
  Router slow(network_, hello("r1"), 1);
  bring_up(slow);
  const PeerId slow_peer = handler_.last;
  Router other(network_, hello("r2"), 2);
  bring_up(other);
  slow.transport.full = true;
  server_->confirm(slow_peer, {});
  server_->confirm(handler_.last, {});
  run(other);
  EXPECT_EQ(handler_.events.back(), "lost r1");
  EXPECT_EQ(other.frames.size(), 1u);
  server_->confirm(slow_peer, {});
  EXPECT_FALSE(server_->has_output());
}

TEST_F(LinkServerTest, FramesWaitInOrderForTheCatalog) {
  Router router(network_, hello(), 1);
  bring_up(router);
  router.link.send(publishes(1, 5), {}, clock_.now());
  router.link.send(publishes(2, 0), {}, clock_.now());
  router.link.send(publishes(3, 6), {}, clock_.now());
  run(router);
  EXPECT_TRUE(handler_.frames.empty());
  v1::PeerFrame follow;
  follow.mutable_catalog_follow();
  router.link.send(follow, {}, clock_.now());
  run(router);
  EXPECT_EQ(handler_.frames.size(), 1u);
  server_->set_catalog_index(CatalogIndex(5), clock_.now());
  ASSERT_EQ(handler_.frames.size(), 3u);
  EXPECT_EQ(handler_.frames[1].publishes().publishes(0).batch_id(), 1u);
  EXPECT_EQ(handler_.frames[2].publishes().publishes(0).batch_id(), 2u);
  server_->set_catalog_index(CatalogIndex(6), clock_.now());
  EXPECT_EQ(handler_.frames.size(), 4u);
  EXPECT_TRUE(router.link.is_up());
}

TEST_F(LinkServerTest, WhatWaitsForTheCatalogIsBounded) {
  Router router(network_, hello(), 1);
  bring_up(router);
  for (int i = 0; i < 20; ++i) {
    router.link.send(publishes(1, 5), {SharedBytes::from(std::string(512, 'x'))}, clock_.now());
  }
  run(router);
  EXPECT_EQ(handler_.events.back(), "lost r1");
  EXPECT_EQ(router.downs.size(), 1u);
}

TEST_F(LinkServerTest, TheLeaderRefusesARouterThatIsAheadOfIt) {
  start_server(100, true);
  Router router(network_, hello(), 1);
  bring_up(router);
  router.link.send(publishes(1, 5), {}, clock_.now());
  run(router);
  ASSERT_EQ(router.downs.size(), 1u);
  EXPECT_TRUE(handler_.frames.empty());
}

TEST_F(LinkServerTest, ARefusedFrameEndsThatLinkOnly) {
  Router router(network_, hello("r1"), 1);
  bring_up(router);
  Router other(network_, hello("r2"), 2);
  bring_up(other);
  handler_.on_frame = [] { return Status(Code::kFrameError, "nonsense"); };
  router.link.send(publishes(1), {}, clock_.now());
  run(router);
  EXPECT_EQ(router.downs.at(0).code(), Code::kFrameError);
  run(other);
  EXPECT_TRUE(other.link.is_up());
}

TEST_F(LinkServerTest, ASecondProcessOfTheSameIdTakesTheLinkOver) {
  Router first(network_, hello(), 1);
  bring_up(first);
  Router second(network_, hello(), 2);
  bring_up(second);
  first.link.poll(clock_.now());
  EXPECT_EQ(first.downs.size(), 1u);
  EXPECT_EQ(handler_.events, (std::vector<std::string>{"up r1", "lost r1", "up r1"}));
}

TEST_F(LinkServerTest, AGoodbyeEndsTheLinkAtOnce) {
  Router router(network_, hello(), 1);
  bring_up(router);
  router.link.close(clock_.now());
  server_->poll(clock_.now());
  // The connection may be gone when the frame is read; then silence tells.
  clock_.advance(seconds(2));
  server_->on_timers(clock_.now());
  EXPECT_EQ(handler_.events.back(), "lost r1");
}

TEST_F(LinkServerTest, AChangedReasonToBlockIsToldAtOnceAndHeartbeatsTellTheState) {
  Router router(network_, hello(), 1);
  bring_up(router);
  v1::NodeState state;
  state.set_queues(3);
  server_->set_state(state, clock_.now());
  run(router);
  EXPECT_TRUE(router.frames.empty());
  state.set_blocked_reason("the disk is full");
  server_->set_state(state, clock_.now());
  run(router);
  ASSERT_EQ(router.frames.size(), 1u);
  EXPECT_EQ(router.frames[0].state().blocked_reason(), "the disk is full");
  clock_.advance(milliseconds(500));
  run(router);
  EXPECT_EQ(router.frames.size(), 2u);
}

TEST_F(LinkServerTest, TellsTheStateAlsoWhileOtherFramesMakeHeartbeatsNeedless) {
  Router router(network_, hello(), 1);
  bring_up(router);
  v1::NodeState state;
  std::uint64_t told = 0;
  for (int i = 0; i < 100; ++i) {
    clock_.advance(milliseconds(100));
    server_->confirm(PeerId{1}, {});
    server_->flush(clock_.now());
    state.set_queues(static_cast<std::uint64_t>(i));
    server_->set_state(state, clock_.now());
    run(router);
    for (const v1::NodeFrame& frame : std::exchange(router.frames, {})) {
      if (!frame.has_state()) continue;
      EXPECT_EQ(frame.state().queues(), static_cast<std::uint64_t>(i));
      ++told;
    }
  }
  EXPECT_GE(told, 9u);
}

TEST_F(LinkServerTest, StoppingTellsEverybody) {
  Router router(network_, hello(), 1);
  bring_up(router);
  server_->close_all(clock_.now());
  router.link.poll(clock_.now());
  ASSERT_EQ(router.downs.size(), 1u);
  EXPECT_EQ(router.downs[0].code(), Code::kConnectionForced);
}

TEST_F(LinkServerTest, HostileBytesHurtNobodyElse) {
  Router router(network_, hello(), 1);
  bring_up(router);
  v1::PeerFrame sample = publishes(7, 3);
  sample.mutable_link()->set_epoch(99);
  sample.mutable_link()->set_sequence(1);
  *sample.mutable_hello() = hello("r2");
  const std::string valid = sample.SerializeAsString();
  SeededRandom random(42);
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = valid.substr(0, random.below(valid.size() + 1));
    for (std::uint64_t flips = random.below(4); flips > 0 && !bytes.empty(); --flips) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next_u64());
    }
    WireMessage message;
    message.peer = "stranger-" + std::to_string(random.below(5));
    message.header = SharedBytes::from(std::move(bytes));
    message.malformed = random.below(10) == 0;
    network_.inject(std::move(message));
    server_->poll(clock_.now());
  }
  router.link.send(publishes(1), {}, clock_.now());
  run(router);
  EXPECT_TRUE(router.link.is_up());
  EXPECT_EQ(handler_.frames.back().publishes().publishes(0).batch_id(), 1u);
}

// Whatever is lost and restarted in between: what arrives does so in order within an epoch, and in
// the end the link is up and works.
TEST_F(LinkServerTest, AnyFaultsHeal) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    start_server(seed * 1000);
    Router router(network_, hello(), seed);
    std::uint64_t batch = 0;
    for (int step = 0; step < 200; ++step) {
      clock_.advance(milliseconds(random.below(400)));
      switch (random.below(12)) {
        case 0:
          router.transport.lose_to_server = 1;
          break;
        case 1:
          router.transport.lose_to_client = 1;
          break;
        case 2:
          if (router.link.is_up()) router.transport.reconnect();
          break;
        case 3:
          start_server(seed * 1000 + static_cast<std::uint64_t>(step) + 1);
          break;
        default:
          router.link.send(publishes(++batch), {}, clock_.now());
          server_->confirm(handler_.last, {});
      }
      run(router);
    }
    std::uint64_t last = 0;
    for (const v1::PeerFrame& frame : handler_.frames) {
      EXPECT_GT(frame.publishes().publishes(0).batch_id(), last);
      last = frame.publishes().publishes(0).batch_id();
    }
    handler_.frames.clear();
    router.transport.lose_to_client = router.transport.lose_to_server = 0;
    for (int i = 0; i < 20; ++i) {
      clock_.advance(milliseconds(300));
      run(router);
    }
    EXPECT_TRUE(router.link.is_up());
    router.link.close(clock_.now());
    run(router);
  }
}

}  // namespace
}  // namespace segue::node
