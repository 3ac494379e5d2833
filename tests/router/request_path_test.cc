#include "router/request_path.h"

#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

using std::chrono::seconds;

class RequestPathTest : public RouterFixture {
 protected:
  void SetUp() override {
    begin();
    create_queue("a", 0);
    create_queue("c", 2);
    client.emplace(*router, clients, "c1");
    session_id = client->open().session_id();
  }

  void declare(const std::string& name, bool exclusive = false, bool passive = false) {
    v1::Request request;
    request.mutable_queue_declare()->set_name(name);
    request.mutable_queue_declare()->set_durable(true);
    request.mutable_queue_declare()->set_exclusive(exclusive);
    request.mutable_queue_declare()->set_passive(passive);
    client->request(++request_id, request);
  }
  void outcome(std::uint64_t request, v1::CatalogOutcome outcome_value) {
    v1::NodeFrame frame;
    auto& reply = *frame.mutable_catalog_replies()->add_replies();
    reply.set_request_id(request);
    *reply.mutable_outcome() = std::move(outcome_value);
    from_node("n1", frame);
  }
  void queue_reply(const std::string& node, const v1::QueueReply& reply) {
    v1::NodeFrame frame;
    *frame.mutable_queue_replies()->add_replies() = reply;
    from_node(node, frame);
  }
  void counts(const std::string& node, const v1::QueueRequest& request, std::uint64_t ready,
              std::uint32_t consumers) {
    v1::QueueReply reply;
    reply.set_request_id(request.request_id());
    reply.mutable_queue()->set_ready(ready);
    reply.mutable_queue()->set_consumers(consumers);
    queue_reply(node, reply);
  }

  std::uint64_t request_id = 0;
  std::uint64_t session_id = 0;
  std::optional<TestClient> client;
};

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

TEST_F(RequestPathTest, TellsAQueuesStatusWithOrWithoutItsNode) {
  v1::Request request;
  request.mutable_queue_status()->set_name("c");
  client->request(1, request);
  counts("n2", n2.requests().at(0), 8, 1);
  v1::QueueDescription queue = client->next_reply().queue_status_ok().queue();
  EXPECT_TRUE(queue.available());
  EXPECT_EQ(queue.ready(), 8u);
  EXPECT_EQ(queue.name(), "c");
  EXPECT_EQ(queue.node(), "n2");
  EXPECT_TRUE(queue.durable());
  down("n2");
  client->request(2, request);
  queue = client->next_reply().queue_status_ok().queue();
  EXPECT_FALSE(queue.available());
  EXPECT_EQ(queue.shard(), 2u);
  request.mutable_queue_status()->set_name("missing");
  client->request(3, request);
  EXPECT_EQ(client->next_reply().error().code(), number(Code::kNotFound));
}

TEST_F(RequestPathTest, ListsQueuesInPagesWithTheCountsThatCanBeHad) {
  v1::Request request;
  request.mutable_list_queues()->set_limit(1);
  down("n2");
  client->request(1, request);
  counts("n1", n1.requests().at(0), 3, 0);
  v1::ListQueuesOk page = client->next_reply().list_queues_ok();
  ASSERT_EQ(page.queues_size(), 1);
  EXPECT_EQ(page.queues(0).name(), "a");
  EXPECT_EQ(page.queues(0).ready(), 3u);
  EXPECT_TRUE(page.more());
  request.mutable_list_queues()->set_after("a");
  client->request(2, request);
  page = client->next_reply().list_queues_ok();
  ASSERT_EQ(page.queues_size(), 1);
  EXPECT_EQ(page.queues(0).name(), "c");
  EXPECT_FALSE(page.queues(0).available());
  EXPECT_FALSE(page.more());
  request.mutable_list_queues()->Clear();
  request.mutable_list_queues()->set_names_only(true);
  client->request(3, request);
  EXPECT_EQ(client->next_reply().list_queues_ok().queues_size(), 2);
  EXPECT_TRUE(n1.requests().empty());
}

TEST_F(RequestPathTest, CountsForFewListsAtATime) {
  v1::Request request;
  request.mutable_list_queues();
  for (std::uint64_t id = 1; id <= 6; ++id) client->request(id, request);
  auto to_n1 = n1.requests();
  auto to_n2 = n2.requests();
  EXPECT_EQ(to_n1.size(), 4u);
  counts("n1", to_n1[0], 1, 0);
  counts("n2", to_n2[0], 1, 0);
  EXPECT_EQ(client->next_reply().request_id(), 1u);
  EXPECT_EQ(n1.requests().size(), 1u);
  v1::ClientFrame close;
  close.mutable_close();
  client->send(close);
  down("n1");
  down("n2");
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

TEST_F(RequestPathTest, ListsExchangesAndBindings) {
  create_exchange("e", "topic");
  create_binding("e", "a", "x");
  create_binding("e", "c", "y");
  create_binding("amq.fanout", "a", "");
  v1::Request request;
  request.mutable_list_exchanges()->set_after("amq.topic");
  client->request(1, request);
  const auto exchanges = client->next_reply().list_exchanges_ok();
  ASSERT_EQ(exchanges.exchanges_size(), 1);
  EXPECT_EQ(exchanges.exchanges(0).name(), "e");
  EXPECT_EQ(exchanges.exchanges(0).bindings(), 2u);
  const auto list = [&](const std::string& exchange, const std::string& queue, std::uint64_t after,
                        std::uint32_t limit) {
    v1::Request bindings;
    bindings.mutable_list_bindings()->set_exchange(exchange);
    bindings.mutable_list_bindings()->set_queue(queue);
    bindings.mutable_list_bindings()->set_after_number(after);
    bindings.mutable_list_bindings()->set_limit(limit);
    client->request(2, bindings);
    const auto ok = client->next_reply().list_bindings_ok();
    std::string text;
    for (const auto& binding : ok.bindings()) text += std::to_string(binding.number()) + " ";
    return text + (ok.more() ? "more" : "");
  };
  EXPECT_EQ(list("", "", 0, 0), "1 2 3 ");
  EXPECT_EQ(list("", "", 0, 2), "1 2 more");
  EXPECT_EQ(list("", "", 2, 2), "3 ");
  EXPECT_EQ(list("e", "", 0, 0), "1 2 ");
  EXPECT_EQ(list("e", "", 0, 1), "1 more");
  EXPECT_EQ(list("", "a", 0, 0), "1 3 ");
  EXPECT_EQ(list("e", "a", 0, 0), "1 ");
}

TEST_F(RequestPathTest, ReportsTheCluster) {
  node_state("n2", "memory: too much");
  down("n1");
  v1::Request request;
  request.mutable_cluster_status();
  client->request(1, request);
  const auto status = client->next_reply().cluster_status_ok();
  EXPECT_EQ(status.cluster(), "test");
  EXPECT_EQ(status.shard_count(), 4u);
  EXPECT_EQ(status.catalog_index(), catalog_index);
  EXPECT_FALSE(status.catalog_available());
  ASSERT_EQ(status.routers_size(), 1);
  EXPECT_TRUE(status.routers(0).self());
  EXPECT_EQ(status.routers(0).sessions(), 1u);
  ASSERT_EQ(status.nodes_size(), 2);
  EXPECT_FALSE(status.nodes(0).connected());
  EXPECT_TRUE(status.nodes(1).connected());
  EXPECT_EQ(status.nodes(1).shards(), 2u);
  EXPECT_EQ(status.nodes(1).blocked_reason(), "memory: too much");
  ASSERT_EQ(status.shards_size(), 4);
  EXPECT_FALSE(status.shards(0).available());
  EXPECT_EQ(status.shards(0).queues(), 1u);
  EXPECT_TRUE(status.shards(2).available());
  EXPECT_FALSE(status.shards(2).blocked_reason().empty());
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

class ExclusiveQueuesTest : public RequestPathTest {
 protected:
  void create_mine(const std::string& name) {
    v1::SessionOwner owner;
    owner.set_router_id("r1");
    owner.set_router_incarnation(router->incarnation());
    owner.set_session_id(session_id);
    create_queue(name, 0, &owner);
  }
  void end_session() {
    v1::ClientFrame close;
    close.mutable_close();
    client->send(close);
  }
};

TEST_F(ExclusiveQueuesTest, AreDeletedWhenTheirSessionEnds) {
  create_mine("mine");
  create_queue("other", 0);
  end_session();
  const auto asked = n1.catalog_requests();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].operation().delete_queue().id(), queues["mine"].id());
  EXPECT_FALSE(asked[0].operation().has_asker());
  delete_queue("mine");
  v1::CatalogOutcome done;
  done.set_index(catalog_index);
  outcome(asked[0].request_id(), done);
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

TEST_F(ExclusiveQueuesTest, AreAskedForAgainUntilTheyAreGone) {
  create_mine("mine");
  down("n1");
  end_session();
  for (int i = 0; i < 20; ++i) advance(seconds(1));
  EXPECT_TRUE(n1.catalog_requests().empty());
  up("n1");
  advance(seconds(2));
  const auto asked = n1.catalog_requests();
  ASSERT_EQ(asked.size(), 1u);
  v1::CatalogOutcome failed;
  failed.mutable_error()->set_code(541);
  outcome(asked[0].request_id(), failed);
  advance(seconds(2));
  EXPECT_EQ(n1.catalog_requests().size(), 1u);
}

TEST_F(ExclusiveQueuesTest, AreDeletedWhenTheirDeclareFinishesAfterTheSession) {
  declare("late", true);
  end_session();
  n1.catalog_requests();
  create_mine("late");
  advance(seconds(1));
  ASSERT_EQ(n1.catalog_requests().size(), 1u);
}

TEST_F(ExclusiveQueuesTest, AreFoundInASnapshot) {
  create_mine("mine");
  end_session();
  n1.catalog_requests();
  start({});
  up("n1");
  // The new life of the router owns none of the old one's.
  create_cluster();
  advance(seconds(1));
  EXPECT_TRUE(n1.catalog_requests().empty());
}

TEST_F(RequestPathTest, AsksTheNodeOfAQueueForItsFiles) {
  v1::Request request;
  request.mutable_list_segments()->set_queue("c");
  request.mutable_list_segments()->set_after(5);
  client->request(7, request);
  const auto asked = n2.requests();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].queue_id(), queues["c"].id());
  EXPECT_EQ(asked[0].list_segments().after(), 5u);
  v1::QueueReply answer;
  answer.set_request_id(asked[0].request_id());
  answer.mutable_segments()->add_segments()->set_first(6);
  answer.mutable_segments()->set_more(true);
  queue_reply("n2", answer);
  const v1::Reply reply = client->next_reply();
  EXPECT_EQ(reply.list_segments_ok().node(), "n2");
  EXPECT_TRUE(reply.list_segments_ok().more());
  EXPECT_EQ(reply.list_segments_ok().segments(0).first(), 6u);
  request.mutable_list_segments()->set_queue("missing");
  client->request(8, request);
  EXPECT_EQ(client->next_reply().error().code(), number(Code::kNotFound));
  down("n2");
  request.mutable_list_segments()->set_queue("c");
  client->request(9, request);
  EXPECT_EQ(client->next_reply().error().code(), number(Code::kShardUnavailable));
}

TEST_F(RequestPathTest, GathersWhatAllNodesSayOfTheirGarbageAndNamesThoseThatAreSilent) {
  down("n2");
  v1::Request request;
  request.mutable_collect_garbage()->set_action(v1::CollectGarbage::ACTION_PAUSE);
  client->request(7, request);
  const auto asked = n1.requests();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].queue_id(), 0u);
  EXPECT_EQ(asked[0].collect_garbage().action(), v1::CollectGarbage::ACTION_PAUSE);
  EXPECT_TRUE(client->quiet());
  v1::QueueReply answer;
  answer.set_request_id(asked[0].request_id());
  answer.mutable_garbage()->set_debt_bytes(12);
  queue_reply("n1", answer);
  const v1::CollectGarbageOk all = client->next_reply().collect_garbage_ok();
  ASSERT_EQ(all.nodes_size(), 2);
  EXPECT_EQ(all.nodes(0).node(), "n1");
  EXPECT_EQ(all.nodes(0).debt_bytes(), 12u);
  EXPECT_FALSE(all.nodes(0).has_error());
  EXPECT_EQ(all.nodes(1).node(), "n2");
  EXPECT_EQ(all.nodes(1).error().code(), number(Code::kShardUnavailable));
}

TEST_F(RequestPathTest, HasOneNodeCollectAQueuesGarbage) {
  v1::Request request;
  request.mutable_collect_garbage()->set_action(v1::CollectGarbage::ACTION_RUN);
  request.mutable_collect_garbage()->set_queue("c");
  client->request(7, request);
  EXPECT_TRUE(n1.requests().empty());
  const auto asked = n2.requests();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].queue_id(), queues["c"].id());
  v1::QueueReply answer;
  answer.set_request_id(asked[0].request_id());
  answer.mutable_garbage()->set_running(true);
  queue_reply("n2", answer);
  const v1::CollectGarbageOk all = client->next_reply().collect_garbage_ok();
  ASSERT_EQ(all.nodes_size(), 1);
  EXPECT_EQ(all.nodes(0).node(), "n2");
  EXPECT_TRUE(all.nodes(0).running());
  client->request(8, request);
  answer.set_request_id(n2.requests().at(0).request_id());
  answer.mutable_error()->set_code(406);
  answer.mutable_error()->set_text("collecting is paused");
  queue_reply("n2", answer);
  EXPECT_EQ(client->next_reply().error().code(), 406u);
}

}  // namespace
}  // namespace segue::router
