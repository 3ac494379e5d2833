// Direct reply-to: requests and replies through the pseudo queue, with two routers.

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};

/// Whoever asks is at the first router, who answers at the second.
class DirectReplyTo : public ::testing::Test {
 protected:
  DirectReplyTo() : cluster_({.routers = 2, .nodes = 2, .shards = 4}) {}

  void SetUp() override {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    asker_.emplace(connect("r1"));
    server_.emplace(connect("r2"));
    ASSERT_TRUE(server_->admin().declare_queue("requests"));
  }

  Connection connect(const std::string& router) {
    ConnectionOptions options = cluster_.connection_options();
    options.routers = {cluster_.endpoint(router)};
    return Connection::open(options).value();
  }
  /// Answers each request with its body and a '!'.
  Consumer serve() {
    return server_
        ->subscribe("requests", {},
                    [this](const Delivery& request) {
                      (void)reply(*server_, request, std::string(request.body()) + "!");
                      request.ack();
                    })
        .value();
  }
  static ConsumerOptions no_ack() {
    ConsumerOptions options;
    options.no_ack = true;
    return options;
  }
  static Message asking(const std::string& body, const std::string& reply_to) {
    Message message = Message::to_queue("requests", body);
    message.header.properties.reply_to = reply_to;
    return message;
  }
  Result<Confirmation> publish(Message message) {
    return asker_->publisher().publish_confirmed(std::move(message)).get();
  }

  TestCluster cluster_;
  std::optional<Connection> asker_;
  std::optional<Connection> server_;
};

TEST_F(DirectReplyTo, RepliesComeThroughAnotherRouterAndNothingIsLeftDeclared) {
  const Consumer serving = serve();
  {
    auto requester = Requester::open(*asker_);
    ASSERT_TRUE(requester) << requester.error().to_string();
    std::vector<std::future<Result<Delivery>>> replies;
    for (int i = 0; i < 500; ++i) {
      replies.push_back(requester->request_async(Message::to_queue("requests", std::to_string(i))));
    }
    for (int i = 0; i < 500; ++i) {
      auto& reply = replies[static_cast<std::size_t>(i)];
      ASSERT_EQ(reply.wait_for(kLong), std::future_status::ready) << i << cluster_.logs();
      const auto answer = reply.get();
      ASSERT_TRUE(answer) << answer.error().to_string();
      EXPECT_EQ(answer->body(), std::to_string(i) + "!");
    }
    const auto nobody = requester->request(Message::to_queue("none", "x"), kLong);
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().code, ErrorCode::kNoRoute);
  }
  ASSERT_TRUE(asker_->close());
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (server_->admin().list_all_queues(true)->size() > 1 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(server_->admin().list_all_queues(true)->size(), 1u);
}

TEST_F(DirectReplyTo, OnlyTheHeadersThatAskAreRewritten) {
  auto replies = asker_->subscribe("amq.rabbitmq.reply-to", no_ack());
  ASSERT_TRUE(replies) << replies.error().to_string();
  for (int i = 0; i < 60; ++i) {
    const std::string to = i % 3 == 0   ? "amq.rabbitmq.reply-to"
                           : i % 3 == 1 ? "amq.reply-to"
                                        : "mine";
    ASSERT_TRUE(asker_->publisher().publish(asking(std::to_string(i), to)));
  }
  ASSERT_TRUE(asker_->publisher().wait_for_confirms(kLong));
  Consumer consumer = server_->subscribe("requests").value();
  for (int i = 0; i < 60; ++i) {
    const auto request = consumer.next(kLong);
    ASSERT_TRUE(request) << i;
    EXPECT_EQ(request->body(), std::to_string(i));
    const std::string& to = request->properties().reply_to;
    if (i % 3 == 2) {
      EXPECT_EQ(to, "mine");
      continue;
    }
    EXPECT_TRUE(to.starts_with("amq.gen-")) << to;
    ASSERT_TRUE(reply(*server_, *request, request->body()));
    const auto back = replies->next(kLong);
    ASSERT_TRUE(back) << i << cluster_.logs();
    EXPECT_EQ(back->body(), std::to_string(i));
  }
}

TEST_F(DirectReplyTo, RefusesWhatMakesNoSense) {
  const auto early = publish(asking("x", "amq.reply-to"));
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kPreconditionFailed);
  EXPECT_NE(early.error().text.find("consume from amq.reply-to first"), std::string::npos)
      << early.error().text;
  const auto acked = asker_->subscribe("amq.reply-to");
  ASSERT_FALSE(acked);
  EXPECT_EQ(acked.error().code, ErrorCode::kPreconditionFailed);
  std::optional<Consumer> first(asker_->subscribe("amq.reply-to", no_ack()).value());
  const auto second = asker_->subscribe("amq.reply-to", no_ack());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAccessRefused);
  EXPECT_TRUE(publish(asking("x", "amq.reply-to")));
  first.reset();
  EXPECT_TRUE(asker_->subscribe("amq.reply-to", no_ack()));
}

TEST_F(DirectReplyTo, WorksAgainAfterAReconnect) {
  const Consumer serving = serve();
  auto requester = Requester::open(*asker_);
  ASSERT_TRUE(requester);
  ASSERT_TRUE(requester->request(Message::to_queue("requests", "before"), kLong));
  cluster_.kill("r1");
  cluster_.start("r1");
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (std::chrono::steady_clock::now() < deadline) {
    // Rejected until the consumer is back.
    const auto answer =
        requester->request(Message::to_queue("requests", "after"), std::chrono::milliseconds(2000));
    if (!answer) continue;
    EXPECT_EQ(answer->body(), "after!");
    return;
  }
  FAIL() << cluster_.logs();
}

}  // namespace
}  // namespace segue::client
