#include "common/node_link.h"

#include <gtest/gtest.h>

#include <deque>

#include "tests/fakes/capture_logger.h"

namespace segue {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Keeps what the link sends; a test puts in what the node would answer.
class FakeTransport final : public LinkTransport {
 public:
  int opened = 0;
  int closed = 0;
  bool full = false;
  std::vector<v1::PeerFrame> sent;
  std::deque<WireMessage> incoming;
  bool gone = false;

  std::string broken() override { return gone ? "is gone: the connection ended" : ""; }
  Status open() override {
    ++opened;
    gone = false;
    incoming.clear();
    return {};
  }
  void close(bool) override { ++closed; }
  bool send(std::string header, const std::vector<SharedBytes>&) override {
    if (full) return false;
    EXPECT_TRUE(sent.emplace_back().ParseFromString(header));
    return true;
  }
  bool receive(WireMessage& message) override {
    if (incoming.empty()) return false;
    message = std::move(incoming.front());
    incoming.pop_front();
    return true;
  }
};

class NodeLinkTest : public testing::Test, public NodeLink::Events {
 protected:
  NodeLinkTest() : random_(1), link_(options(), transport_, *this, random_, log_) {}

  static NodeLink::Options options() {
    NodeLink::Options made;
    made.node_id = "n1";
    made.endpoint = "ipc://n1";
    made.hello.set_id("r1");
    return made;
  }

  void on_up(const v1::PeerHelloOk& hello) override {
    incarnations_.push_back(hello.incarnation());
  }
  void on_down(const Status& reason) override { downs_.push_back(reason); }
  void on_frame(v1::NodeFrame& frame, SharedBytes bodies) override {
    frames_.push_back(frame);
    bodies_.emplace_back(bodies.view());
  }

  /// The node's frame, numbered on by one.
  v1::NodeFrame frame() {
    v1::NodeFrame made;
    made.mutable_link()->set_epoch(transport_.sent.back().link().epoch());
    made.mutable_link()->set_sequence(++sequence_);
    return made;
  }
  void put(const v1::NodeFrame& frame, std::string bodies = "") {
    WireMessage message;
    message.header = SharedBytes::from(frame.SerializeAsString());
    message.bodies = SharedBytes::from(std::move(bodies));
    transport_.incoming.push_back(std::move(message));
  }
  void put_hello_ok(std::uint64_t incarnation, const std::string& node = "n1") {
    sequence_ = 0;
    v1::NodeFrame ok = frame();
    ok.mutable_hello_ok()->set_node_id(node);
    ok.mutable_hello_ok()->set_incarnation(incarnation);
    ok.mutable_hello_ok()->set_heartbeat_ms(2000);
    put(ok);
  }
  void bring_up(std::uint64_t incarnation = 5) {
    link_.poll(clock_.now());
    put_hello_ok(incarnation);
    link_.poll(clock_.now());
    ASSERT_TRUE(link_.is_up());
  }

  ManualClock clock_;
  NullLogger log_;
  SeededRandom random_;
  FakeTransport transport_;
  NodeLink link_;
  std::uint64_t sequence_ = 0;
  std::vector<std::uint64_t> incarnations_;
  std::vector<Status> downs_;
  std::vector<v1::NodeFrame> frames_;
  std::vector<std::string> bodies_;
};

TEST_F(NodeLinkTest, SaysHelloAndIsUpWhenTheNodeAnswers) {
  link_.poll(clock_.now());
  ASSERT_EQ(transport_.sent.size(), 1u);
  EXPECT_EQ(transport_.sent[0].hello().id(), "r1");
  EXPECT_NE(transport_.sent[0].link().epoch(), 0u);
  EXPECT_EQ(transport_.sent[0].link().sequence(), 1u);
  EXPECT_FALSE(link_.is_up());
  put_hello_ok(5);
  link_.poll(clock_.now());
  EXPECT_EQ(incarnations_, std::vector<std::uint64_t>{5});
}

TEST_F(NodeLinkTest, HandsFramesAndBodiesOnAndNumbersItsOwn) {
  bring_up();
  v1::NodeFrame confirms = frame();
  confirms.mutable_confirms()->add_confirms()->set_batch_id(9);
  put(confirms, "body");
  link_.poll(clock_.now());
  ASSERT_EQ(frames_.size(), 1u);
  EXPECT_EQ(frames_[0].confirms().confirms(0).batch_id(), 9u);
  EXPECT_EQ(bodies_[0], "body");
  v1::PeerFrame publish;
  publish.mutable_publishes();
  EXPECT_TRUE(link_.send(publish, {}, clock_.now()));
  EXPECT_EQ(transport_.sent.back().link().sequence(), 2u);
}

TEST_F(NodeLinkTest, DoesNotSendBeforeItIsUp) {
  EXPECT_FALSE(link_.send(v1::PeerFrame(), {}, clock_.now()));
  link_.poll(clock_.now());
  EXPECT_FALSE(link_.send(v1::PeerFrame(), {}, clock_.now()));
  EXPECT_EQ(transport_.sent.size(), 1u);
}

TEST_F(NodeLinkTest, ALostFrameResetsIntoAnotherEpochOnAFreshConnection) {
  bring_up();
  const std::uint64_t epoch = transport_.sent[0].link().epoch();
  v1::NodeFrame lost = frame();
  v1::NodeFrame next = frame();
  next.mutable_confirms();
  put(next);
  put(next);
  link_.poll(clock_.now());
  ASSERT_EQ(downs_.size(), 1u);
  EXPECT_EQ(downs_[0].code(), Code::kStaleEpoch);
  EXPECT_TRUE(frames_.empty());
  clock_.advance(milliseconds(100));
  link_.poll(clock_.now());
  EXPECT_EQ(transport_.opened, 2);
  EXPECT_NE(transport_.sent.back().link().epoch(), epoch);
  EXPECT_EQ(transport_.sent.back().link().sequence(), 1u);
  put_hello_ok(5);
  link_.poll(clock_.now());
  EXPECT_TRUE(link_.is_up());
}

TEST_F(NodeLinkTest, ARestartedNodeEndsTheEpochWhateverTheSequence) {
  bring_up();
  v1::NodeFrame close = frame();
  close.mutable_link()->set_sequence(0);
  close.mutable_close()->set_code(static_cast<std::uint32_t>(Code::kStaleEpoch));
  put(close);
  link_.poll(clock_.now());
  EXPECT_EQ(downs_.size(), 1u);
  clock_.advance(milliseconds(100));
  link_.poll(clock_.now());
  put_hello_ok(6);
  link_.poll(clock_.now());
  EXPECT_EQ(incarnations_, (std::vector<std::uint64_t>{5, 6}));
}

TEST_F(NodeLinkTest, FramesOfAnotherEpochAreIgnored) {
  bring_up();
  v1::NodeFrame close = frame();
  close.mutable_link()->set_epoch(1234);
  close.mutable_close();
  put(close);
  link_.poll(clock_.now());
  EXPECT_TRUE(link_.is_up());
}

TEST_F(NodeLinkTest, ASilentNodeIsGoneAfterTwoHeartbeats) {
  bring_up();
  for (int i = 0; i < 3; ++i) {
    clock_.advance(seconds(1));
    link_.poll(clock_.now());
    EXPECT_TRUE(transport_.sent.back().has_heartbeat());
  }
  EXPECT_TRUE(link_.is_up());
  EXPECT_EQ(link_.next_timer(), clock_.now() + seconds(1));
  clock_.advance(seconds(1));
  link_.poll(clock_.now());
  EXPECT_EQ(downs_.size(), 1u);
}

TEST_F(NodeLinkTest, AnEndedConnectionIsNoticedAtOnceAfterWhatCameOverIt) {
  bring_up();
  v1::NodeFrame confirms = frame();
  confirms.mutable_confirms()->add_confirms()->set_batch_id(9);
  for (int i = 0; i < 3; ++i) {
    put(confirms);
    confirms.mutable_link()->set_sequence(++sequence_);
  }
  transport_.gone = true;
  EXPECT_TRUE(link_.poll(clock_.now(), 2));
  EXPECT_TRUE(downs_.empty());
  link_.poll(clock_.now(), 2);
  EXPECT_EQ(frames_.size(), 3u);
  ASSERT_EQ(downs_.size(), 1u);
  EXPECT_NE(downs_[0].message().find("node n1 at ipc://n1 is gone"), std::string::npos);
  clock_.advance(milliseconds(100));
  link_.poll(clock_.now());
  EXPECT_EQ(transport_.opened, 2);
}

TEST_F(NodeLinkTest, TriesAgainWithGrowingPausesUntilTheNodeAnswers) {
  for (int i = 0; i < 200; ++i) {
    link_.poll(clock_.now());
    clock_.advance(seconds(1));
  }
  EXPECT_GT(transport_.opened, 40);
  EXPECT_LT(transport_.opened, 100);
  EXPECT_TRUE(downs_.empty());
  EXPECT_FALSE(link_.last_error().is_ok());
}

TEST_F(NodeLinkTest, WaitsLongerAndLongerWhenTheLinkEndsAsSoonAsItIsUp) {
  const TimePoint end = clock_.now() + seconds(60);
  while (clock_.now() < end) {
    const int opened = transport_.opened;
    link_.poll(clock_.now());
    if (transport_.opened > opened) {
      put_hello_ok(5);
      link_.poll(clock_.now());
      EXPECT_TRUE(link_.is_up());
      link_.reset(Status(Code::kPreconditionFailed, "is of no use"), clock_.now());
    }
    clock_.advance(milliseconds(5));
  }
  EXPECT_GT(transport_.opened, 25);
  EXPECT_LT(transport_.opened, 80);
  // Once it has lasted, it comes back at once.
  while (!link_.is_up()) {
    const int opened = transport_.opened;
    link_.poll(clock_.now());
    if (transport_.opened > opened) {
      put_hello_ok(5);
      link_.poll(clock_.now());
    }
    clock_.advance(milliseconds(5));
  }
  clock_.advance(milliseconds(2'000));
  const int opened = transport_.opened;
  link_.reset(Status(Code::kStaleEpoch, "lost"), clock_.now());
  clock_.advance(milliseconds(100));
  link_.poll(clock_.now());
  EXPECT_EQ(transport_.opened, opened + 1);
}

TEST_F(NodeLinkTest, TheWrongNodeAtTheEndpointIsRefused) {
  link_.poll(clock_.now());
  put_hello_ok(5, "n2");
  link_.poll(clock_.now());
  EXPECT_FALSE(link_.is_up());
  EXPECT_NE(link_.last_error().message().find("'n2' answers at ipc://n1"), std::string::npos);
}

TEST_F(NodeLinkTest, AFrameThatCannotBeReadResets) {
  bring_up();
  WireMessage message;
  message.header = SharedBytes::from("\xff\xff\xff");
  transport_.incoming.push_back(message);
  link_.poll(clock_.now());
  ASSERT_EQ(downs_.size(), 1u);
  EXPECT_EQ(downs_[0].code(), Code::kFrameError);
}

TEST_F(NodeLinkTest, ANodeThatDoesNotReadIsGivenUp) {
  bring_up();
  transport_.full = true;
  EXPECT_FALSE(link_.send(v1::PeerFrame(), {}, clock_.now()));
  EXPECT_EQ(downs_.size(), 1u);
  EXPECT_FALSE(link_.is_up());
}

TEST_F(NodeLinkTest, AConnectionThatEndedIsNotSaidToBeUnread) {
  bring_up();
  transport_.full = true;
  transport_.gone = true;
  EXPECT_FALSE(link_.send(v1::PeerFrame(), {}, clock_.now()));
  ASSERT_EQ(downs_.size(), 1u);
  EXPECT_NE(downs_[0].message().find("ipc://n1 is gone"), std::string::npos) << downs_[0].message();
}

TEST_F(NodeLinkTest, TakesABoundedNumberOfFramesAtOnce) {
  bring_up();
  for (int i = 0; i < 5; ++i) {
    v1::NodeFrame confirms = frame();
    confirms.mutable_confirms();
    put(confirms);
  }
  EXPECT_TRUE(link_.poll(clock_.now(), 3));
  EXPECT_EQ(frames_.size(), 3u);
  EXPECT_FALSE(link_.poll(clock_.now(), 3));
  EXPECT_EQ(frames_.size(), 5u);
}

TEST_F(NodeLinkTest, CloseSaysGoodbyeAndStaysDown) {
  bring_up();
  link_.close(clock_.now());
  EXPECT_TRUE(transport_.sent.back().has_close());
  EXPECT_TRUE(downs_.empty());
  clock_.advance(seconds(100));
  link_.poll(clock_.now());
  EXPECT_EQ(transport_.opened, 1);
}

}  // namespace
}  // namespace segue
