#include "router/client_server.h"

#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ClientServerTest : public RouterFixture {
 protected:
  void SetUp() override { begin(); }
};

TEST_F(ClientServerTest, AnswersHelloWithWhatTheClientMayDo) {
  TestClient client(*router, clients, "c1");
  const v1::HelloOk ok = client.open("p");
  EXPECT_GT(ok.session_id(), 1u << 24);
  EXPECT_EQ(ok.heartbeat_ms(), 10'000u);
  EXPECT_EQ(ok.max_frame_bytes(), config.limits.max_frame_bytes);
  EXPECT_EQ(ok.max_message_bytes(), config.limits.max_message_bytes);
  EXPECT_EQ(ok.publish_credit(), config.limits.publish_credit_bytes);
  EXPECT_EQ(ok.max_unconfirmed(), config.limits.max_unconfirmed);
  EXPECT_EQ(ok.cluster(), "test");
  EXPECT_EQ(ok.router_id(), "r1");
  EXPECT_FALSE(ok.server_version().empty());
}

TEST_F(ClientServerTest, StampsItsFramesWithTheClientsEpochAndItsOwnSequence) {
  TestClient client(*router, clients, "c1", 123);
  client.hello();
  create_queue("a", 0);
  client.publish_to("nothing", 1);
  const auto hello_ok = client.next();
  const auto confirm_frame = client.next();
  EXPECT_EQ(hello_ok.link().epoch(), 123u);
  EXPECT_EQ(hello_ok.link().sequence(), 1u);
  EXPECT_EQ(confirm_frame.link().epoch(), 123u);
  EXPECT_EQ(confirm_frame.link().sequence(), 2u);
}

TEST_F(ClientServerTest, WaitsForTheCatalogBeforeItLetsClientsIn) {
  start({});
  TestClient early(*router, clients, "c1");
  early.hello();
  EXPECT_TRUE(early.quiet());
  advance(seconds(6));
  EXPECT_TRUE(early.quiet());  // no heartbeat before HelloOk either
  begin();
  EXPECT_TRUE(early.next().has_hello_ok());
}

TEST_F(ClientServerTest, CatchesUpToTheIndexThatTheClientHasSeen) {
  TestClient client(*router, clients, "c1");
  client.hello("", 3);
  EXPECT_TRUE(client.quiet());
  create_queue("a", 0);
  EXPECT_TRUE(client.quiet());
  create_queue("b", 0);
  EXPECT_TRUE(client.next().has_hello_ok());
}

TEST_F(ClientServerTest, ClosesAHelloWhoseCatalogIndexDoesNotCome) {
  TestClient client(*router, clients, "c1");
  client.hello("", 1000);
  advance(seconds(10));
  EXPECT_EQ(client.next_close(), number(Code::kCatalogUnavailable));
  EXPECT_EQ(router->session_count(), 0u);
}

TEST_F(ClientServerTest, RefusesAnotherVersionOfTheProtocol) {
  TestClient client(*router, clients, "c1");
  v1::ClientFrame frame;
  frame.mutable_hello()->set_protocol_version(2);
  client.send(frame);
  EXPECT_EQ(client.next_close(), number(Code::kNotImplemented));
}

TEST_F(ClientServerTest, RefusesHellosThatBreakTheRules) {
  TestClient no_epoch(*router, clients, "c1", 0);
  no_epoch.hello();
  EXPECT_EQ(no_epoch.next_close(), number(Code::kFrameError));
  TestClient late(*router, clients, "c2");
  late.sequence_ = 5;
  late.hello();
  EXPECT_EQ(late.next_close(), number(Code::kFrameError));
  TestClient long_id(*router, clients, "c3");
  long_id.hello(std::string(65, 'p'));
  EXPECT_EQ(long_id.next_close(), number(Code::kFrameError));
  TestClient elsewhere(*router, clients, "c4");
  v1::ClientFrame frame;
  frame.mutable_hello()->set_protocol_version(1);
  frame.mutable_hello()->set_vhost("other");
  elsewhere.send(frame);
  EXPECT_EQ(elsewhere.next_close(), number(Code::kNotFound));
  EXPECT_EQ(router->session_count(), 0u);
}

TEST_F(ClientServerTest, TellsAClientWhoseSessionItDoesNotKnow) {
  TestClient client(*router, clients, "c1");
  client.sequence_ = 41;
  client.publish_to("a", 1);
  const auto frame = client.next();
  ASSERT_TRUE(frame.has_close());
  EXPECT_EQ(frame.close().code(), number(Code::kStaleEpoch));
  EXPECT_EQ(frame.link().epoch(), client.epoch());
  EXPECT_EQ(frame.link().sequence(), 0u);
  v1::ClientFrame close;
  close.mutable_close();
  client.send(close);
  EXPECT_TRUE(client.quiet());  // a goodbye needs no answer
}

TEST_F(ClientServerTest, EndsTheSessionWhenFramesWereLost) {
  TestClient client(*router, clients, "c1");
  client.open();
  ++client.sequence_;
  client.publish_to("a", 1);
  EXPECT_EQ(client.next_close(), number(Code::kStaleEpoch));
  EXPECT_EQ(router->session_count(), 0u);
}

TEST_F(ClientServerTest, AnswersAFrameOfAnotherEpochWithoutHarmToTheSession) {
  TestClient client(*router, clients, "c1", 5);
  client.open();
  TestClient ghost(*router, clients, "c1", 6);
  ghost.publish_to("a", 1);
  EXPECT_EQ(ghost.next_close(), number(Code::kStaleEpoch));
  client.publish_to("nothing", 1);
  EXPECT_TRUE(client.next().has_confirm());
}

TEST_F(ClientServerTest, LetsANewHelloOfTheSameSocketReplaceTheSession) {
  TestClient first(*router, clients, "c1", 5);
  const std::uint64_t before = first.open().session_id();
  TestClient second(*router, clients, "c1", 6);
  EXPECT_NE(second.open().session_id(), before);
  EXPECT_EQ(router->session_count(), 1u);
}

TEST_F(ClientServerTest, ClosesTheOlderSessionOfAProducer) {
  TestClient older(*router, clients, "c1");
  older.open("p");
  TestClient newer(*router, clients, "c2");
  newer.open("p");
  EXPECT_EQ(older.next_close(), number(Code::kNotAllowed));
  EXPECT_EQ(router->session_count(), 1u);
  TestClient nameless1(*router, clients, "c3");
  TestClient nameless2(*router, clients, "c4");
  nameless1.open();
  nameless2.open();
  EXPECT_EQ(router->session_count(), 3u);
}

TEST_F(ClientServerTest, GivesProducerSessionsThatRiseOverRouters) {
  create_queue("a", 0);
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    TestClient client(*router, clients, "c" + std::to_string(i));
    client.open("p");
    client.publish_to("a", static_cast<std::uint64_t>(i) + 1);
    const std::uint64_t now = n1.publishes().at(0).publish.producer_session();
    EXPECT_GT(now, last);
    last = now;
  }
  clock.advance(milliseconds(1));
  start({});
  begin();
  create_queue("a", 0);
  TestClient elsewhere(*router, clients, "c1");
  elsewhere.open("p");
  elsewhere.publish_to("a", 9);
  EXPECT_GT(n1.publishes().at(0).publish.producer_session(), last);
}

TEST_F(ClientServerTest, KeepsToTheMostSessions) {
  LimitsConfig limits;
  limits.max_sessions = 2;
  start(limits);
  begin();
  TestClient a(*router, clients, "c1");
  TestClient b(*router, clients, "c2");
  TestClient c(*router, clients, "c3");
  a.open();
  b.open();
  c.hello();
  EXPECT_EQ(c.next_close(), number(Code::kResourceError));
  v1::ClientFrame close;
  close.mutable_close();
  a.send(close);
  TestClient d(*router, clients, "c4");
  d.open();
}

TEST_F(ClientServerTest, SendsHeartbeatsAndEndsSilentSessions) {
  TestClient client(*router, clients, "c1");
  v1::ClientFrame hello;
  hello.mutable_hello()->set_protocol_version(1);
  hello.mutable_hello()->set_heartbeat_ms(1000);
  client.send(hello);
  EXPECT_EQ(client.next().hello_ok().heartbeat_ms(), 1000u);
  advance(milliseconds(500));
  EXPECT_TRUE(client.next().has_heartbeat());
  v1::ClientFrame heartbeat;
  heartbeat.mutable_heartbeat();
  client.send(heartbeat);
  advance(milliseconds(1999));
  EXPECT_TRUE(client.next().has_heartbeat());
  advance(milliseconds(1));
  EXPECT_EQ(client.next_close(), number(Code::kConnectionForced));
  EXPECT_EQ(router->session_count(), 0u);
}

TEST_F(ClientServerTest, BoundsTheHeartbeatThatAClientWants) {
  TestClient client(*router, clients, "c1");
  v1::ClientFrame hello;
  hello.mutable_hello()->set_protocol_version(1);
  hello.mutable_hello()->set_heartbeat_ms(1);
  client.send(hello);
  EXPECT_EQ(client.next().hello_ok().heartbeat_ms(), 100u);
}

TEST_F(ClientServerTest, EndsTheSessionOfAClientThatDoesNotRead) {
  create_queue("a", 0);
  TestClient client(*router, clients, "c1");
  client.open();
  client.publish_to("a", 1);
  clients.gone.insert("c1");
  confirm("n1", n1.publishes().at(0).publish.batch_id());
  EXPECT_EQ(router->session_count(), 0u);
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

TEST_F(ClientServerTest, ClosesASessionForAFrameThatItCannotRead) {
  const std::vector<std::string> broken = {"", "\xff\xff\xff", std::string("\0\0\0", 3)};
  int peer = 0;
  for (const std::string& header : broken) {
    TestClient client(*router, clients, "c" + std::to_string(++peer));
    client.open();
    client.send_raw(header);
    EXPECT_TRUE(client.next().has_close());
  }
}

TEST_F(ClientServerTest, ClosesASessionForAnUnknownFrame) {
  TestClient client(*router, clients, "c1");
  client.open();
  client.send(v1::ClientFrame());
  EXPECT_EQ(client.next_close(), number(Code::kFrameError));
}

TEST_F(ClientServerTest, ClosesASessionForASecondHello) {
  TestClient client(*router, clients, "c1");
  client.open();
  client.hello();
  EXPECT_EQ(client.next_close(), number(Code::kFrameError));
}

TEST_F(ClientServerTest, ClosesASessionForAFrameBeforeHelloOk) {
  start({});
  TestClient client(*router, clients, "c1");
  client.hello();
  client.publish_to("a", 1);
  EXPECT_EQ(client.next_close(), number(Code::kFrameError));
}

TEST_F(ClientServerTest, ClosesASessionForBodiesWhereNoneBelong) {
  TestClient client(*router, clients, "c1");
  client.open();
  v1::ClientFrame frame;
  frame.mutable_heartbeat();
  client.send(frame, "body");
  EXPECT_EQ(client.next_close(), number(Code::kFrameError));
}

TEST_F(ClientServerTest, ClosesASessionForAFrameThatIsTooLarge) {
  LimitsConfig limits;
  limits.max_frame_bytes = 1000;
  start(limits);
  begin();
  TestClient client(*router, clients, "c1");
  client.open();
  client.publish_to("a", 1, 1, std::string(1001, 'x'));
  const auto frame = client.next();
  EXPECT_EQ(frame.close().code(), number(Code::kFrameError));
  EXPECT_NE(frame.close().text().find("1001"), std::string::npos);
}

TEST_F(ClientServerTest, AnswersAnUnknownOperationAndGoesOn) {
  TestClient client(*router, clients, "c1");
  client.open();
  client.request(7, v1::Request());
  const v1::Reply reply = client.next_reply();
  EXPECT_EQ(reply.request_id(), 7u);
  EXPECT_EQ(reply.error().code(), number(Code::kNotImplemented));
  EXPECT_EQ(router->session_count(), 1u);
}

TEST_F(ClientServerTest, KeepsNothingOfAThousandSessionsThatCameAndVanished) {
  create_queue("a", 0);
  create_queue("c", 2);
  for (int i = 0; i < 1000; ++i) {
    TestClient client(*router, clients, "c" + std::to_string(i));
    client.open("p" + std::to_string(i));
    client.publish_to("a", 1);
    v1::Request request;
    request.mutable_consume()->set_queue("c");
    request.mutable_consume()->set_consumer(1);
    client.request(1, request);
    v1::Request get;
    get.mutable_get()->set_queue("c");
    client.request(2, get);
    clients.gone.insert(client.peer());
  }
  EXPECT_EQ(router->session_count(), 1000u);
  for (int i = 0; i < 40; ++i) advance(seconds(1));
  EXPECT_EQ(router->session_count(), 0u);
  // What is on its way to a node is the node's to answer.
  for (const auto& sent : n1.publishes()) confirm("n1", sent.publish.batch_id());
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

TEST_F(ClientServerTest, StopsAfterWhatIsOnItsWay) {
  create_queue("a", 0);
  TestClient client(*router, clients, "c1");
  client.open();
  client.publish_to("a", 1);
  const auto sent = n1.publishes();
  router->begin_drain();
  client.publish_to("a", 2);
  EXPECT_TRUE(n1.publishes().empty());
  TestClient late(*router, clients, "c2");
  late.hello();
  EXPECT_EQ(late.next_close(), number(Code::kConnectionForced));
  EXPECT_FALSE(router->drained());
  confirm("n1", sent.at(0).publish.batch_id());
  EXPECT_TRUE(router->drained());
  router->close_sessions();
  EXPECT_EQ(text_of(client.next_confirm().confirmed()), "1");
  EXPECT_EQ(client.next_close(), number(Code::kConnectionForced));
}

TEST_F(ClientServerTest, LogsSessionsThatLastOrFailAndNotShortOnes) {
  CaptureLogger captured(0, LogFormat::kText, LogLevel::kInfo);
  start({});
  router = std::make_unique<Router>(config, "r1", clients, clock, random, captured.logger());
  router->add_node("n1", "tcp://127.0.0.1:2", n1);
  router->add_node("n2", "tcp://127.0.0.1:3", n2);
  begin();
  v1::ClientFrame close;
  close.mutable_close();
  TestClient brief(*router, clients, "c1");
  brief.open();
  advance(milliseconds(900));
  brief.send(close);
  EXPECT_FALSE(captured.contains("session_"));
  TestClient lasting(*router, clients, "c2");
  lasting.open();
  advance(seconds(1));
  EXPECT_TRUE(captured.contains("session_opened"));
  EXPECT_FALSE(captured.contains("session_closed"));
  lasting.send(close);
  EXPECT_TRUE(captured.contains("session_closed"));
  const std::size_t lines = captured.lines().size();
  TestClient failing(*router, clients, "c3");
  failing.open();
  failing.send({});
  EXPECT_EQ(captured.lines().size(), lines + 1);
  EXPECT_NE(captured.lines().back().find("session_closed"), std::string::npos);
  router.reset();
}

}  // namespace
}  // namespace segue::router
