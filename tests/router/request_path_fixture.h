#pragma once

#include "router/request_path.h"

#include <gtest/gtest.h>

#include "tests/router/router_fixture.h"

namespace segue::router {

using std::chrono::seconds;

/// A client session, and the queues `a` and `c` on shards of different nodes.
class RequestPathTest : public RouterFixture {
 protected:
  void SetUp() override {
    begin();
    create_queue("a", 0);
    create_queue("c", 2);
    client.emplace(*router, clients, "c1");
    session_id = client->open().session_id();
  }

  void declare(const std::string& name, bool exclusive = false, bool passive = false) {
    v1::Request request;
    request.mutable_queue_declare()->set_name(name);
    request.mutable_queue_declare()->set_durable(true);
    request.mutable_queue_declare()->set_exclusive(exclusive);
    request.mutable_queue_declare()->set_passive(passive);
    client->request(++request_id, request);
  }
  void outcome(std::uint64_t request, v1::CatalogOutcome outcome_value) {
    v1::NodeFrame frame;
    auto& reply = *frame.mutable_catalog_replies()->add_replies();
    reply.set_request_id(request);
    *reply.mutable_outcome() = std::move(outcome_value);
    from_node("n1", frame);
  }
  void queue_reply(const std::string& node, const v1::QueueReply& reply) {
    v1::NodeFrame frame;
    *frame.mutable_queue_replies()->add_replies() = reply;
    from_node(node, frame);
  }
  void counts(const std::string& node, const v1::QueueRequest& request, std::uint64_t ready,
              std::uint32_t consumers) {
    v1::QueueReply reply;
    reply.set_request_id(request.request_id());
    reply.mutable_queue()->set_ready(ready);
    reply.mutable_queue()->set_consumers(consumers);
    queue_reply(node, reply);
  }

  std::uint64_t request_id = 0;
  std::uint64_t session_id = 0;
  std::optional<TestClient> client;
};

}  // namespace segue::router
