#include "tests/router/delivery_path_fixture.h"

namespace segue::router {
namespace {

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
