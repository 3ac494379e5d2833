#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {

/// Queue hosts on disks in memory, and the dead letters that go between them: frames travel when a
/// test lets them, links break, nodes crash. A queue lives on the node of its shard's number.
class DeadLetterWorld {
 public:
  /// What a node says to whom.
  class Output final : public PeerOutput {
   public:
    void confirm(PeerId peer, v1::ShardConfirm confirm) override {
      confirms.emplace_back(peer, std::move(confirm));
    }
    void deliver(PeerId, v1::NodeDelivery, std::vector<SharedBytes>) override {}
    void consumer_event(PeerId, v1::ConsumerEvent event) override {
      if (event.settle_ok().has_error()) ADD_FAILURE() << event.settle_ok().error().text();
      if (event.has_settle_ok()) settled.insert(event.settle_ok().confirm_id());
    }
    void queue_reply(PeerId, v1::QueueReply reply, std::vector<SharedBytes> bodies) override {
      std::string all;
      for (const SharedBytes& body : bodies) all.append(body.view());
      const std::uint64_t id = reply.request_id();
      replies[id] = {std::move(reply), std::move(all)};
    }
    void catalog_reply(PeerId, v1::CatalogReply) override {}
    void catalog_feed(PeerId, v1::CatalogFeed) override {}

    std::vector<std::pair<PeerId, v1::ShardConfirm>> confirms;
    std::set<std::uint64_t> settled;
    std::map<std::uint64_t, std::pair<v1::QueueReply, std::string>> replies;
  };

  /// A message that was got.
  struct Got {
    std::string body;
    v1::MessageHeader header;
    std::uint64_t number = 0;
    std::uint32_t delivery_count = 0;
  };

  explicit DeadLetterWorld(std::uint32_t nodes) {
    for (std::uint32_t i = 0; i < nodes; ++i) {
      nodes_.push_back(std::make_unique<Node>(*this, i));
      open(i);
    }
  }

  // ---- queues

  struct Terms {
    bool durable = true;
    std::map<std::string, v1::FieldValue> arguments = {};
  };
  static v1::FieldValue text(const std::string& value) {
    v1::FieldValue field;
    field.set_string_value(value);
    return field;
  }
  static v1::FieldValue number(std::int64_t value) {
    v1::FieldValue field;
    field.set_int_value(value);
    return field;
  }
  void declare(std::uint64_t id, std::uint32_t node, const Terms& terms) {
    v1::QueueDefinition definition;
    definition.set_id(id);
    definition.set_name("q" + std::to_string(id));
    definition.set_shard(node);
    definition.set_durable(terms.durable);
    for (const auto& [name, value] : terms.arguments) {
      (*definition.mutable_arguments())[name] = value;
    }
    definitions_[id] = definition;
    nodes_[node]->host->add_queue(definition);
  }
  void remove(std::uint64_t id) {
    node_of(id).host->remove_queue(QueueId{id});
    definitions_.erase(id);
  }
  /// Where the exchange leads every message.
  void set_route(const std::string& exchange, std::vector<std::uint64_t> queues) {
    routes_[exchange] = std::move(queues);
  }

  // ---- users

  std::uint64_t publish(const std::string& body, std::uint64_t queue,
                        const v1::MessageHeader& header = {}) {
    v1::ShardPublish message;
    message.set_batch_id(++last_batch_);
    message.set_shard(definitions_.at(queue).shard());
    message.set_resumes(true);
    message.add_targets()->set_queue_id(queue);
    v1::MessageBatch batch;
    *batch.add_headers() = header;
    batch.add_sizes(static_cast<std::uint32_t>(body.size()));
    message.set_batch(batch.SerializeAsString());
    message.set_body_bytes(body.size());
    node_of(queue).host->on_publish(kRouter, message, SharedBytes::from(body));
    return last_batch_;
  }
  bool confirmed(std::uint64_t queue, std::uint64_t batch) const {
    const auto& confirms = node_of(queue).output->confirms;
    return std::any_of(confirms.begin(), confirms.end(), [&](const auto& confirm) {
      return confirm.first == kRouter && confirm.second.batch_id() == batch &&
             !confirm.second.has_error();
    });
  }
  /// Takes the next ready message; none if the queue has none, or its node has no answer yet.
  std::optional<Got> get(std::uint64_t queue, bool no_ack = false) {
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.set_request_id(++last_request_);
    message.mutable_get()->set_consumer(kGets);
    message.mutable_get()->set_no_ack(no_ack);
    Node& node = node_of(queue);
    node.host->on_queue_request(kRouter, message);
    for (int i = 0; i < 20 && !node.output->replies.contains(last_request_); ++i) turn(node);
    if (!node.output->replies.contains(last_request_)) return std::nullopt;
    const auto& [reply, body] = node.output->replies.at(last_request_);
    if (!reply.has_delivery()) return std::nullopt;
    v1::DeliveryBatch batch;
    EXPECT_TRUE(batch.ParseFromString(reply.delivery().batch()));
    Got got{body, batch.messages().headers(0), reply.delivery().first_number(), 0};
    if (!batch.delivery_count().empty()) got.delivery_count = batch.delivery_count(0);
    return got;
  }
  /// Gives the confirm id.
  std::uint64_t settle(std::uint64_t queue, std::uint64_t number, v1::Outcome outcome) {
    v1::PeerSettle message;
    message.set_consumer(kGets);
    message.set_confirm_id(++last_confirm_);
    v1::SettledTags& tags = *message.add_settled();
    tags.mutable_tags()->set_first(number);
    tags.mutable_tags()->set_last(number);
    tags.set_outcome(outcome);
    node_of(queue).host->on_settle(kRouter, message);
    return last_confirm_;
  }
  bool settled(std::uint64_t queue, std::uint64_t confirm_id) const {
    return node_of(queue).output->settled.contains(confirm_id);
  }
  v1::QueueDescription status(std::uint64_t queue) {
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.set_request_id(++last_request_);
    message.mutable_status();
    node_of(queue).host->on_queue_request(kRouter, message);
    return node_of(queue).output->replies.at(last_request_).first.queue();
  }
  std::uint64_t purge(std::uint64_t queue) {
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.set_request_id(++last_request_);
    message.mutable_purge();
    node_of(queue).host->on_queue_request(kRouter, message);
    for (int i = 0; i < 5; ++i) turn(node_of(queue));
    return node_of(queue).output->replies.at(last_request_).first.purged();
  }
  /// Everything that is ready, bodies in order.
  std::vector<std::string> drain(std::uint64_t queue) {
    std::vector<std::string> bodies;
    while (auto got = get(queue, true)) bodies.push_back(got->body);
    return bodies;
  }

  // ---- time and accidents

  void turn(std::uint32_t node) { turn(*nodes_[node]); }
  void tick(std::uint32_t node) {
    nodes_[node]->host->on_tick(clock.now(), clock.wall_ms());
    turn(node);
  }
  /// One frame of letters arrives at its node; false: there is none on this way.
  bool carry(std::uint32_t from, std::uint32_t to) {
    Wire& wire = nodes_[from]->wires[to];
    if (wire.letters.empty()) return false;
    auto [publish, bodies] = std::move(wire.letters.front());
    wire.letters.pop_front();
    if (full.contains(publish.targets(0).queue_id())) {
      wire.open.erase(publish.batch_id());
      nodes_[from]->host->dead_letter_answers().on_full(publish.batch_id());
      return true;
    }
    nodes_[to]->host->on_publish(wire.peer, publish, std::move(bodies));
    return true;
  }
  /// Answers that the node has given go back.
  void answer(std::uint32_t to) {
    auto& confirms = nodes_[to]->output->confirms;
    std::vector<std::pair<PeerId, v1::ShardConfirm>> users;
    for (auto& [peer, confirm] : std::exchange(confirms, {})) {
      Node* from = sender(peer, to);
      if (peer == kRouter) {
        users.emplace_back(peer, confirm);
      } else if (from != nullptr && from->wires[to].open.erase(confirm.batch_id()) > 0) {
        DeadLetterAnswers& answers = from->host->dead_letter_answers();
        if (confirm.has_error()) {
          answers.on_refused(confirm.batch_id(), confirm.error().text());
        } else if (confirm.refusals_size() > 0) {
          answers.on_full(confirm.batch_id());
        } else {
          answers.on_stored(confirm.batch_id());
        }
      }
    }
    confirms = std::move(users);
  }
  void break_link(std::uint32_t from, std::uint32_t to) {
    Wire& wire = nodes_[from]->wires[to];
    wire.up = false;
    wire.letters.clear();
    nodes_[to]->host->on_peer_lost(std::exchange(wire.peer, PeerId{++last_peer_}));
    for (const std::uint64_t batch : std::exchange(wire.open, {})) {
      nodes_[from]->host->dead_letter_answers().on_lost(batch);
    }
  }
  void mend_link(std::uint32_t from, std::uint32_t to) {
    Wire& wire = nodes_[from]->wires[to];
    if (std::exchange(wire.up, true)) return;
    nodes_[from]->host->dead_letter_answers().on_reachable();
  }
  /// What is not on the disk is gone; every link is down.
  void crash(std::uint32_t node) {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (i != node) break_link(i, node);
    }
    for (auto& [to, wire] : nodes_[node]->wires) {
      if (to != node) nodes_[to]->host->on_peer_lost(wire.peer);
    }
    nodes_[node]->wires.clear();
    open(node);
  }
  /// Everything works, until nothing happens any more.
  void settle_down() {
    for (int round = 0; round < 60; ++round) {
      clock.advance(std::chrono::milliseconds(200));
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        for (std::uint32_t j = 0; j < nodes_.size(); ++j) mend_link(i, j);
      }
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        nodes_[i]->disk.commit();
        tick(i);
        nodes_[i]->disk.commit();
        nodes_[i]->disk.finish();
        turn(i);
      }
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        for (std::uint32_t j = 0; j < nodes_.size(); ++j) {
          while (carry(i, j)) {
          }
        }
        turn(i);
      }
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        nodes_[i]->disk.commit();
        turn(i);
        answer(i);
      }
    }
  }

  storage::FakeDiskDataCenter& disk(std::uint32_t node) { return nodes_[node]->disk; }
  QueueHost& host(std::uint32_t node) { return *nodes_[node]->host; }

  std::set<std::uint64_t> full;  // queues that take no letters
  QueueHost::Options options;
  ManualClock clock;
  CaptureLogger logger;

 private:
  static constexpr std::uint64_t kGets = 7;

  struct Wire {
    bool up = true;
    PeerId peer;  // as which the target knows this life of it
    std::deque<std::pair<v1::ShardPublish, SharedBytes>> letters;
    std::set<std::uint64_t> open;  // batches without an answer
  };
  struct Node {
    Node(DeadLetterWorld& its_world, std::uint32_t its_number)
        : outlets(its_world, *this), number(its_number) {}

    storage::FakeDiskDataCenter disk;
    std::unique_ptr<Output> output;
    std::unique_ptr<QueueHost> host;
    std::map<std::uint32_t, Wire> wires;

    class Outlets final : public DeadLetterOutlets {
     public:
      Outlets(DeadLetterWorld& world, Node& node) : world_(world), node_(node) {}

      CatalogIndex route(std::string_view, const v1::MessageHeader& header,
                         std::vector<DeadLetterTarget>& targets) override {
        targets.clear();
        for (const std::uint64_t id : world_.routes_[header.exchange()]) {
          const auto found = world_.definitions_.find(id);
          if (found == world_.definitions_.end()) continue;
          const auto shard = static_cast<std::uint16_t>(found->second.shard());
          targets.push_back({QueueId{id}, ShardId{shard}, found->second.name()});
        }
        return {};
      }
      bool reachable(ShardId shard) override { return world_.wire(node_, shard.value).up; }
      void publish(v1::ShardPublish publish, std::vector<SharedBytes> bodies,
                   CatalogIndex) override {
        std::string all;
        for (const SharedBytes& body : bodies) all.append(body.view());
        Wire& wire = world_.wire(node_, publish.shard());
        ASSERT_TRUE(wire.open.insert(publish.batch_id()).second);
        wire.letters.emplace_back(std::move(publish), SharedBytes::from(std::move(all)));
      }

     private:
      DeadLetterWorld& world_;
      Node& node_;
    };

    Outlets outlets;
    const std::uint32_t number;
  };

  Node& node_of(std::uint64_t queue) const { return *nodes_[definitions_.at(queue).shard()]; }
  Wire& wire(Node& node, std::uint32_t to) {
    Wire& wire = node.wires[to];
    if (wire.peer == PeerId{}) wire.peer = PeerId{++last_peer_};
    return wire;
  }
  Node* sender(PeerId peer, std::uint32_t to) {
    for (const auto& node : nodes_) {
      const auto found = node->wires.find(to);
      if (found != node->wires.end() && found->second.peer == peer) return node.get();
    }
    return nullptr;
  }
  void turn(Node& node) {
    node.host->end_turn(clock.now(), clock.wall_ms());
    node.disk.flush();
    for (const storage::Committed& committed : node.disk.poll()) {
      node.host->on_committed(committed.shard, committed.up_to);
    }
  }
  void open(std::uint32_t number) {
    Node& node = *nodes_[number];
    options.life = ++last_life_;
    node.output = std::make_unique<Output>();
    node.host = std::make_unique<QueueHost>(options, *node.output, logger.logger(), [](QueueId) {});
    std::vector<storage::Committed> ends;
    const Status status = node.disk.restart(
        [&](storage::DiskDataCenter& disk, const std::vector<storage::RecoveredShard>& shards) {
          return node.host->restore(disk, shards);
        },
        [&](const storage::ReplayedRecord& record) { return node.host->replay(record); }, &ends);
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    // A node has its shard from the start.
    ends.push_back({ShardId{static_cast<std::uint16_t>(number)}, LogIndex{0}});
    std::map<ShardId, LogIndex> highest;
    for (const storage::Committed& end : ends) {
      highest[end.shard] = std::max(highest[end.shard], end.up_to);
    }
    ends.clear();
    for (const auto& [shard, index] : highest) ends.push_back({shard, index});
    node.host->start(ends, clock.now(), clock.wall_ms());
    for (const auto& [id, definition] : definitions_) {
      if (definition.shard() == number) node.host->add_queue(definition);
    }
    node.host->forward_dead_letters(node.outlets);
    node.host->end_of_catalog_load();
  }

  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::uint64_t, v1::QueueDefinition> definitions_;
  std::map<std::string, std::vector<std::uint64_t>> routes_;
  std::uint64_t last_batch_ = 0;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_confirm_ = 0;
  std::uint64_t last_peer_ = 1000;
  std::uint64_t last_life_ = 0;
};

}  // namespace segue::node
