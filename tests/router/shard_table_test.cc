#include "router/shard_table.h"

#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The rules of waiting and sending again, seen from a client and a node.
class ShardTableTest : public RouterFixture {
 protected:
  void SetUp() override {
    begin();
    create_queue("a", 0);
    create_queue("b", 1);
    create_queue("c", 2);
    client.emplace(*router, clients, "c1");
    client->open("producer");
  }
  std::vector<std::uint64_t> first_seqs(FakeNode& node) {
    std::vector<std::uint64_t> seqs;
    for (const auto& sent : node.publishes()) {
      seqs.push_back(sent.publish.first_seq());
      ids[sent.publish.first_seq()] = sent.publish.batch_id();
    }
    return seqs;
  }
  // Time goes by, and the client stays alive; its heartbeats and the router's are taken away.
  void pass(Duration time) {
    for (; time > Duration::zero(); time -= seconds(1)) {
      v1::ClientFrame heartbeat;
      heartbeat.mutable_heartbeat();
      client->send(heartbeat);
      advance(seconds(1));
      auto& frames = clients.frames[client->peer()];
      std::erase_if(frames, [](const auto& sent) { return sent.frame.has_heartbeat(); });
    }
  }
  using Seqs = std::vector<std::uint64_t>;

  std::optional<TestClient> client;
  std::map<std::uint64_t, std::uint64_t> ids;  // first seq -> batch id
};

TEST_F(ShardTableTest, KeepsPublishesOfADownNodeAndSendsThemInOrderOnItsReturn) {
  down("n1");
  client->publish_to("a", 1);
  client->publish_to("a", 2, 3);
  const auto blocked = client->next();
  ASSERT_TRUE(blocked.has_blocked());
  EXPECT_EQ(blocked.blocked().shards(0), 0u);
  EXPECT_NE(blocked.blocked().reason().find("n1"), std::string::npos);
  EXPECT_TRUE(client->quiet());  // told once
  client->publish_to("c", 5);
  EXPECT_EQ(first_seqs(n2), Seqs{5});  // other shards go on
  EXPECT_TRUE(first_seqs(n1).empty());

  up("n1");
  EXPECT_EQ(first_seqs(n1), (Seqs{1, 2}));
  const auto unblocked = client->next();
  ASSERT_TRUE(unblocked.has_unblocked());
  EXPECT_EQ(unblocked.unblocked().shards(0), 0u);
  confirm("n1", ids[1]);
  confirm("n1", ids[2]);
  EXPECT_EQ(text_of(client->next_confirm().confirmed()), "1");
  EXPECT_EQ(text_of(client->next_confirm().confirmed()), "2-4");
}

TEST_F(ShardTableTest, SendsTheUnconfirmedAgainAfterAResetBeforeAnythingNewer) {
  for (std::uint64_t seq = 1; seq <= 4; ++seq) client->publish_to("a", seq);
  auto first = n1.publishes();
  ASSERT_EQ(first.size(), 4u);
  confirm("n1", first[1].publish.batch_id());
  EXPECT_EQ(text_of(client->next_confirm().confirmed()), "2");
  down("n1");
  client->publish_to("a", 5);
  up("n1");
  const auto again = n1.publishes();
  ASSERT_EQ(again.size(), 4u);
  EXPECT_EQ(again[0].publish.first_seq(), 1u);
  EXPECT_EQ(again[1].publish.first_seq(), 3u);
  EXPECT_EQ(again[2].publish.first_seq(), 4u);
  EXPECT_EQ(again[3].publish.first_seq(), 5u);
  EXPECT_EQ(again[0].publish.SerializeAsString(), first[0].publish.SerializeAsString());
  EXPECT_EQ(again[0].bodies, first[0].bodies);
}

TEST_F(ShardTableTest, RejectsAfterTheDeadlineOnlyWhatHasWaitedSoLong) {
  client->publish_to("a", 1);
  EXPECT_EQ(first_seqs(n1), Seqs{1});
  pass(seconds(4));
  down("n1");
  ASSERT_TRUE(client->next().has_blocked());
  pass(seconds(5));
  client->publish_to("a", 2);
  pass(seconds(24));
  EXPECT_TRUE(client->quiet());
  pass(seconds(1));  // 30 s after the link went down
  const v1::Confirm answer = client->next_confirm();
  ASSERT_EQ(answer.rejected_size(), 1);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 1u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kShardUnavailable));
  EXPECT_NE(answer.rejected(0).error().text().find("may have been stored"), std::string::npos);
  EXPECT_EQ(answer.rejected(0).queues(0), "a");
  up("n1");
  EXPECT_EQ(first_seqs(n1), Seqs{2});
}

TEST_F(ShardTableTest, HoldsPublishesWhileANodeIsShortOfMemory) {
  node_state("n1", "memory limit reached");
  client->publish_to("a", 1);
  EXPECT_TRUE(first_seqs(n1).empty());
  const auto blocked = client->next();
  ASSERT_TRUE(blocked.has_blocked());
  EXPECT_NE(blocked.blocked().reason().find("memory limit reached"), std::string::npos);
  node_state("n1", "");
  EXPECT_EQ(first_seqs(n1), Seqs{1});
  EXPECT_TRUE(client->next().has_unblocked());
}

TEST_F(ShardTableTest, RejectsWhatWaitsTooLongForABlockedNode) {
  up("n1", "memory limit reached");
  client->publish_to("a", 1);
  ASSERT_TRUE(client->next().has_blocked());
  pass(seconds(29));
  EXPECT_TRUE(client->quiet());
  pass(seconds(1));
  EXPECT_EQ(client->next_confirm().rejected(0).error().code(), number(Code::kShardBlocked));
}

TEST_F(ShardTableTest, RejectsAtOnceWhileADiskIsFull) {
  down("n1");
  client->publish_to("a", 1);
  ASSERT_TRUE(client->next().has_blocked());
  up("n1", "disk: no space left", true);
  EXPECT_EQ(client->next_confirm().rejected(0).error().code(), number(Code::kShardBlocked));
  client->publish_to("a", 2);
  const v1::Confirm answer = client->next_confirm();
  EXPECT_EQ(answer.rejected(0).seqs().first(), 2u);
  EXPECT_NE(answer.rejected(0).error().text().find("disk: no space left"), std::string::npos);
  node_state("n1", "");
  client->publish_to("a", 3);
  EXPECT_EQ(first_seqs(n1), Seqs{3});
}

TEST_F(ShardTableTest, TriesARefusedPublishAgainWhenNothingSentAfterItIsOpen) {
  client->publish_to("a", 1);
  client->publish_to("a", 2);
  EXPECT_EQ(first_seqs(n1), (Seqs{1, 2}));
  refuse("n1", ids[1], Code::kShardBlocked, "memory");
  ASSERT_TRUE(client->next().has_blocked());
  client->publish_to("a", 3);
  advance(seconds(2));
  EXPECT_TRUE(first_seqs(n1).empty());  // 2 is open
  refuse("n1", ids[2], Code::kShardBlocked, "memory");
  EXPECT_EQ(first_seqs(n1), (Seqs{1, 2, 3}));
  EXPECT_TRUE(client->next().has_unblocked());
}

TEST_F(ShardTableTest, WaitsABitBeforeItTriesAgain) {
  client->publish_to("a", 1);
  EXPECT_EQ(first_seqs(n1), Seqs{1});
  refuse("n1", ids[1], Code::kShardBlocked, "memory");
  EXPECT_TRUE(first_seqs(n1).empty());
  advance(milliseconds(50));
  EXPECT_EQ(first_seqs(n1), Seqs{1});
  refuse("n1", ids[1], Code::kShardBlocked, "memory");
  advance(milliseconds(50));
  EXPECT_TRUE(first_seqs(n1).empty());
  advance(milliseconds(50));
  EXPECT_EQ(first_seqs(n1), Seqs{1});
}

TEST_F(ShardTableTest, RefusesForGoodWhatANewerStoredPublishOfTheSessionHasOvertaken) {
  TestClient other(*router, clients, "c2", 5);
  other.open("other");
  client->publish_to("a", 1);
  other.publish_to("a", 100);
  client->publish_to("a", 2);
  EXPECT_EQ(first_seqs(n1), (Seqs{1, 100, 2}));
  refuse("n1", ids[1], Code::kShardBlocked, "memory");
  refuse("n1", ids[100], Code::kShardBlocked, "memory");
  ASSERT_TRUE(client->next().has_blocked());
  confirm("n1", ids[2]);
  const v1::Confirm answer = client->next_confirm();
  EXPECT_EQ(text_of(answer.confirmed()), "2");
  ASSERT_EQ(answer.rejected_size(), 1);
  EXPECT_EQ(answer.rejected(0).seqs().first(), 1u);
  EXPECT_EQ(answer.rejected(0).error().code(), number(Code::kShardBlocked));
  advance(milliseconds(50));
  EXPECT_EQ(first_seqs(n1), Seqs{100});
}

TEST_F(ShardTableTest, KeepsWithinTheNodesWindow) {
  window_bytes = 1000;
  down("n1");
  up("n1");
  client->publish_to("a", 1, 1, std::string(400, 'x'));
  client->publish_to("b", 2, 1, std::string(400, 'x'));
  client->publish_to("a", 3, 1, std::string(400, 'x'));
  client->publish_to("a", 4, 1, std::string(400, 'x'));
  client->publish_to("b", 5, 1, std::string(400, 'x'));
  EXPECT_EQ(first_seqs(n1), (Seqs{1, 2}));
  EXPECT_TRUE(client->quiet());  // waiting for room is not being blocked
  confirm("n1", ids[1]);
  EXPECT_EQ(first_seqs(n1), Seqs{3});
  confirm("n1", ids[2]);
  EXPECT_EQ(first_seqs(n1), Seqs{5});  // shards take turns
  confirm("n1", ids[3]);
  EXPECT_EQ(first_seqs(n1), Seqs{4});
}

TEST_F(ShardTableTest, SendsABatchLargerThanTheWindowAlone) {
  window_bytes = 1000;
  down("n1");
  up("n1");
  client->publish_to("a", 1, 1, std::string(5000, 'x'));
  client->publish_to("a", 2);
  EXPECT_EQ(first_seqs(n1), Seqs{1});
  confirm("n1", ids[1]);
  EXPECT_EQ(first_seqs(n1), Seqs{2});
}

TEST_F(ShardTableTest, DropsWhatASessionThatIsGoneHasNotSent) {
  client->publish_to("b", 1);
  EXPECT_EQ(first_seqs(n1), Seqs{1});
  node_state("n1", "memory");
  client->publish_to("a", 2);
  clients.gone.insert("c1");
  v1::ClientFrame close;
  close.mutable_close();
  client->send(close);
  EXPECT_EQ(router->session_count(), 0u);
  EXPECT_EQ(router->kept_for_sessions(), 1u);  // what is on the way finishes
  node_state("n1", "");
  EXPECT_TRUE(first_seqs(n1).empty());
  confirm("n1", ids[1]);
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

TEST_F(ShardTableTest, DoesNotSendAgainForASessionThatIsGone) {
  client->publish_to("a", 1);
  EXPECT_EQ(first_seqs(n1), Seqs{1});
  v1::ClientFrame close;
  close.mutable_close();
  client->send(close);
  down("n1");
  up("n1");
  EXPECT_TRUE(first_seqs(n1).empty());
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

TEST_F(ShardTableTest, IgnoresConfirmsOfWhatIsNotOnTheWay) {
  client->publish_to("a", 1);
  EXPECT_EQ(first_seqs(n1), Seqs{1});
  confirm("n2", ids[1]);  // not the node that has it
  confirm("n1", 0);
  confirm("n1", ids[1] + (1 << 12));
  EXPECT_TRUE(client->quiet());
  down("n1");
  v1::NodeFrame late;
  late.mutable_confirms()->add_confirms()->set_batch_id(ids[1]);
  from_node("n1", late);
  EXPECT_TRUE(client->next().has_blocked());
  EXPECT_TRUE(client->quiet());
}

}  // namespace
}  // namespace segue::router
