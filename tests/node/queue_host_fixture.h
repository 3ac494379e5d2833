#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/queue_host.h"
#include "segue/v1/types.pb.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/fake_disk_data_center.h"
#include "tests/fakes/manual_clock.h"

namespace segue::node {

/// A message as a consumer sees it.
struct SeenMessage {
  std::string body;
  bool redelivered = false;
  std::uint32_t delivery_count = 0;
  std::uint64_t number = 0;
  std::string routing_key;

  bool operator==(const SeenMessage&) const = default;
};

/// The messages of a delivery, taken apart as a client does; fails the test if it is malformed.
inline std::vector<SeenMessage> take_apart(const v1::NodeDelivery& delivery,
                                           const std::vector<SharedBytes>& bodies) {
  std::string joined;
  for (const SharedBytes& body : bodies) joined.append(body.view());
  EXPECT_EQ(delivery.body_bytes(), joined.size());
  v1::DeliveryBatch batch;
  EXPECT_TRUE(batch.ParseFromString(delivery.batch()));
  EXPECT_EQ(batch.messages().sizes_size(), static_cast<int>(delivery.count()));
  std::vector<SeenMessage> messages;
  std::size_t at = 0;
  for (int i = 0; i < batch.messages().sizes_size(); ++i) {
    const std::size_t size = batch.messages().sizes(i);
    SeenMessage message;
    message.body = joined.substr(at, size);
    at += size;
    message.redelivered = !batch.redelivered().empty() && batch.redelivered(i);
    message.delivery_count = batch.delivery_count().empty() ? 0 : batch.delivery_count(i);
    message.number = delivery.first_number() + static_cast<std::uint64_t>(i);
    const int header = batch.messages().header_index().empty()
                           ? 0
                           : static_cast<int>(batch.messages().header_index(i));
    message.routing_key = batch.messages().headers(header).routing_key();
    messages.push_back(std::move(message));
  }
  return messages;
}

/// Keeps what the host says to peers.
class RecordingOutput final : public PeerOutput {
 public:
  struct Delivered {
    PeerId peer;
    v1::NodeDelivery delivery;
    std::vector<SeenMessage> messages;
  };
  struct Replied {
    v1::QueueReply reply;
    std::vector<SeenMessage> messages;
    std::string bodies;  // back to back
  };

  void confirm(PeerId, v1::ShardConfirm confirm) override {
    confirms.push_back(std::move(confirm));
  }
  void deliver(PeerId peer, v1::NodeDelivery delivery, std::vector<SharedBytes> bodies) override {
    auto messages = take_apart(delivery, bodies);
    deliveries.push_back({peer, std::move(delivery), std::move(messages)});
  }
  void consumer_event(PeerId peer, v1::ConsumerEvent event) override {
    events.emplace_back(peer, std::move(event));
  }
  void queue_reply(PeerId, v1::QueueReply reply, std::vector<SharedBytes> bodies) override {
    std::vector<SeenMessage> messages;
    if (reply.has_delivery() && !reply.has_browse()) {
      messages = take_apart(reply.delivery(), bodies);
    }
    std::string joined;
    for (const SharedBytes& body : bodies) joined.append(body.view());
    replies.push_back({std::move(reply), std::move(messages), std::move(joined)});
  }
  void catalog_reply(PeerId, v1::CatalogReply) override { FAIL() << "a catalog reply"; }
  void catalog_feed(PeerId, v1::CatalogFeed) override { FAIL() << "a catalog feed"; }

  /// The messages delivered to a consumer since the last call.
  std::vector<SeenMessage> take(PeerId peer, std::uint64_t consumer) {
    std::vector<SeenMessage> messages;
    std::erase_if(deliveries, [&](Delivered& delivered) {
      if (delivered.peer != peer || delivered.delivery.consumer() != consumer) return false;
      messages.insert(messages.end(), delivered.messages.begin(), delivered.messages.end());
      return true;
    });
    return messages;
  }

  std::vector<v1::ShardConfirm> confirms;
  std::vector<Delivered> deliveries;
  std::vector<std::pair<PeerId, v1::ConsumerEvent>> events;
  std::vector<Replied> replies;
};

inline constexpr PeerId kRouter{1};

/// A host on a disk in memory, with shorthands for what peers say.
class QueueHostTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kShard = 3;

  QueueHostTest() { open(); }

  /// A new life of the host; queues are declared again from `definitions`.
  void open() {
    output = std::make_unique<RecordingOutput>();
    deletions.clear();
    host = std::make_unique<QueueHost>(options, *output, logger.logger(),
                                       [this](QueueId id) { deletions.push_back(id); });
    std::vector<storage::Committed> ends;
    const Status status = disk.restart(
        [&](storage::DiskDataCenter& center, const std::vector<storage::RecoveredShard>& shards) {
          return host->restore(center, shards);
        },
        [&](const storage::ReplayedRecord& record) { return host->replay(record); }, &ends);
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    host->start(ends, clock.now(), clock.wall_ms());
    for (const auto& definition : definitions) host->add_queue(definition);
    if (knows_catalog) host->end_of_catalog_load();
  }

  v1::QueueDefinition define(std::uint64_t id, bool durable = true, bool auto_delete = false,
                             std::uint32_t shard = kShard) {
    v1::QueueDefinition definition;
    definition.set_id(id);
    definition.set_name("q" + std::to_string(id));
    definition.set_shard(shard);
    definition.set_durable(durable);
    definition.set_auto_delete(auto_delete);
    definitions.push_back(definition);
    return definition;
  }
  void declare(std::uint64_t id, bool durable = true, bool auto_delete = false,
               std::uint32_t shard = kShard) {
    host->add_queue(define(id, durable, auto_delete, shard));
  }

  /// One turn of the loop as the reactor makes it.
  void turn() {
    host->end_turn(clock.now(), clock.wall_ms());
    disk.flush();
    for (const storage::Committed& committed : disk.poll()) {
      host->on_committed(committed.shard, committed.up_to);
    }
  }
  /// Turns until nothing more happens.
  void settle_down() {
    for (int i = 0; i < 200; ++i) turn();
  }
  void tick(Duration by = std::chrono::milliseconds(100)) {
    clock.advance(by);
    host->on_tick(clock.now(), clock.wall_ms());
    turn();
  }

  /// A publish of these bodies to the queues, without dedupe.
  static v1::ShardPublish publish_of(const std::vector<std::string>& bodies,
                                     const std::vector<std::uint64_t>& queues,
                                     std::uint32_t shard = kShard) {
    v1::ShardPublish publish;
    publish.set_shard(shard);
    for (const std::uint64_t queue : queues) publish.add_targets()->set_queue_id(queue);
    v1::MessageBatch batch;
    batch.add_headers()->set_routing_key("key");
    std::uint64_t bytes = 0;
    for (const std::string& body : bodies) {
      batch.add_sizes(static_cast<std::uint32_t>(body.size()));
      bytes += body.size();
    }
    publish.set_batch(batch.SerializeAsString());
    publish.set_body_bytes(bytes);
    return publish;
  }
  static SharedBytes joined(const std::vector<std::string>& bodies) {
    std::string all;
    for (const std::string& body : bodies) all += body;
    return SharedBytes::from(std::move(all));
  }
  /// Gives the batch id. The peer has seen every refusal before.
  std::uint64_t publish(const std::vector<std::string>& bodies,
                        const std::vector<std::uint64_t>& queues, std::uint32_t shard = kShard) {
    v1::ShardPublish message = publish_of(bodies, queues, shard);
    message.set_batch_id(++last_batch);
    message.set_resumes(true);
    host->on_publish(kRouter, message, joined(bodies));
    return last_batch;
  }
  /// With dedupe: seqs from `first_seq` on.
  std::uint64_t publish_as(const std::string& producer, std::uint64_t first_seq,
                           const std::vector<std::string>& bodies, std::uint64_t queue,
                           std::uint64_t session = 1, std::uint64_t settled_below = 0) {
    v1::ShardPublish message = publish_of(bodies, {queue});
    message.set_batch_id(++last_batch);
    message.set_producer_id(producer);
    message.set_producer_session(session);
    message.set_first_seq(first_seq);
    message.set_settled_below(settled_below);
    host->on_publish(kRouter, message, joined(bodies));
    return last_batch;
  }
  /// The confirm of a batch; null if there is none yet.
  const v1::ShardConfirm* confirm_of(std::uint64_t batch) const {
    for (const v1::ShardConfirm& confirm : output->confirms) {
      if (confirm.batch_id() == batch) return &confirm;
    }
    return nullptr;
  }

  struct Terms {
    std::uint32_t prefetch = 0;
    bool no_ack = false;
    std::int32_t priority = 0;
    std::uint64_t prefetch_bytes = 0;
    std::uint64_t window_bytes = 0;
    std::uint64_t session = 0;
  };
  void subscribe(std::uint64_t consumer, std::uint64_t queue, Terms terms, PeerId peer = kRouter) {
    v1::ConsumerCommand command;
    command.set_consumer(consumer);
    v1::Subscribe& subscribe = *command.mutable_subscribe();
    subscribe.set_queue_id(queue);
    subscribe.set_prefetch_count(terms.prefetch);
    subscribe.set_prefetch_bytes(terms.prefetch_bytes);
    subscribe.set_no_ack(terms.no_ack);
    subscribe.set_priority(terms.priority);
    subscribe.set_window_bytes(terms.window_bytes);
    subscribe.set_session(terms.session);
    host->on_consumer_command(peer, command);
  }
  void subscribe(std::uint64_t consumer, std::uint64_t queue) {
    subscribe(consumer, queue, Terms{});
  }
  void unsubscribe(std::uint64_t consumer, bool requeue, PeerId peer = kRouter) {
    v1::ConsumerCommand command;
    command.set_consumer(consumer);
    command.mutable_unsubscribe()->set_requeue(requeue);
    host->on_consumer_command(peer, command);
  }
  void received(std::uint64_t consumer, std::uint64_t number) {
    v1::ConsumerCommand command;
    command.set_consumer(consumer);
    command.set_received(number);
    host->on_consumer_command(kRouter, command);
  }
  void settle(std::uint64_t consumer, std::uint64_t first, std::uint64_t last,
              v1::Outcome outcome = v1::OUTCOME_ACK, std::uint64_t confirm_id = 0,
              PeerId peer = kRouter) {
    v1::PeerSettle message;
    message.set_consumer(consumer);
    message.set_confirm_id(confirm_id);
    v1::SettledTags& tags = *message.add_settled();
    tags.mutable_tags()->set_first(first);
    tags.mutable_tags()->set_last(last);
    tags.set_outcome(outcome);
    host->on_settle(peer, message);
  }
  /// The SettleOk with this confirm id; null if there is none yet.
  const v1::SettleOk* settle_ok(std::uint64_t confirm_id) const {
    for (const auto& [peer, event] : output->events) {
      if (event.has_settle_ok() && event.settle_ok().confirm_id() == confirm_id) {
        return &event.settle_ok();
      }
    }
    return nullptr;
  }
  RecordingOutput::Replied request(v1::QueueRequest message) {
    message.set_request_id(++last_request);
    host->on_queue_request(kRouter, message);
    return reply_of(last_request);
  }
  /// The reply to a request, after as many turns as it takes.
  RecordingOutput::Replied reply_of(std::uint64_t request_id) {
    for (int i = 0; i < 20; ++i) {
      for (const auto& replied : output->replies) {
        if (replied.reply.request_id() == request_id) return replied;
      }
      turn();
    }
    ADD_FAILURE() << "no reply to request " << request_id;
    return {};
  }
  RecordingOutput::Replied get(std::uint64_t consumer, std::uint64_t queue, bool no_ack = false) {
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.mutable_get()->set_consumer(consumer);
    message.mutable_get()->set_no_ack(no_ack);
    return request(message);
  }
  RecordingOutput::Replied purge(std::uint64_t queue) {
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.mutable_purge();
    return request(message);
  }
  /// Takes everything that is in the queue now.
  std::vector<std::string> drain(std::uint64_t queue = 1) {
    std::vector<std::string> bodies;
    for (;;) {
      const auto got = get(900, queue, true);
      if (got.messages.empty()) return bodies;
      bodies.push_back(got.messages[0].body);
    }
  }
  /// Everything goes to the disk, and a new life begins from there.
  void reopen() {
    bool done = false;
    host->begin_shutdown([&] { done = true; });
    for (int i = 0; i < 100 && !done; ++i) turn();
    ASSERT_TRUE(done);
    open();
    settle_down();
  }
  v1::QueueDescription status(std::uint64_t queue) {
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.mutable_status();
    return request(message).reply.queue();
  }
  std::vector<SeenMessage> take(std::uint64_t consumer, PeerId peer = kRouter) {
    return output->take(peer, consumer);
  }
  std::vector<std::string> take_bodies(std::uint64_t consumer, PeerId peer = kRouter) {
    std::vector<std::string> bodies;
    for (const SeenMessage& message : take(consumer, peer)) bodies.push_back(message.body);
    return bodies;
  }

  QueueHost::Options options;
  CaptureLogger logger;
  ManualClock clock;
  storage::FakeDiskDataCenter disk;
  std::vector<v1::QueueDefinition> definitions;
  std::vector<QueueId> deletions;
  /// Whether a new life has the latest catalog from its beginning.
  bool knows_catalog = true;
  std::unique_ptr<RecordingOutput> output;
  std::unique_ptr<QueueHost> host;
  std::uint64_t last_batch = 0;
  std::uint64_t last_request = 0;
};

/// "m1", "m2", ... "m<count>".
inline std::vector<std::string> numbered(std::size_t count, std::size_t first = 1) {
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < count; ++i) {
    std::string body = "m";
    body += std::to_string(first + i);
    bodies.push_back(std::move(body));
  }
  return bodies;
}

}  // namespace segue::node
