#include "router/delivery_path.h"

#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

using std::chrono::seconds;

class DeliveryPathTest : public RouterFixture {
 protected:
  void SetUp() override {
    begin();
    a = create_queue("a", 0);
    c = create_queue("c", 2);
    client.emplace(*router, clients, "c1");
    session_id = client->open().session_id();
  }

  void consume(std::uint64_t consumer, const std::string& queue = "a", std::uint64_t request = 1) {
    v1::Request frame;
    frame.mutable_consume()->set_queue(queue);
    frame.mutable_consume()->set_consumer(consumer);
    frame.mutable_consume()->set_prefetch_count(100);
    client->request(request, frame);
  }
  /// Consumes, with the node's agreement; gives the node's number for the consumer.
  std::uint64_t consuming(std::uint64_t consumer, bool no_ack = false) {
    v1::Request frame;
    frame.mutable_consume()->set_queue("a");
    frame.mutable_consume()->set_consumer(consumer);
    frame.mutable_consume()->set_no_ack(no_ack);
    client->request(1, frame);
    const std::uint64_t id = n1.commands().at(0).consumer();
    subscribed("n1", id);
    EXPECT_TRUE(client->next_reply().has_consume_ok());
    return id;
  }
  void subscribed(const std::string& node, std::uint64_t id) {
    v1::NodeFrame frame;
    auto& event = *frame.mutable_consumer_events()->add_events();
    event.set_consumer(id);
    event.mutable_subscribed();
    from_node(node, frame);
  }
  void cancelled(const std::string& node, std::uint64_t id, Code code) {
    v1::NodeFrame frame;
    auto& event = *frame.mutable_consumer_events()->add_events();
    event.set_consumer(id);
    event.mutable_cancelled()->set_code(static_cast<std::uint32_t>(code));
    from_node(node, frame);
  }
  v1::NodeFrame delivery(std::uint64_t id, std::uint64_t first, std::uint32_t count,
                         const std::string& bodies) {
    v1::NodeFrame frame;
    auto& one = *frame.mutable_deliveries()->add_deliveries();
    one.set_consumer(id);
    one.set_first_number(first);
    one.set_count(count);
    v1::DeliveryBatch batch;
    batch.mutable_messages()->add_headers()->set_routing_key("a");
    for (std::uint32_t i = 0; i < count; ++i) {
      batch.mutable_messages()->add_sizes(static_cast<std::uint32_t>(bodies.size() / count));
    }
    one.set_batch(batch.SerializeAsString());
    one.set_body_bytes(bodies.size());
    return frame;
  }
  void deliver(std::uint64_t id, std::uint64_t first, std::uint32_t count) {
    from_node("n1", delivery(id, first, count, std::string(count, 'x')), std::string(count, 'x'));
  }
  void settle(std::uint64_t consumer, std::uint64_t first, std::uint64_t last,
              std::uint64_t confirm_id = 0, v1::Outcome outcome = v1::OUTCOME_ACK) {
    v1::ClientFrame frame;
    frame.mutable_settle()->set_consumer(consumer);
    auto& one = *frame.mutable_settle()->add_settled();
    one.mutable_tags()->set_first(first);
    one.mutable_tags()->set_last(last);
    one.set_outcome(outcome);
    frame.mutable_settle()->set_confirm_id(confirm_id);
    client->send(frame);
  }
  void settle_ok(const std::string& node, std::uint64_t consumer, std::uint64_t confirm_id,
                 Code code = Code::kOk) {
    v1::NodeFrame frame;
    auto& event = *frame.mutable_consumer_events()->add_events();
    event.set_consumer(consumer);
    event.mutable_settle_ok()->set_confirm_id(confirm_id);
    if (code != Code::kOk) {
      event.mutable_settle_ok()->mutable_error()->set_code(static_cast<std::uint32_t>(code));
    }
    from_node(node, frame);
  }
  void cancel(std::uint64_t consumer, std::uint64_t request) {
    v1::Request frame;
    frame.mutable_cancel()->set_consumer(consumer);
    client->request(request, frame);
  }
  void queue_reply(const std::string& node, v1::QueueReply reply, const std::string& body = "") {
    v1::NodeFrame frame;
    *frame.mutable_queue_replies()->add_replies() = std::move(reply);
    from_node(node, frame, body);
  }
  std::uint32_t consume_error() { return client->next_reply().error().code(); }

  std::uint64_t a = 0;
  std::uint64_t c = 0;
  std::uint64_t session_id = 0;
  std::optional<TestClient> client;
};

TEST_F(DeliveryPathTest, SubscribesAtTheQueuesNode) {
  consume(7);
  ASSERT_EQ(n1.frames.size(), 2u);  // following the catalog, and this
  EXPECT_EQ(n1.frames.back().frame.catalog_index(), 2u);
  const auto commands = n1.commands();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].subscribe().queue_id(), a);
  EXPECT_EQ(commands[0].subscribe().prefetch_count(), 100u);
  EXPECT_EQ(commands[0].subscribe().window_bytes(), config.limits.delivery_window_bytes);
  EXPECT_EQ(commands[0].subscribe().session(), session_id);
  EXPECT_TRUE(client->quiet());
  subscribed("n1", commands[0].consumer());
  EXPECT_EQ(client->next_reply().consume_ok().consumer(), 7u);
}

TEST_F(DeliveryPathTest, RefusesConsumersThatBreakTheRules) {
  consume(1, "missing");
  EXPECT_EQ(consume_error(), number(Code::kNotFound));
  consume(0);
  EXPECT_EQ(consume_error(), number(Code::kNotAllowed));
  consume(1);
  consume(1);
  EXPECT_EQ(consume_error(), number(Code::kNotAllowed));
  v1::SessionOwner owner;
  owner.set_router_id("r1");
  owner.set_router_incarnation(router->incarnation());
  owner.set_session_id(session_id + 1);
  create_queue("theirs", 0, &owner);
  owner.set_session_id(session_id);
  create_queue("mine", 0, &owner);
  consume(2, "theirs");
  EXPECT_EQ(consume_error(), number(Code::kResourceLocked));
  consume(2, "mine");
  EXPECT_TRUE(client->quiet());
}

TEST_F(DeliveryPathTest, DoesNotLetANumberBeUsedAgainAfterItsConsumerEnded) {
  const std::uint64_t id = consuming(5);
  cancelled("n1", id, Code::kNotFound);
  EXPECT_EQ(client->next().consumer_cancelled().consumer(), 5u);
  consume(5);
  EXPECT_EQ(consume_error(), number(Code::kNotAllowed));
}

TEST_F(DeliveryPathTest, BoundsTheConsumersOfASession) {
  LimitsConfig limits;
  limits.max_consumers_per_session = 2;
  start(limits);
  begin();
  create_queue("a", 0);
  client.emplace(*router, clients, "c1");
  client->open();
  consume(1);
  consume(2);
  consume(3);
  EXPECT_EQ(consume_error(), number(Code::kResourceError));
}

TEST_F(DeliveryPathTest, GivesTheManyConsumersOfASessionSmallerWindows) {
  std::vector<std::uint64_t> windows;
  for (std::uint64_t number = 1; number <= 200; ++number) {
    consume(number);
    windows.push_back(n1.commands().at(0).subscribe().window_bytes());
  }
  const std::uint64_t full = config.limits.delivery_window_bytes;
  EXPECT_EQ(windows[0], full);
  EXPECT_EQ(windows[3], full);
  EXPECT_EQ(windows[7], full / 4);
  EXPECT_EQ(windows[199], 256u << 10);
}

TEST_F(DeliveryPathTest, PassesTheNodesRefusalOn) {
  consume(1);
  const auto commands = n1.commands();
  cancelled("n1", commands.at(0).consumer(), Code::kAccessRefused);
  EXPECT_EQ(consume_error(), number(Code::kAccessRefused));
  EXPECT_TRUE(client->quiet());
}

TEST_F(DeliveryPathTest, HandsDeliveriesThroughWithoutLookingInside) {
  const std::uint64_t id = consuming(7);
  v1::NodeFrame frame = delivery(id, 1, 2, "aabb");
  const std::string batch = frame.deliveries().deliveries(0).batch();
  from_node("n1", frame, "aabb");
  const auto got = client->next();
  ASSERT_TRUE(got.has_deliver());
  EXPECT_EQ(got.deliver().consumer(), 7u);
  EXPECT_EQ(got.deliver().first_tag(), 1u);
  EXPECT_EQ(got.deliver().batch().SerializeAsString(), batch);
  EXPECT_EQ(client->last_body, "aabb");
}

TEST_F(DeliveryPathTest, SharesTheBodiesOfAFrameAmongItsDeliveries) {
  const std::uint64_t id = consuming(7);
  v1::NodeFrame frame = delivery(id, 1, 1, "first");
  *frame.mutable_deliveries()->add_deliveries() =
      delivery(id, 2, 1, "second").deliveries().deliveries(0);
  from_node("n1", frame, "firstsecond");
  client->next();
  EXPECT_EQ(client->last_body, "first");
  EXPECT_EQ(client->next().deliver().first_tag(), 2u);
  EXPECT_EQ(client->last_body, "second");
}

TEST_F(DeliveryPathTest, RefusesDeliveriesThatMakeNoSense) {
  const std::uint64_t id = consuming(7);
  const auto status_of = [&](v1::NodeFrame frame, const std::string& bodies) {
    return router->on_node_frame("n1", frame, SharedBytes::from(bodies)).code();
  };
  EXPECT_EQ(status_of(delivery(id, 1, 1, "xx"), "x"), Code::kFrameError);
  EXPECT_EQ(status_of(delivery(id, 1, 1, "x"), "xx"), Code::kFrameError);
  EXPECT_EQ(status_of(delivery(id, 5, 1, "x"), "x"), Code::kFrameError);
}

TEST_F(DeliveryPathTest, AnswersTheConsumeBeforeADeliveryThatOvertookTheEvent) {
  consume(7);
  const std::uint64_t id = n1.commands().at(0).consumer();
  deliver(id, 1, 1);
  EXPECT_TRUE(client->next_reply().has_consume_ok());
  EXPECT_TRUE(client->next().has_deliver());
  subscribed("n1", id);
  EXPECT_TRUE(client->quiet());
}

TEST_F(DeliveryPathTest, SettlesInRanges) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 10);
  client->next();
  settle(7, 2, 5, 0, v1::OUTCOME_REJECT);
  const auto settles = n1.settles();
  ASSERT_EQ(settles.size(), 1u);
  EXPECT_EQ(settles[0].consumer(), id);
  EXPECT_EQ(settles[0].confirm_id(), 0u);
  EXPECT_EQ(settles[0].settled(0).tags().first(), 2u);
  EXPECT_EQ(settles[0].settled(0).tags().last(), 5u);
  EXPECT_EQ(settles[0].settled(0).outcome(), v1::OUTCOME_REJECT);
  EXPECT_TRUE(client->quiet());
}

TEST_F(DeliveryPathTest, ConfirmsASettleWhenTheNodeDoes) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 2);
  client->next();
  settle(7, 1, 2, 99);
  const auto settles = n1.settles();
  ASSERT_NE(settles.at(0).confirm_id(), 0u);
  EXPECT_TRUE(client->quiet());
  settle_ok("n1", id, settles[0].confirm_id());
  const auto ok = client->next();
  EXPECT_EQ(ok.settle_ok().confirm_id(), 99u);
  EXPECT_FALSE(ok.settle_ok().has_error());
}

TEST_F(DeliveryPathTest, TellsOfTagsThatWereNeverDelivered) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 2);
  client->next();
  settle(7, 2, 9, 99);
  const auto settles = n1.settles();
  EXPECT_EQ(settles.at(0).settled(0).tags().last(), 2u);
  settle_ok("n1", id, settles[0].confirm_id());
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kPreconditionFailed));
  settle(7, 50, 50, 100);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kPreconditionFailed));
  EXPECT_TRUE(n1.settles().empty());
  settle(8, 1, 1, 101);
  EXPECT_EQ(client->next().settle_ok().confirm_id(), 101u);
  settle(7, 50, 50);  // not asked for, told all the same
  const auto unasked = client->next();
  EXPECT_EQ(unasked.settle_ok().confirm_id(), 0u);
  EXPECT_TRUE(unasked.settle_ok().has_error());
  settle(7, 0, 5, 102);
  EXPECT_TRUE(client->next().settle_ok().has_error());
  settle(7, 2, 1, 103);
  EXPECT_TRUE(client->next().settle_ok().has_error());
  settle(7, 1, 1, 104, v1::OUTCOME_UNSPECIFIED);
  EXPECT_TRUE(client->next().settle_ok().has_error());
  settle(7, 1, ~0ull, 105);
  EXPECT_EQ(n1.settles().at(0).settled(0).tags().last(), 2u);
}

TEST_F(DeliveryPathTest, PassesTheNodesSettleErrorsOn) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 2);
  client->next();
  settle(7, 1, 2, 99);
  settle_ok("n1", id, n1.settles().at(0).confirm_id(), Code::kPreconditionFailed);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kPreconditionFailed));
  settle(7, 1, 2);
  settle_ok("n1", id, 0, Code::kPreconditionFailed);
  EXPECT_TRUE(client->next().settle_ok().has_error());
}

TEST_F(DeliveryPathTest, TellsTheNodeWhatTheClientHasReceived) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 5);
  client->next();
  v1::ClientFrame frame;
  frame.mutable_received()->set_consumer(7);
  frame.mutable_received()->set_tag(4);
  client->send(frame);
  auto commands = n1.commands();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].received(), 4u);
  frame.mutable_received()->set_tag(6);
  client->send(frame);
  EXPECT_TRUE(n1.commands().empty());
}

// ---- the node goes and comes back

TEST_F(DeliveryPathTest, ResumesConsumersWithTagsThatGoOn) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 3);
  client->next();
  down("n1");
  EXPECT_TRUE(client->quiet());
  up("n1");
  const auto commands = n1.commands();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].consumer(), id);
  EXPECT_EQ(commands[0].subscribe().queue_id(), a);
  subscribed("n1", id);
  EXPECT_TRUE(client->quiet());
  deliver(id, 1, 2);
  EXPECT_EQ(client->next().deliver().first_tag(), 4u);
  settle(7, 4, 5);
  EXPECT_EQ(n1.settles().at(0).settled(0).tags().first(), 1u);
}

TEST_F(DeliveryPathTest, TakesSettlesOfLostDeliveriesSilentlyUnlessAskedForAConfirm) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 3);
  client->next();
  down("n1");
  settle(7, 1, 2);
  EXPECT_TRUE(client->quiet());
  // A confirmed settle is never delivered again; these are.
  settle(7, 3, 3, 50);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kShardUnavailable));
  up("n1");
  n1.commands();
  deliver(id, 1, 2);
  client->next();
  settle(7, 2, 4, 51);
  const auto settles = n1.settles();
  ASSERT_EQ(settles.size(), 1u);
  EXPECT_EQ(settles[0].settled(0).tags().first(), 1u);
  EXPECT_EQ(settles[0].settled(0).tags().last(), 1u);
  settle_ok("n1", id, settles[0].confirm_id());
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kShardUnavailable));
}

TEST_F(DeliveryPathTest, TakesSettlesOfLostDeliveriesOfCancelledConsumersLikeOthers) {
  // Cancelled, then the node goes.
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 3);
  client->next();
  cancel(7, 2);
  v1::QueueReply fence;
  fence.set_request_id(n1.requests().at(0).request_id());
  queue_reply("n1", fence);
  EXPECT_EQ(client->next_reply().request_id(), 2u);
  down("n1");
  settle(7, 1, 1);
  EXPECT_TRUE(client->quiet());
  up("n1");
  settle(7, 2, 3, 50);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kShardUnavailable));
  // What was never delivered is wrong as ever, and so is a consumer that never was.
  settle(7, 3, 4, 51);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kPreconditionFailed));
  settle(9, 1, 1, 52);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kPreconditionFailed));
  EXPECT_TRUE(n1.settles().empty());
}

TEST_F(DeliveryPathTest, TakesSettlesOfLostDeliveriesOfConsumersCancelledWithTheNode) {
  // The node goes while one is being cancelled, and another is cancelled while it is away.
  const std::uint64_t first = consuming(7);
  const std::uint64_t second = consuming(8);
  for (const std::uint64_t id : {first, second}) {
    deliver(id, 1, 3);
    client->next();
  }
  cancel(7, 2);
  down("n1");
  EXPECT_EQ(client->next_reply().request_id(), 2u);
  cancel(8, 3);
  EXPECT_EQ(client->next_reply().request_id(), 3u);
  up("n1");
  for (const std::uint64_t consumer : {7, 8}) {
    settle(consumer, 1, 3, 50 + consumer);
    EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kShardUnavailable));
  }
  EXPECT_TRUE(n1.settles().empty());
}

TEST_F(DeliveryPathTest, TellsOfSettlesOfCancelledConsumersWithNothingLeft) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 3);
  client->next();
  settle(7, 1, 3);
  cancel(7, 2);
  v1::QueueReply fence;
  fence.set_request_id(n1.requests().at(0).request_id());
  queue_reply("n1", fence);
  client->next();
  down("n1");
  up("n1");
  settle(7, 1, 3, 50);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kPreconditionFailed));
}

TEST_F(DeliveryPathTest, AnswersSettlesThatTheNodeCanNoLongerConfirm) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 3);
  client->next();
  settle(7, 1, 3, 50);
  down("n1");
  const auto ok = client->next();
  EXPECT_EQ(ok.settle_ok().confirm_id(), 50u);
  EXPECT_EQ(ok.settle_ok().error().code(), number(Code::kShardUnavailable));
}

TEST_F(DeliveryPathTest, LetsAConsumeWaitForItsNodeAWhile) {
  down("n1");
  consume(1);
  advance(seconds(5));
  up("n1");
  const auto commands = n1.commands();
  ASSERT_EQ(commands.size(), 1u);
  subscribed("n1", commands[0].consumer());
  auto frame = client->next();
  if (frame.has_heartbeat()) frame = client->next();
  EXPECT_TRUE(frame.reply().has_consume_ok());
  down("n1");
  consume(2, "a", 2);
  advance(seconds(10));
  frame = client->next();
  if (frame.has_heartbeat()) frame = client->next();
  EXPECT_EQ(frame.reply().error().code(), number(Code::kShardUnavailable));
  up("n1");
  EXPECT_EQ(n1.commands().size(), 1u);  // the first consumer's
}

TEST_F(DeliveryPathTest, TellsWhenAQueueIsDeletedAlsoWithItsNodeDown) {
  consuming(7);
  down("n1");
  v1::CatalogEntry& deletion = next_entry();
  deletion.add_changes()->set_queue_deleted(a);
  v1::NodeFrame frame;
  *frame.mutable_catalog_feed()->add_entries() = deletion;
  from_node("n2", frame);  // the feed that is left
  const auto told = client->next();
  EXPECT_EQ(told.consumer_cancelled().consumer(), 7u);
  EXPECT_EQ(told.consumer_cancelled().reason().code(), number(Code::kNotFound));
  up("n1");
  EXPECT_TRUE(n1.commands().empty());
}

// ---- cancel, qos, the session's end

TEST_F(DeliveryPathTest, AnswersACancelBehindTheLastDelivery) {
  const std::uint64_t id = consuming(7);
  cancel(7, 2);
  const auto commands = n1.commands();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_FALSE(commands[0].unsubscribe().requeue());
  const auto fence = n1.requests();
  ASSERT_EQ(fence.size(), 1u);
  deliver(id, 1, 2);  // was on its way
  EXPECT_TRUE(client->next().has_deliver());
  v1::QueueReply reply;
  reply.set_request_id(fence[0].request_id());
  queue_reply("n1", reply);
  EXPECT_EQ(client->next_reply().request_id(), 2u);
  settle(7, 1, 2);
  EXPECT_EQ(n1.settles().size(), 1u);
  settle(7, 1, 2, 5);  // it is gone with its last delivery settled
  EXPECT_TRUE(client->next().settle_ok().has_error());
  cancel(7, 3);
  EXPECT_EQ(client->next_reply().error().code(), number(Code::kNotFound));
}

TEST_F(DeliveryPathTest, CancelsAtOnceWhileTheNodeIsDown) {
  consuming(7);
  down("n1");
  cancel(7, 2);
  EXPECT_EQ(client->next_reply().request_id(), 2u);
  up("n1");
  EXPECT_TRUE(n1.commands().empty());
}

TEST_F(DeliveryPathTest, EndsACancelWhoseNodeGoesAway) {
  consuming(7);
  cancel(7, 2);
  down("n1");
  EXPECT_EQ(client->next_reply().request_id(), 2u);
  EXPECT_TRUE(client->quiet());
}

TEST_F(DeliveryPathTest, ChangesThePrefetch) {
  const std::uint64_t id = consuming(7);
  v1::Request frame;
  frame.mutable_qos()->set_consumer(7);
  frame.mutable_qos()->set_prefetch_count(3);
  client->request(2, frame);
  EXPECT_FALSE(client->next_reply().has_error());
  const auto commands = n1.commands();
  EXPECT_EQ(commands.at(0).consumer(), id);
  EXPECT_EQ(commands.at(0).set_prefetch().prefetch_count(), 3u);
  down("n1");
  up("n1");
  EXPECT_EQ(n1.commands().at(0).subscribe().prefetch_count(), 3u);
  frame.mutable_qos()->set_consumer(8);
  client->request(3, frame);
  EXPECT_EQ(client->next_reply().error().code(), number(Code::kNotFound));
}

TEST_F(DeliveryPathTest, RequeuesWhatASessionLeavesBehindItsSettles) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 3);
  v1::ClientFrame frame;
  frame.mutable_settle()->set_consumer(7);
  frame.mutable_settle()->add_settled()->set_outcome(v1::OUTCOME_ACK);
  frame.mutable_settle()->mutable_settled(0)->mutable_tags()->set_first(1);
  frame.mutable_settle()->mutable_settled(0)->mutable_tags()->set_last(1);
  n1.frames.clear();
  client->send(frame);
  v1::ClientFrame close;
  close.mutable_close();
  client->send(close);
  ASSERT_EQ(n1.frames.size(), 2u);
  EXPECT_TRUE(n1.frames[0].frame.has_settles());
  EXPECT_TRUE(n1.frames[1].frame.consumers().commands(0).unsubscribe().requeue());
  EXPECT_EQ(router->kept_for_sessions(), 0u);
  deliver(id, 4, 1);  // on its way: the node requeues it
  EXPECT_EQ(router->session_count(), 0u);
}

// ---- gets

TEST_F(DeliveryPathTest, PollsOneMessageAndSettlesIt) {
  v1::Request get;
  get.mutable_get()->set_queue("a");
  client->request(2, get);
  const auto requests = n1.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].queue_id(), a);
  const std::uint64_t subscription = requests[0].get().consumer();
  EXPECT_NE(subscription, 0u);
  v1::QueueReply reply;
  reply.set_request_id(requests[0].request_id());
  reply.set_remaining(4);
  *reply.mutable_delivery() = delivery(subscription, 1, 1, "body").deliveries().deliveries(0);
  queue_reply("n1", reply, "body");
  const v1::Reply got = client->next_reply();
  EXPECT_EQ(client->last_body, "body");
  EXPECT_TRUE(got.get_ok().found());
  EXPECT_EQ(got.get_ok().tag(), 1u);
  EXPECT_EQ(got.get_ok().consumer(), 0u);
  EXPECT_EQ(got.get_ok().remaining(), 4u);
  EXPECT_EQ(got.get_ok().batch().messages().sizes_size(), 1);

  settle(0, 1, 1, 9);
  const auto settles = n1.settles();
  EXPECT_EQ(settles.at(0).consumer(), subscription);
  EXPECT_EQ(settles.at(0).settled(0).tags().first(), 1u);
  settle_ok("n1", subscription, settles[0].confirm_id());
  EXPECT_FALSE(client->next().settle_ok().has_error());
  settle(0, 1, 1, 10);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kPreconditionFailed));
}

TEST_F(DeliveryPathTest, JoinsTheConfirmsOfGetsFromSeveralNodes) {
  std::map<std::string, std::uint64_t> subscriptions;
  for (const char* queue : {"a", "c"}) {
    v1::Request get;
    get.mutable_get()->set_queue(queue);
    client->request(2, get);
    const bool first = std::string(queue) == "a";
    const auto requests = first ? n1.requests() : n2.requests();
    v1::QueueReply reply;
    reply.set_request_id(requests.at(0).request_id());
    subscriptions[queue] = requests[0].get().consumer();
    *reply.mutable_delivery() = delivery(subscriptions[queue], 1, 1, "").deliveries().deliveries(0);
    queue_reply(first ? "n1" : "n2", reply);
    client->next_reply();
  }
  EXPECT_NE(subscriptions["a"], subscriptions["c"]);
  settle(0, 1, 2, 9);
  settle_ok("n2", subscriptions["c"], n2.settles().at(0).confirm_id());
  EXPECT_TRUE(client->quiet());
  settle_ok("n1", subscriptions["a"], n1.settles().at(0).confirm_id());
  EXPECT_EQ(client->next().settle_ok().confirm_id(), 9u);
}

TEST_F(DeliveryPathTest, SaysWhenAPolledQueueIsEmpty) {
  v1::Request get;
  get.mutable_get()->set_queue("a");
  client->request(2, get);
  v1::QueueReply reply;
  reply.set_request_id(n1.requests().at(0).request_id());
  queue_reply("n1", reply);
  EXPECT_FALSE(clients.frames["c1"].front().with_bodies);
  EXPECT_FALSE(client->next_reply().get_ok().found());
}

TEST_F(DeliveryPathTest, RequeuesPolledMessagesWhenTheSessionEnds) {
  v1::Request get;
  get.mutable_get()->set_queue("a");
  client->request(2, get);
  const std::uint64_t subscription = n1.requests().at(0).get().consumer();
  v1::ClientFrame close;
  close.mutable_close();
  client->send(close);
  const auto commands = n1.commands();
  EXPECT_EQ(commands.at(0).consumer(), subscription);
  EXPECT_TRUE(commands.at(0).unsubscribe().requeue());
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

}  // namespace
}  // namespace segue::router
