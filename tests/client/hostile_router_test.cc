// A router that sends nonsense: the client may leave it, but never crashes, hangs or believes what
// cannot be.

#include <random>

#include "client/frame_reader.h"
#include "tests/client/client_fixture.h"

namespace segue::client {
namespace {

using HostileRouter = ClientTest;

/// One frame of each kind, as a router sends it, for epoch and sequence to be filled in.
std::vector<std::pair<v1::RouterFrame, std::string>> frames() {
  std::vector<std::pair<v1::RouterFrame, std::string>> list(11);
  v1::Confirm* confirm = list[0].first.mutable_confirm();
  confirm->add_confirmed()->set_first(1);
  confirm->mutable_confirmed(0)->set_last(3);
  confirm->add_rejected()->mutable_seqs()->set_first(4);
  confirm->mutable_rejected(0)->mutable_seqs()->set_last(4);
  confirm->mutable_rejected(0)->mutable_error()->set_code(600);
  v1::Deliver* deliver = list[1].first.mutable_deliver();
  deliver->set_consumer(1);
  deliver->set_first_tag(1);
  FakeRouter::fill({"abc", "", "defg"}, deliver->mutable_batch(), list[1].second);
  deliver->mutable_batch()->add_redelivered(true);
  deliver->mutable_batch()->add_redelivered(false);
  deliver->mutable_batch()->add_redelivered(true);
  list[2].first.mutable_reply()->set_request_id(1);
  list[2].first.mutable_reply()->mutable_queue_declare_ok()->set_name("q");
  list[3].first.mutable_return_message()->set_seq(2);
  list[3].first.mutable_return_message()->mutable_header()->set_routing_key("k");
  list[3].second = "body";
  list[4].first.mutable_settle_ok()->set_confirm_id(1);
  list[5].first.mutable_consumer_cancelled()->set_consumer(9);
  list[6].first.mutable_credit()->set_granted_bytes(~0ull);
  list[7].first.mutable_blocked()->add_shards(3);
  list[8].first.mutable_unblocked()->add_shards(3);
  list[9].first.mutable_heartbeat();
  list[10].first.mutable_hello_ok()->set_heartbeat_ms(1);
  return list;
}

/// What happens to the client, put together by hand so that the test can send it anything without
/// threads: a session over a transport whose frames go nowhere.
class BareSession : private SessionEvents {
 public:
  BareSession() {
    EXPECT_TRUE(transport_.connect("router").is_ok());
    session_.begin(transport_, kEpoch, now_);
    v1::RouterFrame hello;
    *hello.mutable_hello_ok() = FakeRouter::default_hello_ok();
    receive(std::move(hello), {});
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(window_.publish(Message::to_queue("q", "x"), nullptr, true));
    }
    auto done = std::make_shared<std::promise<Status>>();
    consumers_.subscribe(
        std::make_shared<ConsumerCore>(1, "q", ConsumerOptions{}, nullptr, mailbox_, &consumers_),
        now_, done);
    session_.turn(now_ += std::chrono::milliseconds(2));
  }
  ~BareSession() override {
    session_.end(Error{});
    requests_.fail_all(Error{});
    consumers_.close(Error{});
    window_.close();
  }

  /// With the link header that belongs there.
  std::string stamped(v1::RouterFrame frame) {
    frame.mutable_link()->set_epoch(kEpoch);
    frame.mutable_link()->set_sequence(++sequence_);
    return frame.SerializeAsString();
  }
  void receive(v1::RouterFrame frame, const std::string& bodies) {
    receive_raw(stamped(std::move(frame)), bodies);
  }
  void receive_raw(std::string header, const std::string& bodies) {
    WireMessage message;
    message.header = SharedBytes::from(std::move(header));
    message.bodies = SharedBytes::from(bodies);
    session_.on_message(message, now_);
    session_.turn(now_);
  }
  bool failed() const { return session_.failure().has_value(); }
  PublishWindow& window() { return window_; }

 private:
  static constexpr std::uint64_t kEpoch = 42;

  void on_ready(const v1::HelloOk&) override {}
  void on_blocked(const v1::Blocked&) override {}
  void on_unblocked(const v1::Unblocked&) override {}

  TimePoint now_{std::chrono::seconds(100)};
  ConnectionOptions options_;
  std::shared_ptr<IoMailbox> mailbox_ = std::make_shared<IoMailbox>();
  FakeRouter router_;
  FakeTransport transport_{{{"router", &router_}}, mailbox_->wakeup()};
  PublishWindow window_{options_, [] {}};
  PublishSender publishes_{window_, 1};
  RequestTable requests_;
  ConsumerSet consumers_{requests_, mailbox_, std::chrono::seconds(1)};
  Session session_{options_, "p", {publishes_, requests_, consumers_, *this}};
  std::uint64_t sequence_ = 0;
};

TEST_F(HostileRouter, EveryFrameTruncatedAnywhereIsSurvived) {
  for (const auto& [frame, bodies] : frames()) {
    BareSession whole;
    const std::string bytes = whole.stamped(frame);
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
      BareSession session;
      session.receive_raw(bytes.substr(0, length), bodies);
      session.receive_raw(bytes.substr(length), bodies);
    }
    for (std::size_t length = 0; length < bodies.size(); ++length) {
      BareSession session;
      session.receive_raw(bytes, bodies.substr(0, length));
      EXPECT_EQ(session.failed(), frame.has_deliver());
    }
  }
}

TEST_F(HostileRouter, EveryFrameWithAnyBitFlippedIsSurvived) {
  for (const auto& [frame, bodies] : frames()) {
    BareSession whole;
    const std::string bytes = whole.stamped(frame);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string broken = bytes;
      broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
      BareSession session;
      session.receive_raw(std::move(broken), bodies);
    }
  }
}

TEST_F(HostileRouter, RandomBytesInFramesAreSurvived) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto all = frames();
  for (int i = 0; i < 3'000; ++i) {
    const auto& [frame, bodies] = all[random() % all.size()];
    BareSession session;
    std::string bytes = session.stamped(frame);
    for (unsigned changes = random() % 6 + 1; changes > 0; --changes) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          bytes.erase(at, 1);
      }
      if (bytes.empty()) break;
    }
    session.receive_raw(std::move(bytes), bodies);
  }
}

TEST_F(HostileRouter, ConfirmsOfWhatWasNeverSentSettleNothing) {
  BareSession session;
  v1::RouterFrame frame;
  const auto add = [&](std::uint64_t first, std::uint64_t last) {
    v1::Range* range = frame.mutable_confirm()->add_confirmed();
    range->set_first(first);
    range->set_last(last);
  };
  add(6, ~0ull);
  add(0, 0);
  add(5, 2);
  add(~0ull, ~0ull);
  session.receive(frame, {});
  EXPECT_EQ(session.window().unconfirmed(), 5u);
  frame.Clear();
  add(0, ~0ull);
  session.receive(frame, {});
  EXPECT_EQ(session.window().unconfirmed(), 0u);
  EXPECT_EQ(session.window().confirmed_total(), 5u);
  session.receive(frame, {});
  EXPECT_EQ(session.window().confirmed_total(), 5u);
  EXPECT_FALSE(session.failed());
}

TEST_F(HostileRouter, DeliveriesWithImpossibleNumbersEndTheSession) {
  const auto fails = [](const std::function<void(v1::Deliver&, std::string&)>& change) {
    BareSession session;
    v1::RouterFrame frame;
    std::string bodies;
    frame.mutable_deliver()->set_consumer(1);
    frame.mutable_deliver()->set_first_tag(1);
    FakeRouter::fill({"ab", "c"}, frame.mutable_deliver()->mutable_batch(), bodies);
    change(*frame.mutable_deliver(), bodies);
    session.receive(frame, bodies);
    return session.failed();
  };
  EXPECT_FALSE(fails([](v1::Deliver&, std::string&) {}));
  EXPECT_FALSE(fails([](v1::Deliver& d, std::string&) { d.set_consumer(99); }));
  EXPECT_TRUE(fails([](v1::Deliver& d, std::string&) { d.set_first_tag(0); }));
  EXPECT_TRUE(fails([](v1::Deliver& d, std::string&) { d.set_first_tag(~0ull); }));
  EXPECT_TRUE(fails([](v1::Deliver&, std::string& bodies) { bodies.pop_back(); }));
  EXPECT_TRUE(fails([](v1::Deliver& d, std::string&) { d.mutable_batch()->clear_messages(); }));
  EXPECT_TRUE(
      fails([](v1::Deliver& d, std::string&) { d.mutable_batch()->add_redelivered(true); }));
  EXPECT_TRUE(
      fails([](v1::Deliver& d, std::string&) { d.mutable_batch()->add_delivery_count(1); }));
}

TEST_F(HostileRouter, ADeliveryOutOfOrderEndsTheSession) {
  BareSession session;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(session.failed());
    v1::RouterFrame frame;
    std::string bodies;
    frame.mutable_deliver()->set_consumer(1);
    frame.mutable_deliver()->set_first_tag(1);
    FakeRouter::fill({"ab"}, frame.mutable_deliver()->mutable_batch(), bodies);
    session.receive(frame, bodies);
  }
  EXPECT_TRUE(session.failed());
}

TEST_F(HostileRouter, ABrokenFrameMakesTheClientConnectAgain) {
  Connection connection = open();
  one_.send_raw("\xff\xff nonsense");
  EXPECT_TRUE(one_.wait_until([&] { return connection.reconnects() == 1; }));
  EXPECT_TRUE(connection.admin().declare_queue("q"));
}

}  // namespace
}  // namespace segue::client
