#include "tests/router/delivery_path_fixture.h"

namespace segue::router {
namespace {

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

// What is left of a cancelled consumer can still be settled, and goes back with the session.
TEST_F(DeliveryPathTest, ATagThatIsSettledTwiceDoesNotStandForAnother) {
  const std::uint64_t id = consuming(7);
  deliver(id, 1, 2);
  client->next();
  settle(7, 1, 1);
  cancel(7, 2);
  v1::QueueReply fence;
  fence.set_request_id(n1.requests().at(0).request_id());
  queue_reply("n1", fence);
  EXPECT_EQ(client->next_reply().request_id(), 2u);
  EXPECT_EQ(n1.settles().size(), 1u);
  settle(7, 1, 1, 50);
  const auto again = n1.settles();
  ASSERT_EQ(again.size(), 1u);
  settle_ok("n1", id, again.at(0).confirm_id(), Code::kPreconditionFailed);
  EXPECT_EQ(client->next().settle_ok().error().code(), number(Code::kPreconditionFailed));
  settle(7, 2, 2);
  EXPECT_EQ(n1.settles().size(), 1u);
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

}  // namespace
}  // namespace segue::router
