#include "tests/router/request_path_fixture.h"

namespace segue::router {
namespace {

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
