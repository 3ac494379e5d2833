#include "segue/publisher.h"

#include <atomic>
#include <numeric>
#include <thread>

#include "tests/client/client_fixture.h"

namespace segue::client {
namespace {

using Publishing = ClientTest;

void hold_confirms(FakeRouter& router) {
  router.edit([](auto& behaviour) { behaviour.confirm = false; });
}

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> list(last - first + 1);
  std::iota(list.begin(), list.end(), first);
  return list;
}

TEST_F(Publishing, SendsMessagesInOrderWithTheirHeaders) {
  Connection connection = open();
  Publisher& publisher = connection.publisher();
  MessageHeader header;
  header.exchange = "e";
  header.routing_key = "k";
  header.mandatory = true;
  header.properties.content_type = "text/plain";
  header.properties.expiration = std::chrono::milliseconds(1500);
  header.properties.delay = std::chrono::milliseconds(2500);
  header.properties.deliver_at = Timestamp(std::chrono::milliseconds(1'700'000'000'000));
  header.properties.group_id = "g";
  header.properties.headers = {{"n", 7}, {"nested", Table{{"list", Array{1, "two", 3.5}}}}};
  EXPECT_EQ(*publisher.publish(header, "first"), 1u);
  EXPECT_EQ(*publisher.publish(PreparedHeader::to_queue("q"), "second"), 2u);
  EXPECT_EQ(*publisher.publish(Message::to_exchange("x", "y", "")), 3u);
  EXPECT_EQ(*publisher.publish(Message::to_queue("q", std::string(100'000, 'b'))), 4u);
  ASSERT_TRUE(publisher.wait_for_confirms(kLong));
  const auto published = one_.published();
  ASSERT_EQ(seqs(published), numbers(1, 4));
  EXPECT_EQ(published[0].body, "first");
  EXPECT_EQ(published[0].header.exchange(), "e");
  EXPECT_TRUE(published[0].header.mandatory());
  EXPECT_EQ(published[0].header.properties().expiration(), "1500");
  EXPECT_EQ(published[0].header.properties().delay_ms(), 2500);
  EXPECT_EQ(published[0].header.properties().deliver_at_ms(), 1'700'000'000'000);
  EXPECT_EQ(published[0].header.properties().group_id(), "g");
  const auto& fields = published[0].header.properties().headers();
  EXPECT_EQ(fields.at("n").int_value(), 7);
  EXPECT_EQ(fields.at("nested").table_value().fields().at("list").array_value().values_size(), 3);
  EXPECT_EQ(published[1].header.exchange(), "");
  EXPECT_EQ(published[1].header.routing_key(), "q");
  EXPECT_EQ(published[2].body, "");
  EXPECT_EQ(published[3].body, std::string(100'000, 'b'));
  EXPECT_EQ(publisher.confirmed_total(), 4u);
  EXPECT_EQ(publisher.unconfirmed(), 0u);
  EXPECT_EQ(publisher.next_seq(), 5u);
}

TEST_F(Publishing, GathersMessagesIntoBatches) {
  hold_confirms(one_);
  ConnectionOptions wanted = options();
  wanted.max_in_flight_messages = 100'000;
  Connection connection = open(wanted);
  const PreparedHeader header = PreparedHeader::to_queue("q");
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(connection.publisher().publish(header, "body"));
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 20'000; }));
  EXPECT_EQ(seqs(one_.published()), numbers(1, 20'000));
  EXPECT_LT(one_.publish_frames(), 1'000u);
  one_.confirm(1, 20'000);
  EXPECT_TRUE(connection.publisher().wait_for_confirms(kLong));
}

TEST_F(Publishing, TellsEachMessagesFateOnce) {
  hold_confirms(one_);
  Connection connection = open();
  Publisher& publisher = connection.publisher();
  std::vector<SeqRange> confirmed;
  std::vector<SeqRange> unroutable;
  std::vector<Rejection> rejected;
  publisher.on_confirm([&](const ConfirmEvent& event) {
    confirmed.insert(confirmed.end(), event.confirmed.begin(), event.confirmed.end());
    unroutable.insert(unroutable.end(), event.unroutable.begin(), event.unroutable.end());
    rejected.insert(rejected.end(), event.rejected.begin(), event.rejected.end());
  });
  auto first = publisher.publish_confirmed(Message::to_queue("q", "1"));
  auto second = publisher.publish_confirmed(Message::to_queue("q", "2"));
  auto third = publisher.publish_confirmed(Message::to_queue("q", "3"));
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 3; }));
  one_.reject(2, 2, 600);
  v1::RouterFrame frame;
  v1::Range* range = frame.mutable_confirm()->add_confirmed();
  range->set_first(1);
  range->set_last(3);  // 2 is settled already
  range = frame.mutable_confirm()->add_unroutable();
  range->set_first(3);
  range->set_last(3);
  frame.mutable_confirm()->set_durability(v1::DURABILITY_INTERVAL);
  one_.send(frame);
  one_.send(frame);  // again: nothing new
  const Status all = publisher.wait_for_confirms(kLong);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::kShardUnavailable);
  EXPECT_TRUE(publisher.wait_for_confirms(kLong));  // the rejection was told
  EXPECT_FALSE(first.get()->unroutable);
  const Result<Confirmation> refused = second.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kShardUnavailable);
  EXPECT_EQ(refused.error().text, "refused by the test");
  const Result<Confirmation> lost = third.get();
  EXPECT_TRUE(lost->unroutable);
  EXPECT_EQ(lost->seq, 3u);
  EXPECT_EQ(lost->durability, Durability::kInterval);
  (void)connection.close();  // the handler has ended
  ASSERT_EQ(confirmed.size(), 2u);
  EXPECT_EQ(confirmed[0].first, 1u);
  EXPECT_EQ(confirmed[1].first, 3u);
  EXPECT_EQ(unroutable.size(), 1u);
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].queues, std::vector<std::string>{"q"});
  EXPECT_EQ(publisher.confirmed_total(), 2u);
  EXPECT_EQ(publisher.rejected_total(), 1u);
}

TEST_F(Publishing, SendsWhatIsUnsettledAgainBeforeAnythingNew) {
  hold_confirms(one_);
  hold_confirms(two_);
  ConnectionOptions wanted = options();
  wanted.producer_id = "me";
  Connection connection = open(wanted);
  const PreparedHeader header = PreparedHeader::to_queue("q");
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(connection.publisher().publish(header, std::to_string(i)));
  }
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 10; }));
  one_.confirm(1, 3);
  one_.reject(6, 6, 311);
  one_.confirm(8, 8);
  ASSERT_TRUE(one_.wait_until([&] { return connection.publisher().unconfirmed() == 5; }));
  reconnect(connection, one_);
  ASSERT_TRUE(connection.publisher().publish(header, "11"));
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 16; }));
  const auto published = one_.published();
  std::vector<std::uint64_t> again;
  for (std::size_t i = 10; i < published.size(); ++i) {
    again.push_back(published[i].seq);
    EXPECT_EQ(published[i].body, std::to_string(published[i].seq));
  }
  EXPECT_EQ(again, (std::vector<std::uint64_t>{4, 5, 7, 9, 10, 11}));
  EXPECT_EQ(one_.settled_below(), 4u);
  ASSERT_EQ(one_.hellos().size(), 2u);
  EXPECT_EQ(one_.hellos()[1].producer_id(), "me");
  one_.confirm(4, 11);
  ASSERT_TRUE(one_.wait_until([&] { return connection.publisher().unconfirmed() == 0; }));
  EXPECT_EQ(connection.publisher().confirmed_total(), 10u);
  EXPECT_EQ(connection.publisher().rejected_total(), 1u);
}

TEST_F(Publishing, GoesOnAtTheOtherRouterWhenOneStaysDown) {
  hold_confirms(one_);
  Connection connection = open();
  auto fate = connection.publisher().publish_confirmed(Message::to_queue("q", "x"));
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 1; }));
  one_.close(320, "going down");
  one_.edit([](auto& behaviour) { behaviour.up = false; });
  EXPECT_TRUE(fate.get());
  EXPECT_EQ(seqs(two_.published()), numbers(1, 1));
}

TEST_F(Publishing, StaysWithinTheCreditThatWasGranted) {
  hold_confirms(one_);
  one_.edit([](auto& behaviour) { behaviour.hello_ok.set_publish_credit(3 * (64 + 10) + 73); });
  Connection connection = open();
  const PreparedHeader header = PreparedHeader::to_queue("q");
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(connection.publisher().publish(header, std::string(10, 'x')));
  }
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 3; }));
  v1::RouterFrame credit;
  credit.mutable_credit()->set_granted_bytes(5 * (64 + 10));
  one_.send(credit);
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 5; }));
  // The answer to a publish grants, too. A smaller number than before takes nothing back.
  credit.mutable_credit()->set_granted_bytes(1);
  one_.send(credit);
  v1::RouterFrame confirm;
  v1::Range* range = confirm.mutable_confirm()->add_confirmed();
  range->set_first(1);
  range->set_last(2);
  confirm.mutable_confirm()->set_granted_bytes(6 * (64 + 10));
  one_.send(confirm);
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 6; }));
  EXPECT_EQ(connection.publisher().unconfirmed(), 8u);
}

TEST_F(Publishing, KeepsFewerUnconfirmedThanTheRouterAllows) {
  hold_confirms(one_);
  one_.edit([](auto& behaviour) { behaviour.hello_ok.set_max_unconfirmed(4); });
  Connection connection = open();
  const PreparedHeader header = PreparedHeader::to_queue("q");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(connection.publisher().publish(header, "x"));
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 4; }));
  one_.confirm(2, 3);
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 6; }));
  EXPECT_EQ(seqs(one_.published()), numbers(1, 6));
}

TEST_F(Publishing, FailsAtOnceWhenTheWindowIsFullIfAsked) {
  hold_confirms(one_);
  ConnectionOptions wanted = options();
  wanted.max_in_flight_messages = 3;
  wanted.when_full = WhenFull::kFail;
  Connection connection = open(wanted);
  const PreparedHeader header = PreparedHeader::to_queue("q");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(connection.publisher().publish(header, "x"));
  const auto refused = connection.publisher().publish(header, "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kWindowFull);
  const auto fate = connection.publisher().publish_confirmed(Message::to_queue("q", "x")).get();
  EXPECT_EQ(fate.error().code, ErrorCode::kWindowFull);
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 3; }));
  one_.confirm(1, 1);
  ASSERT_TRUE(one_.wait_until([&] { return connection.publisher().unconfirmed() == 2; }));
  EXPECT_EQ(*connection.publisher().publish(header, "x"), 4u);
}

TEST_F(Publishing, LimitsTheBytesInFlightButLetsOneLargeMessagePass) {
  hold_confirms(one_);
  ConnectionOptions wanted = options();
  wanted.max_in_flight_bytes = 1'000;
  wanted.when_full = WhenFull::kFail;
  Connection connection = open(wanted);
  const PreparedHeader header = PreparedHeader::to_queue("q");
  ASSERT_TRUE(connection.publisher().publish(header, std::string(5'000, 'x')));
  EXPECT_FALSE(connection.publisher().publish(header, "x"));
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 1; }));
  one_.confirm(1, 1);
  ASSERT_TRUE(one_.wait_until([&] { return connection.publisher().unconfirmed() == 0; }));
  EXPECT_TRUE(connection.publisher().publish(header, std::string(600, 'x')));
  EXPECT_FALSE(connection.publisher().publish(header, std::string(600, 'x')));
  EXPECT_TRUE(connection.publisher().publish(header, std::string(400, 'x')));
}

TEST_F(Publishing, WaitsForRoomUntilTheTimeout) {
  hold_confirms(one_);
  ConnectionOptions wanted = options();
  wanted.max_in_flight_messages = 1;
  wanted.full_timeout = std::chrono::milliseconds(30);
  Connection connection = open(wanted);
  ASSERT_TRUE(connection.publisher().publish(Message::to_queue("q", "x")));
  const auto refused = connection.publisher().publish(Message::to_queue("q", "x"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kWindowFull);
}

TEST_F(Publishing, BlocksUntilConfirmsMakeRoom) {
  hold_confirms(one_);
  ConnectionOptions wanted = options();
  wanted.max_in_flight_messages = 8;
  Connection connection = open(wanted);
  std::thread publisher([&] {
    const PreparedHeader header = PreparedHeader::to_queue("q");
    for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(connection.publisher().publish(header, "x"));
  });
  std::uint64_t confirmed = 0;
  while (confirmed < 1'000) {
    ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() > confirmed; }));
    ++confirmed;  // one at a time: even a little room is used in the end
    ASSERT_LE(one_.published().size(), confirmed + 8);
    one_.confirm(confirmed, confirmed);
  }
  publisher.join();
  EXPECT_TRUE(connection.publisher().wait_for_confirms(kLong));
}

TEST_F(Publishing, WaitForConfirmsTimesOutAndSaysHowManyAreOpen) {
  hold_confirms(one_);
  Connection connection = open();
  ASSERT_TRUE(connection.publisher().publish(Message::to_queue("q", "x")));
  const Status open = connection.publisher().wait_for_confirms(std::chrono::milliseconds(20));
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::kTimeout);
  EXPECT_NE(open.error().text.find("1 unconfirmed message"), std::string::npos);
}

TEST_F(Publishing, ClosingFreesABlockedPublisherAndSettlesFutures) {
  hold_confirms(one_);
  ConnectionOptions wanted = options();
  wanted.max_in_flight_messages = 1;
  wanted.close_timeout = std::chrono::milliseconds(30);
  Connection connection = open(wanted);
  auto fate = connection.publisher().publish_confirmed(Message::to_queue("q", "x"));
  std::thread publisher([&] {
    const auto refused = connection.publisher().publish(Message::to_queue("q", "y"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kClosed);
  });
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 1; }));
  const Status closed = connection.close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::kTimeout);
  publisher.join();
  EXPECT_EQ(fate.get().error().code, ErrorCode::kClosed);
  EXPECT_EQ(connection.publisher().publish(Message::to_queue("q", "z")).error().code,
            ErrorCode::kClosed);
  EXPECT_EQ(connection.publisher().wait_for_confirms(kLong).error().code, ErrorCode::kClosed);
}

TEST_F(Publishing, ClosingWaitsForConfirms) {
  hold_confirms(one_);
  ConnectionOptions wanted = options();
  wanted.close_timeout = kLong;
  Connection connection = open(wanted);
  ASSERT_TRUE(connection.publisher().publish(Message::to_queue("q", "x")));
  std::thread router([&] {
    ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 1; }));
    one_.confirm(1, 1);
  });
  EXPECT_TRUE(connection.close());
  router.join();
}

TEST_F(Publishing, RefusesWhatNoRouterCouldRead) {
  one_.edit([](auto& behaviour) { behaviour.hello_ok.set_max_message_bytes(1'000); });
  Connection connection = open();
  Publisher& publisher = connection.publisher();
  EXPECT_EQ(publisher.publish(Message::to_queue(std::string(256, 'q'), "x")).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(publisher.publish(Message::to_queue("\xff", "x")).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(publisher.publish(PreparedHeader::to_queue("\xc0\x80"), "x").error().code,
            ErrorCode::kInvalidArgument);
  MessageHeader header;
  header.properties.headers = {{"a", "\xff"}};
  EXPECT_EQ(publisher.publish(header, "x").error().code, ErrorCode::kInvalidArgument);
  header.properties.headers = {{"a", Bytes{"\xff"}}};
  EXPECT_TRUE(publisher.publish(header, "x"));
  Value deep = 1;
  for (int i = 0; i < 200; ++i) deep = Table{{"t", std::move(deep)}};
  header.properties.headers = {{"a", deep}};
  EXPECT_EQ(publisher.publish(header, "x").error().code, ErrorCode::kInvalidArgument);
  header.properties.headers = {{"a", std::string(300'000, 'x')}};
  EXPECT_EQ(publisher.publish(header, "x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(publisher.publish(Message::to_queue("q", std::string(1'001, 'x'))).error().code,
            ErrorCode::kContentTooLarge);
  EXPECT_TRUE(publisher.publish(Message::to_queue(std::string(255, 'q'), std::string(1'000, 'x'))));
  EXPECT_TRUE(publisher.wait_for_confirms(kLong));
}

TEST_F(Publishing, RejectsWhatANewRouterDoesNotTake) {
  hold_confirms(one_);
  Connection connection = open();
  const PreparedHeader header = PreparedHeader::to_queue("q");
  ASSERT_TRUE(connection.publisher().publish(header, "small"));
  ASSERT_TRUE(connection.publisher().publish(header, std::string(2'000, 'x')));
  ASSERT_TRUE(connection.publisher().publish(header, "small"));
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 3; }));
  one_.edit([](auto& behaviour) {
    behaviour.confirm = true;
    behaviour.hello_ok.set_max_message_bytes(1'000);
  });
  reconnect(connection, one_);
  const Status all = connection.publisher().wait_for_confirms(kLong);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::kContentTooLarge);
  EXPECT_EQ(connection.publisher().confirmed_total(), 2u);
}

TEST_F(Publishing, SplitsBatchesAtTheRoutersFrameLimit) {
  one_.edit([](auto& behaviour) { behaviour.hello_ok.set_max_frame_bytes(10'000); });
  Connection connection = open();
  const PreparedHeader header = PreparedHeader::to_queue("q");
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(connection.publisher().publish(header, std::string(3'000, 'x')));
  }
  EXPECT_TRUE(connection.publisher().wait_for_confirms(kLong));
  EXPECT_EQ(seqs(one_.published()), numbers(1, 500));
  EXPECT_GE(one_.publish_frames(), 500u / 3);
}

TEST_F(Publishing, BringsBackMandatoryMessages) {
  hold_confirms(one_);
  Connection connection = open();
  std::promise<std::string> returned;
  connection.publisher().on_return([&](const ReturnedMessage& message) {
    returned.set_value(std::to_string(message.seq) + " " + std::string(message.error.name()) + " " +
                       message.header.routing_key + " " + std::string(message.body));
  });
  ASSERT_TRUE(connection.publisher().publish(Message::to_exchange("e", "k", "body")));
  ASSERT_TRUE(one_.wait_until([&] { return one_.published().size() == 1; }));
  v1::RouterFrame frame;
  frame.mutable_return_message()->set_seq(1);
  frame.mutable_return_message()->mutable_error()->set_code(312);
  frame.mutable_return_message()->mutable_header()->set_routing_key("k");
  one_.send(frame, "body");
  EXPECT_EQ(returned.get_future().get(), "1 NO_ROUTE k body");
}

TEST_F(Publishing, WaitingInAHandlerFailsInsteadOfHanging) {
  ConnectionOptions wanted = options();
  wanted.max_in_flight_messages = 1;
  Connection connection = open(wanted);
  std::promise<std::vector<ErrorCode>> seen;
  Publisher& publisher = connection.publisher();
  ASSERT_TRUE(publisher.publish(Message::to_queue("q", "x"), [&](const Result<Confirmation>&) {
    std::vector<ErrorCode> codes;
    codes.push_back(publisher.wait_for_confirms(kLong).error().code);
    codes.push_back(connection.admin().declare_queue("q").error().code);
    codes.push_back(connection.get("q").error().code);
    EXPECT_TRUE(publisher.publish(Message::to_queue("q", "y")));
    codes.push_back(publisher.publish(Message::to_queue("q", "z")).error().code);
    seen.set_value(codes);
  }));
  EXPECT_EQ(seen.get_future().get(), std::vector<ErrorCode>(4, ErrorCode::kNotAllowed));
}

TEST_F(Publishing, ManyThreadsPublishAtOnce) {
  Connection connection = open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const PreparedHeader header = PreparedHeader::to_queue("q" + std::to_string(t));
      for (int i = 0; i < 2'000; ++i) {
        ASSERT_TRUE(connection.publisher().publish(header, std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(connection.publisher().wait_for_confirms(kLong));
  std::map<std::string, int> next;
  for (const auto& message : one_.published()) {
    EXPECT_EQ(message.body, std::to_string(next[message.header.routing_key()]++));
  }
  EXPECT_EQ(next.size(), 4u);
}

}  // namespace
}  // namespace segue::client
