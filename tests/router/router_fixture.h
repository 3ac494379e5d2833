#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/config.h"
#include "common/sharding.h"
#include "router/router.h"
#include "segue/v1/client.pb.h"
#include "segue/v1/peer.pb.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/manual_clock.h"

namespace segue::router {

/// What clients get, by socket.
class FakeClients final : public ClientOutput {
 public:
  struct Sent {
    v1::RouterFrame frame;
    std::string body;
    bool with_bodies = false;
  };

  bool send(std::string_view peer, std::string header, const std::vector<SharedBytes>& bodies,
            bool with_bodies, ZmqSocket::Bound) override {
    if (gone.contains(std::string(peer))) return false;
    Sent sent;
    EXPECT_TRUE(sent.frame.ParseFromString(header));
    for (const SharedBytes& piece : bodies) sent.body += piece.view();
    sent.with_bodies = with_bodies || !bodies.empty();
    frames[std::string(peer)].push_back(std::move(sent));
    return true;
  }

  std::set<std::string> gone;
  std::map<std::string, std::deque<Sent>> frames;
};

/// What a node gets.
class FakeNode final : public NodeChannel {
 public:
  struct Sent {
    v1::PeerFrame frame;
    std::string bodies;
  };
  struct Publish {
    v1::ShardPublish publish;
    std::string bodies;
    std::uint64_t catalog_index = 0;
  };

  void send(v1::PeerFrame frame, const std::vector<SharedBytes>& bodies) override {
    Sent sent{std::move(frame), {}};
    for (const SharedBytes& piece : bodies) sent.bodies += piece.view();
    frames.push_back(std::move(sent));
  }

  /// Everything of one kind that came since the last call of this; the rest is kept.
  std::vector<Publish> publishes() {
    std::vector<Publish> result;
    for (Sent& sent : take(v1::PeerFrame::kPublishes)) {
      std::size_t offset = 0;
      for (const v1::ShardPublish& publish : sent.frame.publishes().publishes()) {
        result.push_back({publish, sent.bodies.substr(offset, publish.body_bytes()),
                          sent.frame.catalog_index()});
        offset += publish.body_bytes();
      }
      EXPECT_EQ(offset, sent.bodies.size());
    }
    return result;
  }
  std::vector<v1::ConsumerCommand> commands() {
    std::vector<v1::ConsumerCommand> result;
    for (Sent& sent : take(v1::PeerFrame::kConsumers)) {
      for (const auto& one : sent.frame.consumers().commands()) result.push_back(one);
    }
    return result;
  }
  std::vector<v1::PeerSettle> settles() {
    std::vector<v1::PeerSettle> result;
    for (Sent& sent : take(v1::PeerFrame::kSettles)) {
      for (const auto& one : sent.frame.settles().settles()) result.push_back(one);
    }
    return result;
  }
  std::vector<v1::QueueRequest> requests() {
    std::vector<v1::QueueRequest> result;
    for (Sent& sent : take(v1::PeerFrame::kQueueRequests)) {
      for (const auto& one : sent.frame.queue_requests().requests()) result.push_back(one);
    }
    return result;
  }
  std::vector<v1::CatalogRequest> catalog_requests() {
    std::vector<v1::CatalogRequest> result;
    for (Sent& sent : take(v1::PeerFrame::kCatalogRequests)) {
      for (const auto& one : sent.frame.catalog_requests().requests()) result.push_back(one);
    }
    return result;
  }
  std::vector<std::uint64_t> follows() {
    std::vector<std::uint64_t> result;
    for (Sent& sent : take(v1::PeerFrame::kCatalogFollow)) {
      result.push_back(sent.frame.catalog_follow().after_index());
    }
    return result;
  }

  std::vector<Sent> frames;

 private:
  std::vector<Sent> take(v1::PeerFrame::BodyCase kind) {
    std::vector<Sent> taken;
    std::vector<Sent> kept;
    for (Sent& sent : frames) {
      (sent.frame.body_case() == kind ? taken : kept).push_back(std::move(sent));
    }
    frames = std::move(kept);
    return taken;
  }
};

/// A router with two nodes, n1 (the catalog's leader) and n2, and four shards; time stands still.
/// Shards 0 and 1 are on n1, 2 and 3 on n2.
class RouterFixture : public ::testing::Test {
 protected:
  static constexpr std::uint16_t kShards = 4;

  RouterFixture() { start({}); }

  static ClusterConfig make_config() {
    ClusterConfig made;
    made.cluster = "test";
    made.shards = kShards;
    made.routers.push_back({"r1", "tcp://127.0.0.1:1", "tcp://127.0.0.1:1"});
    made.nodes.push_back({"n1", "tcp://127.0.0.1:2", "", "", 0});
    made.nodes.push_back({"n2", "tcp://127.0.0.1:3", "", "", 0});
    return made;
  }

  void start(const LimitsConfig& limits) {
    router.reset();
    config = make_config();
    config.limits = limits;
    clients = FakeClients();
    n1 = FakeNode();
    n2 = FakeNode();
    router = std::make_unique<Router>(config, "r1", clients, clock, random, log);
    router->add_node("n1", "tcp://127.0.0.1:2", n1);
    router->add_node("n2", "tcp://127.0.0.1:3", n2);
    catalog_index = 0;
    next_queue_id = 1;
    next_binding = 1;
    queues.clear();
  }

  // ---- nodes

  void up(const std::string& node, const std::string& blocked = "", bool refuses = false) {
    v1::PeerHelloOk hello;
    hello.set_node_id(node);
    hello.set_incarnation(1);
    hello.set_catalog_leader(node == "n1");
    hello.set_publish_window_bytes(window_bytes);
    hello.mutable_state()->set_blocked_reason(blocked);
    hello.mutable_state()->set_refuses_publishes(refuses);
    router->on_node_up(node, hello);
    router->end_turn();
  }
  void down(const std::string& node) {
    router->on_node_down(node, "test");
    router->end_turn();
  }
  void from_node(const std::string& node, v1::NodeFrame frame, const std::string& bodies = "") {
    EXPECT_EQ(router->on_node_frame(node, frame, SharedBytes::from(bodies)), Status::ok());
    router->end_turn();
  }
  void node_state(const std::string& node, const std::string& blocked) {
    v1::NodeFrame frame;
    frame.mutable_state()->set_blocked_reason(blocked);
    from_node(node, frame);
  }
  void confirm(const std::string& node, std::uint64_t batch_id,
               v1::Durability durability = v1::DURABILITY_SYNC) {
    v1::NodeFrame frame;
    v1::ShardConfirm& one = *frame.mutable_confirms()->add_confirms();
    one.set_batch_id(batch_id);
    one.set_durability(durability);
    from_node(node, frame);
  }
  /// A confirm that names messages which a queue had no room for.
  void confirm_part(const std::string& node, std::uint64_t batch_id, std::uint64_t queue,
                    const std::vector<std::uint32_t>& refused) {
    v1::NodeFrame frame;
    v1::ShardConfirm& one = *frame.mutable_confirms()->add_confirms();
    one.set_batch_id(batch_id);
    one.set_durability(v1::DURABILITY_SYNC);
    v1::QueueRefusal& refusal = *one.add_refusals();
    refusal.set_queue_id(queue);
    refusal.mutable_error()->set_code(static_cast<std::uint32_t>(Code::kQueueFull));
    refusal.mutable_error()->set_text("overflow");
    refusal.mutable_messages()->Add(refused.begin(), refused.end());
    from_node(node, frame);
  }
  void refuse(const std::string& node, std::uint64_t batch_id, Code code, const std::string& text) {
    v1::NodeFrame frame;
    v1::ShardConfirm& one = *frame.mutable_confirms()->add_confirms();
    one.set_batch_id(batch_id);
    one.mutable_error()->set_code(static_cast<std::uint32_t>(code));
    one.mutable_error()->set_text(text);
    from_node(node, frame);
  }
  static const char* node_of(std::uint32_t shard) { return shard < 2 ? "n1" : "n2"; }
  FakeNode& node_at(std::uint32_t shard) { return shard < 2 ? n1 : n2; }

  // ---- the catalog

  v1::CatalogEntry& next_entry() {
    entry.Clear();
    entry.set_index(++catalog_index);
    return entry;
  }
  void feed() {
    v1::NodeFrame frame;
    *frame.mutable_catalog_feed()->add_entries() = entry;
    from_node(feeding_node, frame);
  }
  void create_cluster() {
    v1::CatalogEntry& created = next_entry();
    auto& cluster = *created.add_changes()->mutable_cluster_created();
    cluster.set_cluster("test");
    cluster.set_shard_count(kShards);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      auto& assigned = *created.add_changes()->mutable_shard_assigned();
      assigned.set_shard(shard);
      assigned.set_node(node_of(shard));
    }
    feed();
  }
  /// A queue on a shard of the test's choice.
  std::uint64_t create_queue(const std::string& name, std::uint32_t shard,
                             const v1::SessionOwner* owner = nullptr) {
    v1::QueueDefinition& queue = *next_entry().add_changes()->mutable_queue_created();
    queue.set_id(next_queue_id++);
    queue.set_vhost("/");
    queue.set_name(name);
    queue.set_shard(shard);
    queue.set_durable(true);
    if (owner != nullptr) {
      queue.set_exclusive(true);
      *queue.mutable_owner() = *owner;
    }
    queues[name] = queue;
    const std::uint64_t id = queue.id();
    feed();
    return id;
  }
  void delete_queue(const std::string& name) {
    next_entry().add_changes()->set_queue_deleted(queues[name].id());
    feed();
  }
  void create_exchange(const std::string& name, const std::string& type, bool internal = false) {
    v1::ExchangeDefinition& exchange = *next_entry().add_changes()->mutable_exchange_created();
    exchange.set_vhost("/");
    exchange.set_name(name);
    exchange.set_type(type);
    exchange.set_internal(internal);
    feed();
  }
  std::uint64_t create_binding(const std::string& exchange, const std::string& queue,
                               const std::string& key) {
    v1::BindingDefinition& binding = *next_entry().add_changes()->mutable_binding_created();
    binding.set_number(next_binding++);
    binding.set_vhost("/");
    binding.set_exchange(exchange);
    binding.set_queue(queue);
    binding.set_routing_key(key);
    const std::uint64_t number = binding.number();
    feed();
    return number;
  }
  void begin() {
    up("n1");
    up("n2");
    create_cluster();
  }

  void advance(Duration by) {
    clock.advance(by);
    router->on_tick();
    router->end_turn();
  }

  ManualClock clock;
  SeededRandom random{1};
  NullLogger log;
  ClusterConfig config;
  FakeClients clients;
  FakeNode n1;
  FakeNode n2;
  std::unique_ptr<Router> router;
  std::string feeding_node = "n1";  // it leads the catalog
  std::uint64_t window_bytes = 64ull << 20;
  v1::CatalogEntry entry;
  std::uint64_t catalog_index = 0;
  std::uint64_t next_queue_id = 1;
  std::uint64_t next_binding = 1;
  std::map<std::string, v1::QueueDefinition> queues;
};

/// A client as the protocol's text describes one.
class TestClient {
 public:
  TestClient(Router& router, FakeClients& clients, std::string peer, std::uint64_t epoch = 77)
      : router_(router), clients_(clients), peer_(std::move(peer)), epoch_(epoch) {}

  /// Sends the frame stamped, ends the router's turn.
  void send(v1::ClientFrame frame, const std::string& bodies = "") {
    frame.mutable_link()->set_epoch(epoch_);
    frame.mutable_link()->set_sequence(++sequence_);
    send_raw(frame.SerializeAsString(), bodies);
  }
  void send_raw(const std::string& header, const std::string& bodies = "") {
    WireMessage message;
    message.peer = peer_;
    message.header = SharedBytes::from(header);
    if (!bodies.empty()) message.bodies = SharedBytes::from(bodies);
    router_.on_client_message(message);
    router_.end_turn();
  }

  void hello(const std::string& producer = "", std::uint64_t catalog_index = 0) {
    v1::ClientFrame frame;
    frame.mutable_hello()->set_protocol_version(1);
    frame.mutable_hello()->set_client_name("test");
    frame.mutable_hello()->set_producer_id(producer);
    frame.mutable_hello()->set_catalog_index(catalog_index);
    send(frame);
  }
  /// Says hello and expects to be let in.
  v1::HelloOk open(const std::string& producer = "") {
    hello(producer);
    const auto frame = next();
    EXPECT_TRUE(frame.has_hello_ok()) << frame.DebugString();
    return frame.hello_ok();
  }

  struct Message {
    std::string exchange;
    std::string key;
    std::string body = "body";
    bool mandatory = false;
    std::string expiration = {};
  };
  static v1::ClientFrame publish_frame(std::uint64_t first_seq,
                                       const std::vector<Message>& messages, std::string& bodies) {
    v1::ClientFrame frame;
    v1::Publish& publish = *frame.mutable_publish();
    publish.set_first_seq(first_seq);
    v1::MessageBatch& batch = *publish.mutable_batch();
    std::map<std::string, std::uint32_t> known;
    for (const Message& message : messages) {
      v1::MessageHeader header;
      header.set_exchange(message.exchange);
      header.set_routing_key(message.key);
      header.set_mandatory(message.mandatory);
      if (!message.expiration.empty()) {
        header.mutable_properties()->set_expiration(message.expiration);
      }
      const auto [found, added] = known.emplace(header.SerializeAsString(), batch.headers_size());
      if (added) *batch.add_headers() = header;
      batch.add_header_index(found->second);
      batch.add_sizes(static_cast<std::uint32_t>(message.body.size()));
      bodies += message.body;
    }
    if (batch.headers_size() == 1) batch.clear_header_index();
    return frame;
  }
  void publish(std::uint64_t first_seq, const std::vector<Message>& messages) {
    std::string bodies;
    v1::ClientFrame frame = publish_frame(first_seq, messages, bodies);
    send(frame, bodies);
  }
  /// Publishes to the default exchange.
  void publish_to(const std::string& queue, std::uint64_t first_seq, std::uint32_t count = 1,
                  const std::string& body = "body") {
    publish(first_seq, std::vector<Message>(count, Message{"", queue, body, false}));
  }

  void request(std::uint64_t id, v1::Request request) {
    v1::ClientFrame frame;
    *frame.mutable_request() = std::move(request);
    frame.mutable_request()->set_request_id(id);
    send(frame);
  }

  /// The next frame from the router; an empty one when there is none.
  v1::RouterFrame next() {
    auto& mine = clients_.frames[peer_];
    if (mine.empty()) return {};
    v1::RouterFrame frame = std::move(mine.front().frame);
    last_body = std::move(mine.front().body);
    mine.pop_front();
    return frame;
  }
  bool quiet() const { return clients_.frames[peer_].empty(); }
  /// The next frame, which is to be a Confirm.
  v1::Confirm next_confirm() {
    const auto frame = next();
    EXPECT_TRUE(frame.has_confirm()) << frame.DebugString();
    return frame.confirm();
  }
  v1::Reply next_reply() {
    const auto frame = next();
    EXPECT_TRUE(frame.has_reply()) << frame.DebugString();
    return frame.reply();
  }
  /// The code of the next frame, which is to be a Close; 0 when it is none.
  std::uint32_t next_close() {
    const auto frame = next();
    EXPECT_TRUE(frame.has_close()) << frame.DebugString();
    return frame.close().code();
  }

  const std::string& peer() const { return peer_; }
  std::string last_body;
  std::uint64_t sequence_ = 0;
  std::uint64_t epoch() const { return epoch_; }

 private:
  Router& router_;
  FakeClients& clients_;
  std::string peer_;
  std::uint64_t epoch_;
};

/// "1-3,7": ranges as text.
template <typename Ranges>
std::string text_of(const Ranges& ranges) {
  std::string text;
  for (const v1::Range& range : ranges) {
    if (!text.empty()) text += ",";
    text += std::to_string(range.first());
    if (range.last() != range.first()) text += "-" + std::to_string(range.last());
  }
  return text;
}

inline std::uint32_t number(Code code) {
  return static_cast<std::uint32_t>(code);
}

}  // namespace segue::router
