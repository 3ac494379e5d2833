#pragma once

#include "router/delivery_path.h"

#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {

using std::chrono::seconds;

/// A client session, and the queues `a` and `c` on shards of different nodes.
class DeliveryPathTest : public RouterFixture {
 protected:
  void SetUp() override {
    begin();
    a = create_queue("a", 0);
    c = create_queue("c", 2);
    client.emplace(*router, clients, "c1");
    session_id = client->open().session_id();
  }

  void consume(std::uint64_t consumer, const std::string& queue = "a", std::uint64_t request = 1) {
    v1::Request frame;
    frame.mutable_consume()->set_queue(queue);
    frame.mutable_consume()->set_consumer(consumer);
    frame.mutable_consume()->set_prefetch_count(100);
    client->request(request, frame);
  }
  /// Consumes, with the node's agreement; gives the node's number for the consumer.
  std::uint64_t consuming(std::uint64_t consumer, bool no_ack = false) {
    v1::Request frame;
    frame.mutable_consume()->set_queue("a");
    frame.mutable_consume()->set_consumer(consumer);
    frame.mutable_consume()->set_no_ack(no_ack);
    client->request(1, frame);
    const std::uint64_t id = n1.commands().at(0).consumer();
    subscribed("n1", id);
    EXPECT_TRUE(client->next_reply().has_consume_ok());
    return id;
  }
  void subscribed(const std::string& node, std::uint64_t id) {
    v1::NodeFrame frame;
    auto& event = *frame.mutable_consumer_events()->add_events();
    event.set_consumer(id);
    event.mutable_subscribed();
    from_node(node, frame);
  }
  void cancelled(const std::string& node, std::uint64_t id, Code code) {
    v1::NodeFrame frame;
    auto& event = *frame.mutable_consumer_events()->add_events();
    event.set_consumer(id);
    event.mutable_cancelled()->set_code(static_cast<std::uint32_t>(code));
    from_node(node, frame);
  }
  v1::NodeFrame delivery(std::uint64_t id, std::uint64_t first, std::uint32_t count,
                         const std::string& bodies) {
    v1::NodeFrame frame;
    auto& one = *frame.mutable_deliveries()->add_deliveries();
    one.set_consumer(id);
    one.set_first_number(first);
    one.set_count(count);
    v1::DeliveryBatch batch;
    batch.mutable_messages()->add_headers()->set_routing_key("a");
    for (std::uint32_t i = 0; i < count; ++i) {
      batch.mutable_messages()->add_sizes(static_cast<std::uint32_t>(bodies.size() / count));
    }
    one.set_batch(batch.SerializeAsString());
    one.set_body_bytes(bodies.size());
    return frame;
  }
  void deliver(std::uint64_t id, std::uint64_t first, std::uint32_t count) {
    from_node("n1", delivery(id, first, count, std::string(count, 'x')), std::string(count, 'x'));
  }
  void settle(std::uint64_t consumer, std::uint64_t first, std::uint64_t last,
              std::uint64_t confirm_id = 0, v1::Outcome outcome = v1::OUTCOME_ACK) {
    v1::ClientFrame frame;
    frame.mutable_settle()->set_consumer(consumer);
    auto& one = *frame.mutable_settle()->add_settled();
    one.mutable_tags()->set_first(first);
    one.mutable_tags()->set_last(last);
    one.set_outcome(outcome);
    frame.mutable_settle()->set_confirm_id(confirm_id);
    client->send(frame);
  }
  void settle_ok(const std::string& node, std::uint64_t consumer, std::uint64_t confirm_id,
                 Code code = Code::kOk) {
    v1::NodeFrame frame;
    auto& event = *frame.mutable_consumer_events()->add_events();
    event.set_consumer(consumer);
    event.mutable_settle_ok()->set_confirm_id(confirm_id);
    if (code != Code::kOk) {
      event.mutable_settle_ok()->mutable_error()->set_code(static_cast<std::uint32_t>(code));
    }
    from_node(node, frame);
  }
  void cancel(std::uint64_t consumer, std::uint64_t request) {
    v1::Request frame;
    frame.mutable_cancel()->set_consumer(consumer);
    client->request(request, frame);
  }
  void queue_reply(const std::string& node, v1::QueueReply reply, const std::string& body = "") {
    v1::NodeFrame frame;
    *frame.mutable_queue_replies()->add_replies() = std::move(reply);
    from_node(node, frame, body);
  }
  std::uint32_t consume_error() { return client->next_reply().error().code(); }

  std::uint64_t a = 0;
  std::uint64_t c = 0;
  std::uint64_t session_id = 0;
  std::optional<TestClient> client;
};

}  // namespace segue::router
