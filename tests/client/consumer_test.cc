#include "segue/consumer.h"

#include <atomic>
#include <thread>

#include "tests/client/client_fixture.h"

namespace segue::client {
namespace {

/// A connection, and what the fake router saw of its consumers.
class Consuming : public ClientTest {
 protected:
  static ConsumerOptions with_prefetch(std::uint32_t prefetch) {
    ConsumerOptions options;
    options.prefetch = prefetch;
    return options;
  }
  Consumer subscribe(Connection& connection, const ConsumerOptions& options = {}) {
    Result<Consumer> consumer = connection.subscribe("q", options);
    if (!consumer) ADD_FAILURE() << consumer.error().to_string();
    return *std::move(consumer);
  }
  /// All settlements so far, in the order they came: "ack 1-3".
  std::vector<std::string> settled() const {
    std::vector<std::string> list;
    for (const v1::Settle& settle : one_.settles()) {
      for (const v1::SettledTags& tags : settle.settled()) {
        const char* outcome = tags.outcome() == v1::OUTCOME_ACK      ? "ack "
                              : tags.outcome() == v1::OUTCOME_REJECT ? "reject "
                                                                     : "requeue ";
        list.push_back(outcome + std::to_string(tags.tags().first()) + "-" +
                       std::to_string(tags.tags().last()));
      }
    }
    return list;
  }
  bool wait_settled(std::size_t ranges) {
    return one_.wait_until([&] { return settled().size() >= ranges; });
  }
  std::size_t count_requests(v1::Request::OperationCase operation) const {
    std::size_t count = 0;
    for (const v1::Request& request : one_.requests()) {
      count += request.operation_case() == operation ? 1 : 0;
    }
    return count;
  }
};

TEST_F(Consuming, SubscribesWithItsOptionsAndCancelsAtTheEnd) {
  Connection connection = open();
  {
    ConsumerOptions wanted;
    wanted.prefetch = 7;
    wanted.prefetch_bytes = 8;
    wanted.no_ack = true;
    wanted.priority = -2;
    wanted.arguments = {{"x", 1}};
    Consumer consumer = subscribe(connection, wanted);
    EXPECT_EQ(consumer.queue(), "q");
    ASSERT_EQ(one_.requests().size(), 1u);
    const v1::Consume consume = one_.requests()[0].consume();
    EXPECT_EQ(consume.queue(), "q");
    EXPECT_EQ(consume.consumer(), 1u);
    EXPECT_EQ(consume.prefetch_count(), 7u);
    EXPECT_EQ(consume.prefetch_bytes(), 8u);
    EXPECT_TRUE(consume.no_ack());
    EXPECT_EQ(consume.priority(), -2);
    EXPECT_EQ(consume.arguments().at("x").int_value(), 1);
  }
  ASSERT_EQ(one_.requests().size(), 2u);
  EXPECT_EQ(one_.requests()[1].cancel().consumer(), 1u);
}

TEST_F(Consuming, GivesTheBrokersErrorWhenItCannotSubscribe) {
  one_.edit([](auto& behaviour) {
    behaviour.on_request = [](const v1::Request&, v1::Reply& reply, std::string&) {
      reply.mutable_error()->set_code(404);
      reply.mutable_error()->set_entity("q");
      reply.mutable_error()->set_text("no queue 'q'");
    };
  });
  Connection connection = open();
  const Result<Consumer> consumer = connection.subscribe("q");
  ASSERT_FALSE(consumer);
  EXPECT_EQ(consumer.error(), (Error{ErrorCode::kNotFound, "q", "no queue 'q'"}));
}

TEST_F(Consuming, HandsOutDeliveriesOneByOne) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  v1::RouterFrame frame;
  std::string bodies;
  frame.mutable_deliver()->set_consumer(1);
  frame.mutable_deliver()->set_first_tag(1);
  FakeRouter::fill({"a", "bc"}, frame.mutable_deliver()->mutable_batch(), bodies);
  frame.mutable_deliver()->mutable_batch()->add_redelivered(false);
  frame.mutable_deliver()->mutable_batch()->add_redelivered(true);
  frame.mutable_deliver()->mutable_batch()->add_delivery_count(0);
  frame.mutable_deliver()->mutable_batch()->add_delivery_count(3);
  one_.send(frame, bodies);
  const Result<Delivery> first = consumer.next(kLong);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->body(), "a");
  EXPECT_EQ(first->exchange(), "e");
  EXPECT_EQ(first->routing_key(), "k");
  EXPECT_EQ(first->properties().message_id, "m");
  EXPECT_EQ(first->tag(), 1u);
  EXPECT_FALSE(first->redelivered());
  EXPECT_EQ(first->delivery_count(), 0u);
  const Result<Delivery> second = consumer.next(kLong);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->body(), "bc");
  EXPECT_EQ(second->tag(), 2u);
  EXPECT_TRUE(second->redelivered());
  EXPECT_EQ(second->delivery_count(), 3u);
  const Result<Delivery> none = consumer.next(std::chrono::milliseconds(1));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kTimeout);
}

TEST_F(Consuming, TakesWholeFramesAndSettlesThemAsOneRange) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  one_.deliver(1, 1, {"a", "b", "c", "d", "e"});
  const Result<Deliveries> some = consumer.next_batch(3, kLong);
  ASSERT_TRUE(some);
  ASSERT_EQ(some->size(), 3u);
  EXPECT_EQ(some->body(2), "c");
  std::string all;
  for (const Delivery delivery : *some) all += delivery.body();
  EXPECT_EQ(all, "abc");
  some->ack();
  const Result<Deliveries> rest = consumer.next_batch(100, kLong);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->size(), 2u);
  EXPECT_EQ(rest->body(0), "d");
  rest->ack();
  ASSERT_TRUE(one_.wait_until([&] {
    const auto ranges = settled();
    return ranges == std::vector<std::string>{"ack 1-5"} ||
           ranges == std::vector<std::string>{"ack 1-3", "ack 4-5"};
  }));
}

TEST_F(Consuming, MergesAcksOfOneTurnIntoRanges) {
  Connection connection = open();
  Consumer consumer = subscribe(connection, with_prefetch(0));
  std::vector<std::string> messages(100, "x");
  one_.deliver(1, 1, messages);
  one_.deliver(1, 101, {"keeps the buffer from being empty"});
  const Result<Deliveries> taken = consumer.next_batch(100, kLong);
  ASSERT_TRUE(taken);
  for (std::size_t i = 0; i < 100; i += 2) (*taken)[i].ack();
  for (std::size_t i = 1; i < 100; i += 2) (*taken)[i].ack();
  ASSERT_TRUE(one_.wait_until([&] {
    std::uint64_t tags = 0;
    for (const v1::Settle& settle : one_.settles()) {
      for (const auto& range : settle.settled())
        tags += range.tags().last() + 1 - range.tags().first();
    }
    return tags == 100;
  }));
  EXPECT_LT(one_.settles().size(), 20u);
}

TEST_F(Consuming, SettlesEachInItsOwnWay) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  one_.deliver(1, 1, {"a", "b", "c"});
  const Result<Deliveries> taken = consumer.next_batch(3, kLong);
  ASSERT_TRUE(taken);
  (*taken)[0].reject();
  (*taken)[2].requeue();
  (*taken)[1].ack();
  ASSERT_TRUE(wait_settled(3));
  auto ranges = settled();
  std::sort(ranges.begin(), ranges.end());
  EXPECT_EQ(ranges, (std::vector<std::string>{"ack 2-2", "reject 1-1", "requeue 3-3"}));
}

TEST_F(Consuming, ConfirmsAnAckWhenTheBrokerSaysSo) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  one_.deliver(1, 1, {"a", "b"});
  const Result<Deliveries> taken = consumer.next_batch(2, kLong);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->ack_confirmed().get());
  EXPECT_NE(one_.settles().back().confirm_id(), 0u);
  // Now without an answer, until the session breaks.
  one_.edit([](auto& behaviour) { behaviour.answer_settles = false; });
  one_.deliver(1, 3, {"c"});
  auto open_ack = consumer.next(kLong)->ack_confirmed();
  ASSERT_TRUE(one_.wait_until([&] { return one_.settles().size() == 2; }));
  v1::RouterFrame refused;
  refused.mutable_settle_ok()->set_confirm_id(one_.settles().back().confirm_id());
  refused.mutable_settle_ok()->mutable_error()->set_code(406);
  one_.send(refused);
  EXPECT_EQ(open_ack.get().error().code, ErrorCode::kPreconditionFailed);
  one_.deliver(1, 4, {"d"});
  const Result<Delivery> last = consumer.next(kLong);
  auto lost_ack = last->ack_confirmed();
  ASSERT_TRUE(one_.wait_until([&] { return one_.settles().size() == 3; }));
  reconnect(connection, one_);
  EXPECT_EQ(lost_ack.get().error().code, ErrorCode::kDisconnected);
  EXPECT_EQ(last->ack_confirmed().get().error().code, ErrorCode::kDisconnected);
}

TEST_F(Consuming, SubscribesAgainAndForgetsTagsOfTheFormerSession) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  one_.deliver(1, 1, {"old", "never taken"});
  const Result<Delivery> old = consumer.next(kLong);
  ASSERT_TRUE(old);
  reconnect(connection, one_);
  ASSERT_TRUE(one_.wait_until([&] { return count_requests(v1::Request::kConsume) == 2; }));
  one_.deliver(1, 1, {"new"});
  const Result<Delivery> renewed = consumer.next(kLong);
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->body(), "new");
  old->ack();
  renewed->requeue();
  ASSERT_TRUE(wait_settled(1));
  EXPECT_EQ(settled(), std::vector<std::string>{"requeue 1-1"});
  EXPECT_EQ(old->body(), "old");
}

TEST_F(Consuming, SubscribesOnceInASessionAfterOneThatEndedAsItBegan) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  one_.edit([](auto& behaviour) { behaviour.close_after_hello.set_code(320); });
  const std::uint64_t before = connection.reconnects();
  one_.close(320, "the test breaks the session");
  ASSERT_TRUE(one_.wait_until([&] { return connection.reconnects() >= before + 2; }));
  // Both sessions asked for it, but the first came to nothing before it could say so.
  ASSERT_TRUE(connection.admin().find_queue("q"));
  EXPECT_EQ(count_requests(v1::Request::kConsume), 2u);
  one_.deliver(1, 1, {"x"});
  EXPECT_TRUE(consumer.next(kLong));
}

TEST_F(Consuming, TriesAgainWhenAShardIsNotThereAfterTheReconnect) {
  std::atomic<int> consumes{0};
  one_.edit([&](auto& behaviour) {
    behaviour.on_request = [&](const v1::Request& request, v1::Reply& reply, std::string&) {
      if (request.has_consume() && ++consumes == 2) reply.mutable_error()->set_code(600);
    };
  });
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  reconnect(connection, one_);
  ASSERT_TRUE(one_.wait_until([&] { return consumes == 3; }));
  one_.deliver(1, 1, {"x"});
  EXPECT_TRUE(consumer.next(kLong));
}

TEST_F(Consuming, EndsWhenItsQueueIsGoneAfterTheReconnect) {
  std::atomic<int> consumes{0};
  one_.edit([&](auto& behaviour) {
    behaviour.on_request = [&](const v1::Request& request, v1::Reply& reply, std::string&) {
      if (request.has_consume() && ++consumes == 2) reply.mutable_error()->set_code(404);
    };
  });
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  reconnect(connection, one_);
  const Result<Delivery> none = consumer.next(kLong);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST_F(Consuming, HearsThatTheBrokerEndedIt) {
  std::promise<Error> told;
  ConsumerOptions wanted;
  wanted.on_cancelled = [&](const Error& error) { told.set_value(error); };
  Connection connection = open();
  Consumer consumer = subscribe(connection, wanted);
  one_.deliver(1, 1, {"x"});
  v1::RouterFrame frame;
  frame.mutable_consumer_cancelled()->set_consumer(1);
  frame.mutable_consumer_cancelled()->mutable_reason()->set_code(404);
  one_.send(frame);
  EXPECT_EQ(told.get_future().get().code, ErrorCode::kNotFound);
  EXPECT_TRUE(consumer.next(kLong));  // what had arrived is still handed out
  EXPECT_EQ(consumer.next(kLong).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(consumer.cancelled()->code, ErrorCode::kNotFound);
}

TEST_F(Consuming, RequeuesWhatWasNotHandedOutWhenItIsClosed) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  one_.deliver(1, 1, {"a", "b", "c"});
  const Result<Delivery> kept = consumer.next(kLong);
  ASSERT_TRUE(kept);
  consumer.close();
  kept->ack();
  ASSERT_TRUE(wait_settled(2));
  auto ranges = settled();
  std::sort(ranges.begin(), ranges.end());
  EXPECT_EQ(ranges, (std::vector<std::string>{"ack 1-1", "requeue 2-3"}));
  EXPECT_EQ(consumer.next(kLong).error().code, ErrorCode::kClosed);
}

TEST_F(Consuming, HasNoMoreThanAThousandConfirmedSettlementsOnTheWay) {
  one_.edit([](auto& behaviour) { behaviour.answer_settles = false; });
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  constexpr std::uint64_t kMessages = 3500;
  one_.deliver(1, 1, std::vector<std::string>(kMessages, "x"));
  std::vector<std::future<Status>> settled;
  std::uint64_t taken = 0;
  while (taken < kMessages) {
    const auto batch = consumer.next_batch(1000, kLong);
    ASSERT_TRUE(batch);
    for (std::size_t i = 0; i < batch->size(); ++i, ++taken) {
      settled.push_back((*batch)[i].ack_confirmed());
    }
  }
  const auto sent = [&] {
    std::vector<std::uint64_t> ids;
    for (const v1::Settle& settle : one_.settles()) {
      if (settle.confirm_id() != 0) ids.push_back(settle.confirm_id());
    }
    return ids;
  };
  std::size_t answered = 0;
  while (answered < kMessages) {
    ASSERT_TRUE(one_.wait_until([&] { return sent().size() > answered; }));
    const auto ids = sent();
    ASSERT_LE(ids.size() - answered, 1000u);
    for (; answered < ids.size(); ++answered) {
      v1::RouterFrame frame;
      frame.mutable_settle_ok()->set_confirm_id(ids[answered]);
      one_.send(frame);
    }
  }
  for (std::future<Status>& one : settled) EXPECT_TRUE(one.get());
}

TEST_F(Consuming, ARequestFindsSettledWhatWasSettledBeforeIt) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  one_.deliver(1, 1, {"a", "b", "c"});
  const Result<Delivery> delivery = consumer.next(kLong);
  ASSERT_TRUE(delivery);
  delivery->ack();  // may wait for more of them, since there is more to do here
  ASSERT_TRUE(connection.admin().declare_queue("next"));
  EXPECT_EQ(settled(), (std::vector<std::string>{"ack 1-1"}));
}

TEST_F(Consuming, RunsTheHandlerOnAThreadOfItsOwnInOrder) {
  Connection connection = open();
  std::vector<std::string> seen;
  std::promise<void> all;
  ConsumerOptions wanted;
  wanted.auto_ack = true;
  const std::thread::id here = std::this_thread::get_id();
  Result<Consumer> consumer = connection.subscribe("q", wanted, [&](const Delivery& delivery) {
    EXPECT_NE(std::this_thread::get_id(), here);
    // Waiting is allowed here.
    EXPECT_TRUE(connection.admin().declare_queue("other"));
    seen.emplace_back(delivery.body());
    if (seen.size() == 3) all.set_value();
  });
  ASSERT_TRUE(consumer);
  EXPECT_EQ(consumer->next(kLong).error().code, ErrorCode::kNotAllowed);
  one_.deliver(1, 1, {"a", "b"});
  one_.deliver(1, 3, {"c"});
  all.get_future().wait();
  consumer->close();
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_TRUE(one_.wait_until([&] {
    std::uint64_t last = 0;
    for (const auto& settle : one_.settles()) {
      for (const auto& range : settle.settled()) last = std::max(last, range.tags().last());
    }
    return last == 3;
  }));
}

TEST_F(Consuming, TellsTheHandlersThreadThatTheBrokerEndedIt) {
  std::promise<Error> told;
  ConsumerOptions wanted;
  wanted.on_cancelled = [&](const Error& error) { told.set_value(error); };
  Connection connection = open();
  Result<Consumer> consumer = connection.subscribe("q", wanted, [](const Delivery&) {});
  ASSERT_TRUE(consumer);
  v1::RouterFrame frame;
  frame.mutable_consumer_cancelled()->set_consumer(1);
  frame.mutable_consumer_cancelled()->mutable_reason()->set_code(404);
  one_.send(frame);
  EXPECT_EQ(told.get_future().get().code, ErrorCode::kNotFound);
}

TEST_F(Consuming, ClosingTheConnectionFreesWhoeverWaitsForADelivery) {
  auto connection = std::make_unique<Connection>(open());
  Consumer pulling = subscribe(*connection);
  Result<Consumer> pushed = connection->subscribe("q", {}, [](const Delivery&) {});
  ASSERT_TRUE(pushed);
  one_.deliver(1, 1, {"kept"});
  const Result<Delivery> kept = pulling.next(kLong);
  ASSERT_TRUE(kept);
  std::thread waiting([&] {
    const Result<Delivery> none = pulling.next(kLong);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kClosed);
  });
  connection.reset();
  waiting.join();
  kept->ack();  // does nothing
  EXPECT_EQ(kept->body(), "kept");
  EXPECT_EQ(kept->ack_confirmed().get().error().code, ErrorCode::kClosed);
  EXPECT_FALSE(pulling.set_prefetch(1));
}

TEST_F(Consuming, SendsOpenAcksBeforeItCloses) {
  ConnectionOptions wanted = options();
  wanted.close_timeout = kLong;
  Connection connection = open(wanted);
  Consumer consumer = subscribe(connection, with_prefetch(0));
  one_.deliver(1, 1, {"a", "b"});
  ASSERT_TRUE(consumer.next(kLong));
  consumer.next(kLong)->ack();
  EXPECT_TRUE(connection.close());
  EXPECT_EQ(settled(), std::vector<std::string>{"ack 2-2"});
  EXPECT_TRUE(one_.closed_by_client());
}

TEST_F(Consuming, SaysWhatHasArrivedWhenNothingIsSettled) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  one_.deliver(1, 1, {"a", "b"});
  ASSERT_TRUE(one_.wait_until([&] { return !one_.received().empty(); }));
  EXPECT_EQ(one_.received().back().consumer(), 1u);
  EXPECT_EQ(one_.received().back().tag(), 2u);
}

TEST_F(Consuming, DoesNotSayReceivedWhileMuchIsBuffered) {
  Connection connection = open();
  ConsumerOptions wanted;
  wanted.no_ack = true;
  Consumer consumer = subscribe(connection, wanted);
  const std::string large(9 << 20, 'x');
  one_.deliver(1, 1, {large});
  one_.deliver(1, 2, {large});
  ASSERT_TRUE(one_.wait_until([&] { return consumer.buffered() == 2; }));
  ASSERT_TRUE(one_.wait_until([&] { return !one_.received().empty(); }));
  EXPECT_EQ(one_.received().back().tag(), 1u);
  ASSERT_TRUE(consumer.next(kLong));
  ASSERT_TRUE(one_.wait_until([&] { return one_.received().back().tag() == 2; }));
}

TEST_F(Consuming, ChangesItsPrefetch) {
  Connection connection = open();
  Consumer consumer = subscribe(connection);
  ASSERT_TRUE(consumer.set_prefetch(9, 10));
  EXPECT_EQ(one_.requests().back().qos().prefetch_count(), 9u);
  EXPECT_EQ(one_.requests().back().qos().prefetch_bytes(), 10u);
  reconnect(connection, one_);
  ASSERT_TRUE(one_.wait_until([&] { return count_requests(v1::Request::kConsume) == 2; }));
  EXPECT_EQ(one_.requests().back().consume().prefetch_count(), 9u);
}

TEST_F(Consuming, PollsOneMessageAtATime) {
  std::atomic<int> gets{0};
  one_.edit([&](auto& behaviour) {
    behaviour.on_request = [&](const v1::Request& request, v1::Reply& reply, std::string& bodies) {
      if (!request.has_get() || ++gets == 2) return;
      reply.mutable_get_ok()->set_found(true);
      reply.mutable_get_ok()->set_tag(5);
      FakeRouter::fill({"polled"}, reply.mutable_get_ok()->mutable_batch(), bodies);
    };
  });
  Connection connection = open();
  const auto found = connection.get("q");
  ASSERT_TRUE(found);
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->body(), "polled");
  (*found)->ack();
  ASSERT_TRUE(wait_settled(1));
  EXPECT_EQ(one_.settles()[0].consumer(), 0u);
  EXPECT_EQ(settled(), std::vector<std::string>{"ack 5-5"});
  const auto none = connection.get("q");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto unacked = connection.get("q", true);
  ASSERT_TRUE(unacked);
  (*unacked)->ack();  // nothing to settle
  EXPECT_TRUE(connection.admin().declare_queue("after"));
  EXPECT_EQ(settled().size(), 1u);
}

TEST_F(Consuming, SubscribingWaitsForARouterUntilTheTimeout) {
  ConnectionOptions wanted = options();
  wanted.request_timeout = std::chrono::milliseconds(60);
  Connection connection = open(wanted);
  one_.edit([](auto& behaviour) { behaviour.answer_hello = false; });
  two_.edit([](auto& behaviour) { behaviour.up = false; });
  one_.close(320, "down");
  ASSERT_TRUE(one_.wait_until([&] { return connection.state() == ConnectionState::kConnecting; }));
  const Result<Consumer> consumer = connection.subscribe("q");
  ASSERT_FALSE(consumer);
  EXPECT_EQ(consumer.error().code, ErrorCode::kTimeout);
}

}  // namespace
}  // namespace segue::client
