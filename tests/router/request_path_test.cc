#include "tests/router/request_path_fixture.h"

namespace segue::router {
namespace {

TEST_F(RequestPathTest, DeclaresAQueueAndAnswersWhenItsViewHasIt) {
  declare("new", true);
  const auto asked = n1.catalog_requests();
  ASSERT_EQ(asked.size(), 1u);
  const v1::CatalogOperation& operation = asked[0].operation();
  EXPECT_EQ(operation.declare_queue().queue().name(), "new");
  EXPECT_EQ(operation.declare_queue().queue().vhost(), "/");
  EXPECT_TRUE(operation.declare_queue().queue().durable());
  EXPECT_EQ(operation.declare_queue().queue().owner().session_id(), session_id);
  EXPECT_EQ(operation.asker().router_id(), "r1");
  EXPECT_EQ(operation.asker().router_incarnation(), router->incarnation());

  v1::CatalogOutcome done;
  done.set_index(catalog_index + 1);
  done.set_created(true);
  done.mutable_queue()->set_name("new");
  done.mutable_queue()->set_id(next_queue_id);
  done.mutable_queue()->set_shard(3);
  outcome(asked[0].request_id(), done);
  EXPECT_TRUE(client->quiet());
  create_queue("new", 3);
  const v1::Reply reply = client->next_reply();
  EXPECT_EQ(reply.catalog_index(), catalog_index);
  EXPECT_EQ(reply.queue_declare_ok().name(), "new");
  EXPECT_EQ(reply.queue_declare_ok().shard(), 3u);
  EXPECT_EQ(reply.queue_declare_ok().node(), "n2");
  EXPECT_TRUE(reply.queue_declare_ok().created());
  EXPECT_TRUE(n2.requests().empty());
}

TEST_F(RequestPathTest, AnswersARedeclareWithTheNodesCounts) {
  declare("c");
  v1::CatalogOutcome done;
  done.set_index(catalog_index);
  *done.mutable_queue() = queues["c"];
  outcome(n1.catalog_requests().at(0).request_id(), done);
  const auto requests = n2.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(requests[0].has_status());
  counts("n2", requests[0], 17, 2);
  const v1::Reply reply = client->next_reply();
  EXPECT_FALSE(reply.queue_declare_ok().created());
  EXPECT_EQ(reply.queue_declare_ok().ready(), 17u);
  EXPECT_EQ(reply.queue_declare_ok().consumers(), 2u);
}

TEST_F(RequestPathTest, LetsARedeclareWaitForItsNodeAndThenFail) {
  down("n2");
  declare("c", false, true);
  up("n2");
  const auto requests = n2.requests();
  ASSERT_EQ(requests.size(), 1u);
  down("n2");  // asked again: it does no harm
  up("n2");
  counts("n2", n2.requests().at(0), 1, 0);
  EXPECT_EQ(client->next_reply().queue_declare_ok().ready(), 1u);
  down("n2");
  declare("c", false, true);
  advance(seconds(10));
  auto frame = client->next();
  if (frame.has_heartbeat()) frame = client->next();
  EXPECT_EQ(frame.reply().error().code(), number(Code::kShardUnavailable));
}

TEST_F(RequestPathTest, AnswersPassiveDeclaresFromItsViewAlsoWithoutTheLeader) {
  down("n1");
  declare("missing", false, true);
  EXPECT_EQ(client->next_reply().error().code(), number(Code::kNotFound));
  v1::Request request;
  request.mutable_exchange_declare()->set_name("amq.topic");
  request.mutable_exchange_declare()->set_passive(true);
  client->request(50, request);
  EXPECT_FALSE(client->next_reply().has_error());
  request.mutable_exchange_declare()->set_name("missing");
  client->request(51, request);
  EXPECT_EQ(client->next_reply().error().code(), number(Code::kNotFound));
}

TEST_F(RequestPathTest, PassesTheLeadersRefusalOn) {
  v1::Request request;
  request.mutable_bind()->set_exchange("e");
  request.mutable_bind()->set_queue("a");
  request.mutable_bind()->set_routing_key("k");
  client->request(9, request);
  const auto asked = n1.catalog_requests();
  EXPECT_EQ(asked.at(0).operation().bind().exchange(), "e");
  EXPECT_EQ(asked[0].operation().bind().routing_key(), "k");
  v1::CatalogOutcome refused;
  refused.mutable_error()->set_code(404);
  refused.mutable_error()->set_text("no exchange 'e'");
  outcome(asked[0].request_id(), refused);
  const v1::Reply reply = client->next_reply();
  EXPECT_EQ(reply.request_id(), 9u);
  EXPECT_EQ(reply.error().code(), 404u);
}

TEST_F(RequestPathTest, SendsEveryKindOfChangeToTheLeader) {
  v1::Request request;
  request.mutable_exchange_declare()->set_name("e");
  request.mutable_exchange_declare()->set_type("topic");
  request.mutable_exchange_declare()->set_internal(true);
  client->request(1, request);
  request.mutable_exchange_delete()->set_name("e");
  request.mutable_exchange_delete()->set_if_unused(true);
  client->request(2, request);
  request.mutable_unbind()->set_exchange("e");
  request.mutable_unbind()->set_queue("q");
  client->request(3, request);
  const auto asked = n1.catalog_requests();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].operation().declare_exchange().exchange().type(), "topic");
  EXPECT_TRUE(asked[0].operation().declare_exchange().exchange().internal());
  EXPECT_TRUE(asked[1].operation().delete_exchange().if_unused());
  EXPECT_EQ(asked[2].operation().unbind().queue(), "q");
  for (const auto& one : asked) {
    v1::CatalogOutcome done;
    done.set_index(catalog_index);
    outcome(one.request_id(), done);
    EXPECT_EQ(client->next_reply().catalog_index(), catalog_index);
  }
}

TEST_F(RequestPathTest, WaitsForALeaderThatIsAwayOnlyShortly) {
  down("n1");
  declare("new");
  EXPECT_TRUE(client->quiet());
  advance(seconds(3));
  const v1::Reply late = client->next_reply();
  EXPECT_EQ(late.error().code(), number(Code::kCatalogUnavailable));
  EXPECT_EQ(late.error().text().find("may have been done"), std::string::npos);
  declare("new");
  up("n1");
  EXPECT_EQ(n1.catalog_requests().size(), 1u);
}

TEST_F(RequestPathTest, AsksTheLeaderAgainAfterAReset) {
  declare("new");
  EXPECT_EQ(n1.catalog_requests().size(), 1u);
  down("n1");
  up("n1");
  EXPECT_EQ(n1.catalog_requests().size(), 1u);
  down("n1");
  advance(seconds(3));
  const v1::Reply late = client->next_reply();
  EXPECT_EQ(late.error().code(), number(Code::kCatalogUnavailable));
  EXPECT_NE(late.error().text().find("may have been done"), std::string::npos);
}

TEST_F(RequestPathTest, SaysWhenItsViewDoesNotReachAnOutcome) {
  declare("new");
  v1::CatalogOutcome done;
  done.set_index(catalog_index + 10);
  outcome(n1.catalog_requests().at(0).request_id(), done);
  advance(seconds(10));
  auto frame = client->next();
  if (frame.has_heartbeat()) frame = client->next();
  EXPECT_EQ(frame.reply().error().code(), number(Code::kTimeout));
}

TEST_F(RequestPathTest, DeletesAQueueAfterAskingItsNode) {
  v1::Request request;
  request.mutable_queue_delete()->set_name("c");
  request.mutable_queue_delete()->set_if_unused(true);
  client->request(1, request);
  const auto asked = n2.requests();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(asked[0].check_delete().if_unused());
  EXPECT_TRUE(n1.catalog_requests().empty());
  counts("n2", asked[0], 5, 0);
  const auto operation = n1.catalog_requests();
  ASSERT_EQ(operation.size(), 1u);
  EXPECT_EQ(operation[0].operation().delete_queue().id(), queues["c"].id());
  v1::CatalogOutcome done;
  done.set_index(catalog_index + 1);
  outcome(operation[0].request_id(), done);
  delete_queue("c");
  EXPECT_EQ(client->next_reply().queue_delete_ok().messages(), 5u);
}

TEST_F(RequestPathTest, DoesNotDeleteAQueueWhoseNodeObjects) {
  v1::Request request;
  request.mutable_queue_delete()->set_name("c");
  request.mutable_queue_delete()->set_if_empty(true);
  client->request(1, request);
  v1::QueueReply objection;
  objection.set_request_id(n2.requests().at(0).request_id());
  objection.mutable_error()->set_code(406);
  queue_reply("n2", objection);
  EXPECT_EQ(client->next_reply().error().code(), 406u);
  EXPECT_TRUE(n1.catalog_requests().empty());
}

TEST_F(RequestPathTest, DeletesAQueueOfADownNodeOnlyWithoutConditions) {
  down("n2");
  v1::Request request;
  request.mutable_queue_delete()->set_name("c");
  client->request(1, request);
  EXPECT_EQ(n1.catalog_requests().size(), 1u);
  request.mutable_queue_delete()->set_if_empty(true);
  client->request(2, request);
  EXPECT_TRUE(n1.catalog_requests().empty());
}

TEST_F(RequestPathTest, DeletesAMissingQueueWithoutFuss) {
  v1::Request request;
  request.mutable_queue_delete()->set_name("missing");
  client->request(1, request);
  const v1::Reply reply = client->next_reply();
  EXPECT_FALSE(reply.has_error());
  EXPECT_TRUE(reply.has_queue_delete_ok());
}

TEST_F(RequestPathTest, PurgesAQueue) {
  v1::Request request;
  request.mutable_queue_purge()->set_name("a");
  client->request(1, request);
  const auto asked = n1.requests();
  EXPECT_TRUE(asked.at(0).has_purge());
  v1::QueueReply reply;
  reply.set_request_id(asked[0].request_id());
  reply.set_purged(12);
  queue_reply("n1", reply);
  EXPECT_EQ(client->next_reply().queue_purge_ok().messages(), 12u);
}

TEST_F(RequestPathTest, KeepsAPublishAndAPurgeInOrder) {
  n1.frames.clear();
  // One turn: publish, purge, publish.
  std::uint64_t sequence = client->sequence_;
  const auto send = [&](v1::ClientFrame frame, const std::string& bodies) {
    frame.mutable_link()->set_epoch(client->epoch());
    frame.mutable_link()->set_sequence(++sequence);
    WireMessage message;
    message.peer = "c1";
    message.header = SharedBytes::from(frame.SerializeAsString());
    message.bodies = SharedBytes::from(bodies);
    router->on_client_message(message);
  };
  std::string bodies;
  send(TestClient::publish_frame(1, {{"", "a"}}, bodies), bodies);
  v1::ClientFrame purge;
  purge.mutable_request()->set_request_id(1);
  purge.mutable_request()->mutable_queue_purge()->set_name("a");
  send(purge, "");
  bodies.clear();
  send(TestClient::publish_frame(2, {{"", "a"}}, bodies), bodies);
  router->end_turn();
  ASSERT_EQ(n1.frames.size(), 3u);
  EXPECT_TRUE(n1.frames[0].frame.has_publishes());
  EXPECT_TRUE(n1.frames[1].frame.has_queue_requests());
  EXPECT_TRUE(n1.frames[2].frame.has_publishes());
}

TEST_F(RequestPathTest, BoundsTheRequestsOfASession) {
  LimitsConfig limits;
  limits.max_requests_in_flight = 2;
  start(limits);
  begin();
  client.emplace(*router, clients, "c1");
  client->open();
  declare("x");
  declare("y");
  EXPECT_TRUE(client->quiet());
  declare("z");
  const v1::Reply refused = client->next_reply();
  EXPECT_EQ(refused.request_id(), 3u);
  EXPECT_EQ(refused.error().code(), number(Code::kResourceError));
  v1::CatalogOutcome failed;
  failed.mutable_error()->set_code(406);
  outcome(n1.catalog_requests().at(0).request_id(), failed);
  EXPECT_EQ(client->next_reply().request_id(), 1u);
  declare("z");
  EXPECT_TRUE(client->quiet());
}

// ---- exclusive queues

}  // namespace
}  // namespace segue::router
