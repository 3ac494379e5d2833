#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/status.h"
#include "router/node_table.h"
#include "router/turn.h"

namespace segue::router {

/// Questions about queues on their way to nodes and back. Each is answered once: by the node, or
/// with an error when the node is not there or does not answer in time. One thread.
class NodeRequests {
 public:
  /// `reply.error` is set when it failed; `bodies` belong to `reply.delivery`. Both may be taken
  /// apart.
  using Then = std::function<void(v1::QueueReply& reply, SharedBytes bodies)>;
  struct Options {
    /// With a node that is down: wait for its return until the timeout, or fail at once.
    bool wait_for_node = false;
    /// Asking twice does no harm: ask again after a reset of the link, instead of failing.
    bool repeatable = false;
    /// The answer hands something over (a message): wait for it as long as the link lives.
    bool never_forget = false;
  };

  NodeRequests(Duration timeout, const Turn& turn) : timeout_(timeout), turn_(turn) {}

  /// `node` is where the queue's shard is, `node_id` its name for messages; null when the
  /// configuration does not have it. The request's id is filled in.
  /// Returns a number for forget().
  std::uint64_t send(Node* node, const std::string& node_id, v1::QueueRequest request,
                     CatalogIndex needs, Options options, Then then);
  /// Nobody waits for the answer any more; does nothing if it has come.
  void forget(std::uint64_t id) { open_.erase(id); }
  /// FRAME_ERROR: the frame makes no sense, the link should be reset.
  Status on_replies(Node& node, v1::QueueReplies& replies, const SharedBytes& bodies);
  void on_node_up(Node& node);
  void on_node_down(Node& node);
  void on_tick();
  std::size_t open() const { return open_.size(); }

 private:
  struct Open {
    Node* node;
    v1::QueueRequest request;
    CatalogIndex needs;
    Options options;
    Then then;
    TimePoint deadline;
    bool sent;
  };

  void on_reply(Node& node, v1::QueueReply& reply, SharedBytes bodies);
  void fail(std::uint64_t id, const Then& then, Code code, std::string text);

  const Duration timeout_;
  const Turn& turn_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Open> open_;
};

}  // namespace segue::router
