#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "common/ids.h"
#include "router/node_table.h"
#include "router/session_table.h"

namespace segue::router {

/// SettleOk's that clients wait for: each stands for one or more settles at nodes, and goes out
/// when the last has answered. One thread.
class SettleConfirms {
 public:
  /// A client's Settle in the making. Copies stand for the same.
  struct Join {
    SessionId session;
    std::uint64_t confirm_id = 0;
    std::uint32_t open = 0;
    std::optional<v1::Error> error;  // the first
  };
  using JoinPtr = std::shared_ptr<Join>;

  explicit SettleConfirms(SessionTable& sessions) : sessions_(sessions) {}

  static JoinPtr begin(SessionId session, std::uint64_t confirm_id);
  /// One more part of it goes to a node; returns the confirm_id for the node.
  std::uint64_t add(const JoinPtr& join, Node& node, ConsumerId consumer);
  /// Every part is on its way: sends SettleOk if none is open.
  void finish(const JoinPtr& join) { answer(*join); }

  void on_settle_ok(const Node& node, const v1::SettleOk& settle_ok);
  /// The settles that the node has not confirmed are answered with an error: they may not be
  /// durable.
  void on_node_down(const Node& node);
  /// The consumer's queue is gone.
  void on_consumer_gone(ConsumerId consumer);
  void end_session(SessionId session);

  std::size_t open_of(SessionId session) const;
  std::size_t open() const { return open_.size(); }

 private:
  struct Open {
    const Node* node;
    ConsumerId consumer;
    JoinPtr join;
  };

  void close_part(std::map<std::uint64_t, Open>::iterator part, const v1::Error* error);
  void answer(Join& join);

  SessionTable& sessions_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Open> open_;
  std::unordered_map<SessionId, std::size_t> open_of_session_;
};

}  // namespace segue::router
