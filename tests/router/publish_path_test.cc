#include "router/publish_path.h"

#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

using std::chrono::seconds;
using Message = TestClient::Message;

class PublishPathTest : public RouterFixture {
 protected:
  void SetUp() override {
    begin();
    a = create_queue("a", 0);
    b = create_queue("b", 1);
    c = create_queue("c", 2);
    client.emplace(*router, clients, "c1");
    client->open("producer");
  }

  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::optional<TestClient> client;
};

TEST_F(PublishPathTest, HandsABatchForOneShardThroughUntouched) {
  std::string bodies;
  v1::ClientFrame frame =
      TestClient::publish_frame(5, {{"", "a", "one"}, {"", "a", "two"}}, bodies);
  frame.mutable_publish()->set_settled_below(4);
  client->send(frame, bodies);
  const auto sent = n1.publishes();
  ASSERT_EQ(sent.size(), 1u);
  const v1::ShardPublish& publish = sent[0].publish;
  EXPECT_EQ(publish.batch(), frame.publish().batch().SerializeAsString());
  EXPECT_EQ(sent[0].bodies, "onetwo");
  EXPECT_EQ(publish.shard(), 0u);
  EXPECT_EQ(publish.first_seq(), 5u);
  EXPECT_EQ(publish.settled_below(), 4u);
  EXPECT_EQ(publish.producer_id(), "producer");
  EXPECT_GT(publish.producer_session(), 0u);
  ASSERT_EQ(publish.targets_size(), 1);
  EXPECT_EQ(publish.targets(0).queue_id(), a);
  EXPECT_TRUE(publish.targets(0).messages().empty());
  EXPECT_TRUE(n2.publishes().empty());

  EXPECT_TRUE(client->quiet());
  confirm("n1", publish.batch_id());
  const v1::Confirm confirmed = client->next_confirm();
  EXPECT_EQ(text_of(confirmed.confirmed()), "5-6");
  EXPECT_EQ(confirmed.durability(), v1::DURABILITY_SYNC);
  EXPECT_EQ(confirmed.granted_bytes(), config.limits.publish_credit_bytes + 6 + 2 * 64);
}

TEST_F(PublishPathTest, TellsTheNodeWhatItMustKnowOfTheCatalog) {
  client->publish_to("b", 1);
  const auto sent = n1.publishes();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].catalog_index, 3u);  // the cluster, a, b
}

TEST_F(PublishPathTest, PutsWhatATurnHasForANodeIntoOneFrame) {
  TestClient other(*router, clients, "c2");
  other.open();
  std::string bodies1;
  std::string bodies2;
  WireMessage first;
  first.peer = "c1";
  v1::ClientFrame frame = TestClient::publish_frame(1, {{"", "a"}}, bodies1);
  frame.mutable_link()->set_epoch(77);
  frame.mutable_link()->set_sequence(2);
  first.header = SharedBytes::from(frame.SerializeAsString());
  first.bodies = SharedBytes::from(bodies1);
  router->on_client_message(first);
  WireMessage second;
  second.peer = "c2";
  frame = TestClient::publish_frame(1, {{"", "b"}}, bodies2);
  frame.mutable_link()->set_epoch(77);
  frame.mutable_link()->set_sequence(2);
  second.header = SharedBytes::from(frame.SerializeAsString());
  second.bodies = SharedBytes::from(bodies2);
  router->on_client_message(second);
  n1.frames.clear();
  router->end_turn();
  ASSERT_EQ(n1.frames.size(), 1u);
  EXPECT_EQ(n1.frames[0].frame.publishes().publishes_size(), 2);
}

TEST_F(PublishPathTest, SplitsABatchByShardAndConfirmsEachPartByItself) {
  client->publish(1, {{"", "a", "1"}, {"", "c", "22"}, {"", "a", "333"}, {"", "c", "4444"}});
  const auto to_n1 = n1.publishes();
  const auto to_n2 = n2.publishes();
  ASSERT_EQ(to_n1.size(), 1u);
  ASSERT_EQ(to_n2.size(), 1u);
  EXPECT_EQ(to_n1[0].bodies, "1333");
  EXPECT_EQ(to_n2[0].bodies, "224444");
  EXPECT_EQ(
      std::vector<std::uint64_t>(to_n1[0].publish.seqs().begin(), to_n1[0].publish.seqs().end()),
      (std::vector<std::uint64_t>{1, 3}));
  v1::MessageBatch batch;
  ASSERT_TRUE(batch.ParseFromString(to_n2[0].publish.batch()));
  EXPECT_EQ(batch.sizes_size(), 2);
  EXPECT_EQ(batch.headers(0).routing_key(), "c");

  confirm("n2", to_n2[0].publish.batch_id());
  EXPECT_EQ(text_of(client->next_confirm().confirmed()), "2,4");
  confirm("n1", to_n1[0].publish.batch_id(), v1::DURABILITY_INTERVAL);
  const v1::Confirm rest = client->next_confirm();
  EXPECT_EQ(text_of(rest.confirmed()), "1,3");
  EXPECT_EQ(rest.durability(), v1::DURABILITY_INTERVAL);
  EXPECT_EQ(rest.granted_bytes(), config.limits.publish_credit_bytes + 10 + 4 * 64);
}

TEST_F(PublishPathTest, NamesWhichMessagesGoToWhichQueueOfAShard) {
  create_queue("a2", 0);
  client->publish(1, {{"", "a"}, {"", "a2"}, {"", "a"}});
  const auto sent = n1.publishes();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].publish.seqs().empty());
  ASSERT_EQ(sent[0].publish.targets_size(), 2);
  EXPECT_EQ(sent[0].publish.targets(0).messages_size(), 2);
  EXPECT_EQ(sent[0].publish.targets(1).messages(0), 1u);
}

TEST_F(PublishPathTest, ConfirmsAMessageForSeveralShardsWhenAllHaveIt) {
  create_binding("amq.fanout", "a", "");
  create_binding("amq.fanout", "b", "");
  create_binding("amq.fanout", "c", "");
  client->publish(1, {{"amq.fanout", "x", "body1"}, {"amq.fanout", "x", "body2"}});
  const auto to_n1 = n1.publishes();
  const auto to_n2 = n2.publishes();
  ASSERT_EQ(to_n1.size(), 2u);
  ASSERT_EQ(to_n2.size(), 1u);
  EXPECT_EQ(to_n2[0].bodies, "body1body2");
  confirm("n1", to_n1[0].publish.batch_id());
  confirm("n2", to_n2[0].publish.batch_id(), v1::DURABILITY_TRANSIENT);
  EXPECT_TRUE(client->quiet());
  confirm("n1", to_n1[1].publish.batch_id());
  const v1::Confirm confirmed = client->next_confirm();
  EXPECT_EQ(text_of(confirmed.confirmed()), "1-2");
  EXPECT_EQ(confirmed.durability(), v1::DURABILITY_TRANSIENT);
}

TEST_F(PublishPathTest, RejectsWhenAnyShardRefusesAndNamesTheQueues) {
  create_binding("amq.fanout", "a", "");
  create_binding("amq.fanout", "c", "");
  client->publish(1, {{"amq.fanout", "x"}, {"amq.fanout", "x"}});
  const auto to_n1 = n1.publishes();
  const auto to_n2 = n2.publishes();
  refuse("n2", to_n2[0].publish.batch_id(), Code::kQueueFull, "full");
  EXPECT_TRUE(client->quiet());
  confirm("n1", to_n1[0].publish.batch_id());
  const v1::Confirm answer = client->next_confirm();
  EXPECT_TRUE(answer.confirmed().empty());
  ASSERT_EQ(answer.rejected_size(), 1);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 1u);
  EXPECT_EQ(answer.rejected(0).seqs().last(), 2u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kQueueFull));
  ASSERT_EQ(answer.rejected(0).queues_size(), 1);
  EXPECT_EQ(answer.rejected(0).queues(0), "c");
}

TEST_F(PublishPathTest, RejectsThePartOfABatchThatAQueueHadNoRoomFor) {
  client->publish_to("a", 1, 5);
  const auto sent = n1.publishes();
  ASSERT_EQ(sent.size(), 1u);
  confirm_part("n1", sent[0].publish.batch_id(), a, {3, 4});
  const v1::Confirm answer = client->next_confirm();
  EXPECT_EQ(text_of(answer.confirmed()), "1-3");
  ASSERT_EQ(answer.rejected_size(), 1);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 4u);
  EXPECT_EQ(answer.rejected(0).seqs().last(), 5u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kQueueFull));
  ASSERT_EQ(answer.rejected(0).queues_size(), 1);
  EXPECT_EQ(answer.rejected(0).queues(0), "a");
  EXPECT_EQ(answer.granted_bytes(), config.limits.publish_credit_bytes + 5 * (4 + 64));
}

TEST_F(PublishPathTest, OfSeveralShardsThoseThatHadNoRoomAreNamed) {
  create_binding("amq.fanout", "a", "");
  create_binding("amq.fanout", "c", "");
  client->publish(1, {{"amq.fanout", "x"}, {"amq.fanout", "x"}, {"amq.fanout", "x"}});
  confirm_part("n1", n1.publishes()[0].publish.batch_id(), a, {1});
  confirm_part("n2", n2.publishes()[0].publish.batch_id(), c, {1, 2});
  const v1::Confirm answer = client->next_confirm();
  EXPECT_EQ(text_of(answer.confirmed()), "1");
  ASSERT_EQ(answer.rejected_size(), 2);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 2u);
  EXPECT_EQ(answer.rejected(0).queues_size(), 2);
  EXPECT_EQ(answer.rejected(1).seqs().first(), 3u);
  ASSERT_EQ(answer.rejected(1).queues_size(), 1);
  EXPECT_EQ(answer.rejected(1).queues(0), "c");
}

TEST_F(PublishPathTest, RejectsAMessageWhoseExpirationMakesNoSense) {
  const auto with = [](const std::string& expiration) {
    return Message{"", "a", "body", false, expiration};
  };
  client->publish(1, {with("-1"), with("60000"), with("soon"), with("0"), with("")});
  const v1::Confirm answer = client->next_confirm();
  ASSERT_EQ(answer.rejected_size(), 2);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 1u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kPreconditionFailed));
  EXPECT_NE(answer.rejected(0).error().text().find("expiration is '-1'"), std::string::npos);
  EXPECT_EQ(answer.rejected(1).seqs().first(), 3u);
  const auto sent = n1.publishes();
  ASSERT_EQ(sent.size(), 1u);
  confirm("n1", sent[0].publish.batch_id());
  const v1::Confirm confirmed = client->next_confirm();
  EXPECT_EQ(text_of(confirmed.confirmed()), "2,4-5");
}

TEST_F(PublishPathTest, ConfirmsUnroutableMessagesAndReturnsMandatoryOnesFirst) {
  client->publish(1, {{"amq.direct", "x", "lost"}, {"amq.direct", "y", "back", true}});
  const auto returned = client->next();
  ASSERT_TRUE(returned.has_return_message());
  EXPECT_EQ(client->last_body, "back");
  EXPECT_EQ(returned.return_message().seq(), 2u);
  EXPECT_EQ(returned.return_message().error().code(), number(Code::kNoRoute));
  EXPECT_EQ(returned.return_message().header().routing_key(), "y");
  const v1::Confirm confirmed = client->next_confirm();
  EXPECT_EQ(text_of(confirmed.confirmed()), "1-2");
  EXPECT_EQ(text_of(confirmed.unroutable()), "1-2");
  EXPECT_EQ(confirmed.granted_bytes(), config.limits.publish_credit_bytes + 8 + 2 * 64);
}

TEST_F(PublishPathTest, RejectsOnlyTheMessagesThatAreWrong) {
  create_exchange("inner", "fanout", true);
  client->publish(1, {{"nowhere", "x"}, {"", "a"}, {"inner", "x"}});
  const v1::Confirm answer = client->next_confirm();
  ASSERT_EQ(answer.rejected_size(), 2);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 1u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kNotFound));
  EXPECT_EQ(answer.rejected(0).error().entity(), "nowhere");
  EXPECT_EQ(answer.rejected(1).seqs().first(), 3u);
  EXPECT_EQ(answer.rejected(1).error().code(), number(Code::kAccessRefused));
  const auto sent = n1.publishes();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].publish.first_seq(), 2u);
  confirm("n1", sent[0].publish.batch_id());
  EXPECT_EQ(text_of(client->next_confirm().confirmed()), "2");
}

TEST_F(PublishPathTest, RejectsATooLargeMessageOnly) {
  LimitsConfig limits;
  limits.max_message_bytes = 10;
  start(limits);
  begin();
  create_queue("a", 0);
  TestClient small(*router, clients, "c1");
  small.open();
  small.publish(1, {{"", "a", "short"}, {"", "a", "far too long"}});
  const v1::Confirm answer = small.next_confirm();
  ASSERT_EQ(answer.rejected_size(), 1);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 2u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kContentTooLarge));
  EXPECT_EQ(n1.publishes().size(), 1u);
}

TEST_F(PublishPathTest, RejectsATooLargeHeaderOnly) {
  client->publish(1, {{"", "a"}, {"amq.topic", std::string(70'000, 'k')}});
  const v1::Confirm answer = client->next_confirm();
  ASSERT_EQ(answer.rejected_size(), 1);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 2u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kContentTooLarge));
}

TEST_F(PublishPathTest, FollowsBindingsAsTheyCome) {
  client->publish(1, {{"amq.topic", "a.b"}});
  EXPECT_EQ(text_of(client->next_confirm().unroutable()), "1");
  const std::uint64_t binding = create_binding("amq.topic", "a", "a.*");
  client->publish(2, {{"amq.topic", "a.b"}});
  EXPECT_EQ(n1.publishes().size(), 1u);
  next_entry().add_changes()->set_binding_deleted(binding);
  feed();
  client->publish(3, {{"amq.topic", "a.b"}});
  EXPECT_EQ(text_of(client->next_confirm().unroutable()), "3");
}

// What other nodes tell may be behind: a message that seems to go nowhere may be wanted.
TEST_F(PublishPathTest, KnowsWhatIsNotThereOnlyFromTheLeader) {
  start(config.limits);
  up("n2");
  feeding_node = "n2";
  create_cluster();
  create_queue("c", 2);
  client.emplace(*router, clients, "c1");
  client->hello("producer");
  EXPECT_TRUE(client->quiet());
  advance(config.timeouts.request / 2);
  ASSERT_TRUE(client->next().has_hello_ok());
  client->publish(1, {{"amq.fanout", ""}, {"", "c"}, {"", "missing", "body", true}});
  const v1::Confirm answer = client->next_confirm();
  ASSERT_EQ(answer.rejected_size(), 2);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 1u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kCatalogUnavailable));
  EXPECT_EQ(answer.rejected(1).seqs().first(), 3u);
  EXPECT_EQ(answer.rejected(1).error().code(), number(Code::kCatalogUnavailable));
  ASSERT_EQ(n2.publishes().size(), 1u);

  up("n1");
  from_node("n1", [] {
    v1::NodeFrame frame;
    frame.mutable_catalog_feed();
    return frame;
  }());
  client->publish(4, {{"", "missing"}});
  EXPECT_EQ(text_of(client->next_confirm().unroutable()), "4");
}

TEST_F(PublishPathTest, MergesConfirmsOfATurnIntoRanges) {
  client->publish_to("a", 1, 2);
  client->publish_to("b", 3, 2);
  client->publish_to("a", 5, 1);
  const auto sent = n1.publishes();
  ASSERT_EQ(sent.size(), 3u);
  v1::NodeFrame frame;
  for (const std::size_t i : {1u, 2u, 0u}) {
    frame.mutable_confirms()->add_confirms()->set_batch_id(sent[i].publish.batch_id());
  }
  from_node("n1", frame);
  EXPECT_EQ(text_of(client->next_confirm().confirmed()), "1-5");
  EXPECT_TRUE(client->quiet());
}

// ---- rules that close the session

TEST_F(PublishPathTest, ClosesASessionThatOverrunsItsCredit) {
  LimitsConfig limits;
  limits.publish_credit_bytes = 1000;
  start(limits);
  begin();
  create_queue("a", 0);
  TestClient greedy(*router, clients, "c1");
  EXPECT_EQ(greedy.open().publish_credit(), 1000u);
  greedy.publish_to("a", 1, 1, std::string(936, 'x'));
  EXPECT_TRUE(greedy.quiet());
  confirm("n1", n1.publishes().at(0).publish.batch_id());
  EXPECT_EQ(greedy.next_confirm().granted_bytes(), 2000u);
  greedy.publish_to("a", 2, 1, std::string(937, 'x'));
  EXPECT_EQ(greedy.next_close(), number(Code::kNoCredit));
  EXPECT_EQ(router->session_count(), 0u);
}

TEST_F(PublishPathTest, ClosesASessionWithTooManyUnconfirmed) {
  LimitsConfig limits;
  limits.max_unconfirmed = 3;
  start(limits);
  begin();
  create_queue("a", 0);
  TestClient greedy(*router, clients, "c1");
  greedy.open();
  greedy.publish_to("a", 1, 3);
  EXPECT_TRUE(greedy.quiet());
  greedy.publish_to("a", 4);
  EXPECT_EQ(greedy.next_close(), number(Code::kNoCredit));
}

TEST_F(PublishPathTest, LetsSeqsSkipButNotRepeat) {
  client->publish_to("a", 10, 2);
  client->publish_to("a", 20, 2);
  EXPECT_TRUE(client->quiet());
  client->publish_to("a", 21);
  EXPECT_EQ(client->next_close(), number(Code::kFrameError));
}

TEST_F(PublishPathTest, ClosesASessionWithABatchThatDoesNotFitItsBodies) {
  std::string bodies;
  v1::ClientFrame frame = TestClient::publish_frame(1, {{"", "a", "body"}}, bodies);
  client->send(frame, "bod");
  EXPECT_EQ(client->next_close(), number(Code::kFrameError));
}

TEST_F(PublishPathTest, ClosesASessionWhoseHeadersAreNestedTooDeep) {
  v1::FieldValue value;
  value.set_int_value(1);
  for (int i = 0; i < 40; ++i) {
    v1::FieldValue outer;
    *outer.mutable_array_value()->add_values() = value;
    value = outer;
  }
  v1::ClientFrame frame;
  frame.mutable_publish()->set_first_seq(1);
  auto& batch = *frame.mutable_publish()->mutable_batch();
  batch.add_sizes(0);
  (*batch.add_headers()->mutable_properties()->mutable_headers())["x"] = value;
  client->send(frame);
  EXPECT_EQ(client->next_close(), number(Code::kFrameError));
}

TEST_F(PublishPathTest, ClosesASessionWhoseHeadersFillTheMemory) {
  LimitsConfig limits;
  limits.publish_credit_bytes = 10'000;
  start(limits);
  begin();
  create_queue("a", 0);
  create_binding("amq.fanout", "a", "");
  TestClient greedy(*router, clients, "c1");
  greedy.open();
  for (std::uint64_t seq = 1; seq <= 8; ++seq) {
    greedy.publish(seq, {{"amq.fanout", std::string(4'900, 'k'), ""}});
  }
  EXPECT_TRUE(greedy.quiet());
  greedy.publish(9, {{"amq.fanout", std::string(4'900, 'k'), ""}});
  EXPECT_EQ(greedy.next_close(), number(Code::kResourceError));
}

TEST_F(PublishPathTest, SendsTheAnswersThatItHasBeforeAClose) {
  client->publish(1, {{"nowhere", "x"}});
  EXPECT_EQ(client->next_confirm().rejected_size(), 1);
  client->publish(2, {{"nowhere", "x"}});
  client->publish(2, {{"nowhere", "x"}});
  EXPECT_EQ(client->next_confirm().rejected(0).seqs().first(), 2u);
  EXPECT_EQ(client->next_close(), number(Code::kFrameError));
}

TEST_F(PublishPathTest, ClosesASessionThatANewerOneHasOvertakenElsewhere) {
  client->publish_to("a", 1);
  refuse("n1", n1.publishes().at(0).publish.batch_id(), Code::kStaleEpoch, "older session");
  EXPECT_EQ(client->next_close(), number(Code::kStaleEpoch));
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

}  // namespace
}  // namespace segue::router
