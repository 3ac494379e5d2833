#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

// Whatever a client sends, the router lives, and the next client is served.
class HostileFramesTest : public RouterFixture {
 protected:
  void SetUp() override {
    begin();
    create_queue("a", 0);
    create_queue("c", 2);
    create_exchange("e", "topic");
    create_binding("e", "a", "#");
    create_binding("e", "c", "x.*");
  }

  /// One frame of each kind, and requests of each kind, as a client would send them after Hello.
  static std::vector<std::pair<v1::ClientFrame, std::string>> frames() {
    std::vector<std::pair<v1::ClientFrame, std::string>> all;
    const auto add = [&](const v1::ClientFrame& frame, const std::string& bodies = "") {
      all.emplace_back(frame, bodies);
    };
    v1::ClientFrame frame;
    frame.mutable_hello()->set_protocol_version(1);
    frame.mutable_hello()->set_producer_id("p");
    add(frame);
    std::string bodies;
    v1::ClientFrame publish =
        TestClient::publish_frame(1, {{"e", "x.y", "one"}, {"", "c", "two"}, {"no", "z"}}, bodies);
    (*publish.mutable_publish()
          ->mutable_batch()
          ->mutable_headers(0)
          ->mutable_properties()
          ->mutable_headers())["h"]
        .set_int_value(5);
    add(publish, bodies);
    frame.Clear();
    frame.mutable_settle()->set_consumer(1);
    frame.mutable_settle()->set_confirm_id(3);
    frame.mutable_settle()->add_settled()->set_outcome(v1::OUTCOME_ACK);
    frame.mutable_settle()->mutable_settled(0)->mutable_tags()->set_first(1);
    frame.mutable_settle()->mutable_settled(0)->mutable_tags()->set_last(4);
    add(frame);
    frame.Clear();
    frame.mutable_received()->set_consumer(1);
    frame.mutable_received()->set_tag(2);
    add(frame);
    frame.Clear();
    frame.mutable_heartbeat();
    add(frame);
    frame.Clear();
    frame.mutable_close()->set_text("bye");
    add(frame);
    const auto add_request = [&](const auto& fill) {
      v1::ClientFrame request;
      request.mutable_request()->set_request_id(7);
      fill(*request.mutable_request());
      add(request);
    };
    add_request([](v1::Request& r) { r.mutable_exchange_declare()->set_name("new"); });
    add_request([](v1::Request& r) { r.mutable_exchange_delete()->set_name("e"); });
    add_request([](v1::Request& r) { r.mutable_queue_declare()->set_name("new"); });
    add_request([](v1::Request& r) { r.mutable_queue_delete()->set_name("a"); });
    add_request([](v1::Request& r) { r.mutable_queue_purge()->set_name("a"); });
    add_request([](v1::Request& r) { r.mutable_queue_status()->set_name("a"); });
    add_request([](v1::Request& r) { r.mutable_bind()->set_exchange("e"); });
    add_request([](v1::Request& r) { r.mutable_unbind()->set_exchange("e"); });
    add_request([](v1::Request& r) {
      r.mutable_consume()->set_queue("a");
      r.mutable_consume()->set_consumer(1);
    });
    add_request([](v1::Request& r) { r.mutable_cancel()->set_consumer(1); });
    add_request([](v1::Request& r) { r.mutable_qos()->set_consumer(1); });
    add_request([](v1::Request& r) { r.mutable_get()->set_queue("a"); });
    add_request([](v1::Request& r) { r.mutable_list_queues()->set_limit(5); });
    add_request([](v1::Request& r) { r.mutable_list_exchanges()->set_limit(5); });
    add_request([](v1::Request& r) { r.mutable_list_bindings()->set_queue("a"); });
    add_request([](v1::Request& r) { r.mutable_cluster_status(); });
    return all;
  }

  /// Sends the bytes as the second frame of a fresh session, then makes sure that all is well.
  void attack(const std::string& header, const std::string& bodies) {
    // A session of another epoch takes the place of what the attack before has left.
    TestClient(*router, clients, "attacker", 78).hello();
    clients.frames.clear();
    TestClient attacker(*router, clients, "attacker");
    attacker.open();
    attacker.send_raw(header, bodies);
    n1.frames.clear();
    n2.frames.clear();
  }
  void expect_alive() {
    TestClient honest(*router, clients, "honest");
    honest.open();
    honest.publish_to("a", 1);
    const auto sent = n1.publishes();
    ASSERT_EQ(sent.size(), 1u);
    confirm("n1", sent[0].publish.batch_id());
    EXPECT_EQ(text_of(honest.next_confirm().confirmed()), "1");
  }
  static std::string stamped(v1::ClientFrame frame) {
    frame.mutable_link()->set_epoch(77);
    frame.mutable_link()->set_sequence(2);
    return frame.SerializeAsString();
  }
};

TEST_F(HostileFramesTest, SurvivesEveryFrameCutAtEveryByte) {
  for (const auto& [frame, bodies] : frames()) {
    const std::string whole = stamped(frame);
    for (std::size_t size = 0; size < whole.size(); ++size) attack(whole.substr(0, size), bodies);
    for (std::size_t size = 0; size < bodies.size(); ++size) attack(whole, bodies.substr(0, size));
    attack(whole, bodies + "more");
  }
  expect_alive();
}

TEST_F(HostileFramesTest, SurvivesEveryByteOfEveryFrameChanged) {
  for (const auto& [frame, bodies] : frames()) {
    const std::string whole = stamped(frame);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int change : {0x01, 0x02, 0x08, 0x40, 0x80, 0xff}) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ change);
        attack(changed, bodies);
      }
    }
  }
  expect_alive();
}

TEST_F(HostileFramesTest, SurvivesFramesFromNobody) {
  for (const auto& [frame, bodies] : frames()) {
    TestClient stranger(*router, clients, "stranger");
    stranger.send_raw(stamped(frame), bodies);
    WireMessage malformed;
    malformed.peer = "stranger";
    malformed.malformed = true;
    router->on_client_message(malformed);
    router->end_turn();
  }
  expect_alive();
}

TEST_F(HostileFramesTest, SurvivesNumbersAtTheirLimits) {
  const std::uint64_t extremes[] = {0, 1, (1ull << 32) - 1, 1ull << 63, ~0ull - 1, ~0ull};
  for (const std::uint64_t a : extremes) {
    for (const std::uint64_t b : extremes) {
      v1::ClientFrame frame;
      frame.mutable_settle()->set_consumer(a);
      frame.mutable_settle()->set_confirm_id(b);
      auto& settled = *frame.mutable_settle()->add_settled();
      settled.mutable_tags()->set_first(a);
      settled.mutable_tags()->set_last(b);
      settled.set_outcome(v1::OUTCOME_REQUEUE);
      attack(stamped(frame), "");
      frame.mutable_settle()->set_consumer(0);
      attack(stamped(frame), "");
      std::string bodies;
      frame = TestClient::publish_frame(a, {{"", "a"}, {"", "c"}}, bodies);
      frame.mutable_publish()->set_settled_below(b);
      attack(stamped(frame), bodies);
      frame = TestClient::publish_frame(1, {{"", "a"}}, bodies);
      frame.mutable_publish()->mutable_batch()->set_sizes(0, static_cast<std::uint32_t>(a));
      frame.mutable_publish()->mutable_batch()->add_sizes(static_cast<std::uint32_t>(b));
      attack(stamped(frame), bodies);
      frame.Clear();
      frame.mutable_received()->set_consumer(a);
      frame.mutable_received()->set_tag(b);
      attack(stamped(frame), "");
      frame.Clear();
      frame.mutable_request()->set_request_id(a);
      frame.mutable_request()->mutable_list_bindings()->set_after_number(b);
      attack(stamped(frame), "");
    }
  }
  expect_alive();
}

}  // namespace
}  // namespace segue::router
