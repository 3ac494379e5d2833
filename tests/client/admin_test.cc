#include "segue/admin.h"

#include "tests/client/client_fixture.h"

namespace segue::client {
namespace {

class Administering : public ClientTest {
 protected:
  void answer(std::function<void(const v1::Request&, v1::Reply&)> with) {
    one_.edit([&](auto& behaviour) {
      behaviour.on_request = [with](const v1::Request& request, v1::Reply& reply, std::string&) {
        with(request, reply);
      };
    });
  }
};

TEST_F(Administering, DeclaresQueues) {
  answer([](const v1::Request& request, v1::Reply& reply) {
    reply.set_catalog_index(17);
    v1::QueueDeclareOk* ok = reply.mutable_queue_declare_ok();
    ok->set_name(request.queue_declare().name());
    ok->set_ready(3);
    ok->set_consumers(2);
    ok->set_shard(9);
    ok->set_node("n1");
    ok->set_created(true);
  });
  Connection connection = open();
  QueueOptions wanted;
  wanted.exclusive = true;
  wanted.arguments = {{"x-durability", "sync"}};
  const Result<DeclaredQueue> queue = connection.admin().declare_queue("q", wanted);
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->name, "q");
  EXPECT_EQ(queue->ready, 3u);
  EXPECT_EQ(queue->consumers, 2u);
  EXPECT_EQ(queue->shard, 9u);
  EXPECT_EQ(queue->node, "n1");
  EXPECT_TRUE(queue->created);
  const v1::QueueDeclare sent = one_.requests()[0].queue_declare();
  EXPECT_TRUE(sent.durable());
  EXPECT_TRUE(sent.exclusive());
  EXPECT_EQ(sent.arguments().at("x-durability").string_value(), "sync");
  // The next session must have caught up with what this one saw.
  reconnect(connection, one_);
  EXPECT_EQ(one_.hellos().back().catalog_index(), 17u);
}

TEST_F(Administering, WhatIsLargerThanTheRouterTakesIsRefusedAtOnceAndTheSessionGoesOn) {
  one_.edit([](auto& behaviour) { behaviour.hello_ok.set_max_frame_bytes(70'000); });
  Connection connection = open();
  QueueOptions wanted;
  wanted.arguments = {{"k", std::string(60'000, 'v')}};
  EXPECT_TRUE(connection.admin().declare_queue("fits", wanted));
  wanted.arguments = {{"k", std::string(200'000, 'v')}};
  const Result<DeclaredQueue> refused = connection.admin().declare_queue("q", wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContentTooLarge) << refused.error().to_string();
  EXPECT_NE(refused.error().text.find("at most 70000 (limits.max_frame_bytes)"), std::string::npos)
      << refused.error().text;
  EXPECT_TRUE(connection.admin().find_queue("fits"));
  EXPECT_EQ(one_.hellos().size(), 1u);
}

TEST_F(Administering, SendsEveryOperation) {
  Connection connection = open();
  Admin& admin = connection.admin();
  EXPECT_TRUE(admin.find_queue("q"));
  EXPECT_TRUE(admin.delete_queue("q", {.if_unused = true, .if_empty = true}));
  EXPECT_TRUE(admin.purge_queue("q"));
  EXPECT_TRUE(admin.queue_status("q"));
  EXPECT_TRUE(admin.declare_exchange("e", {.type = "topic"}));
  EXPECT_TRUE(admin.find_exchange("e"));
  EXPECT_TRUE(admin.bind({.exchange = "e", .queue = "q", .routing_key = "k"}));
  EXPECT_TRUE(admin.unbind({.exchange = "e", .queue = "q", .routing_key = "k"}));
  EXPECT_TRUE(admin.delete_exchange("e", true));
  EXPECT_TRUE(admin.list_queues({}));
  EXPECT_TRUE(admin.list_exchanges({}));
  EXPECT_TRUE(admin.list_bindings({}));
  EXPECT_TRUE(admin.cluster_status());
  const auto requests = one_.requests();
  ASSERT_EQ(requests.size(), 13u);
  EXPECT_TRUE(requests[0].queue_declare().passive());
  EXPECT_TRUE(requests[1].queue_delete().if_unused());
  EXPECT_TRUE(requests[1].queue_delete().if_empty());
  EXPECT_TRUE(requests[2].has_queue_purge());
  EXPECT_TRUE(requests[3].has_queue_status());
  EXPECT_EQ(requests[4].exchange_declare().type(), "topic");
  EXPECT_TRUE(requests[5].exchange_declare().passive());
  EXPECT_EQ(requests[6].bind().routing_key(), "k");
  EXPECT_EQ(requests[7].unbind().queue(), "q");
  EXPECT_TRUE(requests[8].exchange_delete().if_unused());
  EXPECT_TRUE(requests[12].has_cluster_status());
}

TEST_F(Administering, WalksThroughAllPages) {
  answer([](const v1::Request& request, v1::Reply& reply) {
    if (request.has_list_queues()) {
      const std::string after = request.list_queues().after();
      reply.mutable_list_queues_ok()->add_queues()->set_name(after.empty() ? "a" : after + "a");
      reply.mutable_list_queues_ok()->set_more(after.size() < 2);
    } else if (request.has_list_bindings()) {
      const std::uint64_t after = request.list_bindings().after_number();
      reply.mutable_list_bindings_ok()->add_bindings()->set_number(after + 1);
      reply.mutable_list_bindings_ok()->set_more(after < 3);
    }
  });
  Connection connection = open();
  const auto queues = connection.admin().list_all_queues(true);
  ASSERT_TRUE(queues);
  ASSERT_EQ(queues->size(), 3u);
  EXPECT_EQ(queues->back().name, "aaa");
  EXPECT_TRUE(one_.requests()[0].list_queues().names_only());
  const auto bindings = connection.admin().list_all_bindings();
  ASSERT_TRUE(bindings);
  EXPECT_EQ(bindings->back().number, 4u);
  EXPECT_TRUE(connection.admin().list_all_exchanges());
}

TEST_F(Administering, ManyDeclarationsAreUnderWayAtOnce) {
  Connection connection = open();
  std::vector<std::future<Result<DeclaredQueue>>> declared;
  for (int i = 0; i < 5'000; ++i) {
    declared.push_back(connection.admin().declare_queue_async("q" + std::to_string(i)));
  }
  for (auto& one : declared) ASSERT_TRUE(one.get());
  const auto requests = one_.requests();
  ASSERT_EQ(requests.size(), 5'000u);
  EXPECT_EQ(requests[4'999].queue_declare().name(), "q4999");
}

TEST_F(Administering, GivesTheBrokersError) {
  answer([](const v1::Request&, v1::Reply& reply) {
    reply.mutable_error()->set_code(406);
    reply.mutable_error()->set_entity("q");
    reply.mutable_error()->set_text("durable is true, not false");
  });
  Connection connection = open();
  const auto queue = connection.admin().declare_queue("q");
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().code, ErrorCode::kPreconditionFailed);
  EXPECT_EQ(queue.error().name(), "PRECONDITION_FAILED");
  EXPECT_EQ(queue.error().entity, "q");
}

TEST_F(Administering, TimesOutWithoutAnAnswer) {
  one_.edit([](auto& behaviour) { behaviour.answer_requests = false; });
  Connection connection = open();
  connection.admin().set_timeout(std::chrono::milliseconds(30));
  EXPECT_EQ(connection.admin().declare_queue("q").error().code, ErrorCode::kTimeout);
}

TEST_F(Administering, RepeatsOnlyWhatMayBeRepeatedAfterAReconnect) {
  one_.edit([](auto& behaviour) { behaviour.answer_requests = false; });
  Connection connection = open();
  auto declared = connection.admin().declare_queue_async("q");
  auto purged = connection.admin().purge_queue_async("q");
  auto unnamed = connection.admin().declare_queue_async("");
  ASSERT_TRUE(one_.wait_until([&] { return one_.requests().size() == 3; }));
  one_.edit([](auto& behaviour) { behaviour.answer_requests = true; });
  reconnect(connection, one_);
  EXPECT_TRUE(declared.get());
  EXPECT_EQ(purged.get().error().code, ErrorCode::kDisconnected);
  EXPECT_EQ(unnamed.get().error().code, ErrorCode::kDisconnected);
  EXPECT_EQ(one_.requests().size(), 4u);
}

TEST_F(Administering, RefusesTextThatIsNotUtf8) {
  Connection connection = open();
  EXPECT_EQ(connection.admin().declare_queue("\xff").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(connection.subscribe("\xff").error().code, ErrorCode::kInvalidArgument);
  QueueOptions broken;
  broken.arguments = {{"a", Table{{"b", Array{1, "\xff"}}}}};
  EXPECT_EQ(connection.admin().declare_queue("q", broken).error().code,
            ErrorCode::kInvalidArgument);
  Value deep = 1;
  for (int i = 0; i < 200; ++i) deep = Array{std::move(deep)};
  broken.arguments = {{"a", deep}};
  EXPECT_EQ(connection.admin().declare_queue("q", broken).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_TRUE(one_.requests().empty());
}

TEST_F(Administering, FailsAfterTheConnectionIsClosed) {
  one_.edit([](auto& behaviour) { behaviour.answer_requests = false; });
  Connection connection = open();
  auto open_request = connection.admin().declare_queue_async("q");
  (void)connection.close();
  EXPECT_EQ(open_request.get().error().code, ErrorCode::kClosed);
  EXPECT_EQ(connection.admin().declare_queue("q").error().code, ErrorCode::kClosed);
  EXPECT_EQ(connection.subscribe("q").error().code, ErrorCode::kClosed);
  EXPECT_EQ(connection.get("q").error().code, ErrorCode::kClosed);
}

}  // namespace
}  // namespace segue::client
