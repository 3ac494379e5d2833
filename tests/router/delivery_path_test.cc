#include "tests/router/delivery_path_fixture.h"

namespace segue::router {
namespace {

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

}  // namespace
}  // namespace segue::router
