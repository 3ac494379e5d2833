#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "common/clock.h"
#include "router/node_table.h"
#include "router/turn.h"
#include "segue/v1/catalog.pb.h"

namespace segue::router {

/// Operations on their way to the catalog's leader and back. Each is answered once; while the
/// leader is away they wait a little for its return. An operation whose link was reset is asked
/// again: all of them can be repeated. One thread.
class CatalogRequests {
 public:
  /// `outcome.error` is set when it failed.
  using Then = std::function<void(v1::CatalogOutcome& outcome)>;

  /// `leader_wait`: how long operations wait for a leader that is away; `timeout`: for its answer.
  CatalogRequests(NodeTable& nodes, Duration leader_wait, Duration timeout, const Turn& turn)
      : nodes_(nodes), leader_wait_(leader_wait), timeout_(timeout), turn_(turn) {}

  void send(v1::CatalogOperation operation, Then then);
  void on_reply(v1::CatalogReply& reply);
  void on_node_up(Node& node);
  void on_node_down(Node& node);
  void on_tick();
  std::size_t open() const { return open_.size(); }

 private:
  struct Open {
    v1::CatalogRequest request;
    Then then;
    Node* sent_to;  // null: waits for a leader
    TimePoint deadline;
    bool asked_before;
  };

  void send_to(Node& leader, Open& open);

  NodeTable& nodes_;
  const Duration leader_wait_;
  const Duration timeout_;
  const Turn& turn_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Open> open_;
};

}  // namespace segue::router
