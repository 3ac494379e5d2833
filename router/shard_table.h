#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "common/clock.h"
#include "common/ids.h"
#include "common/logging.h"
#include "router/node_table.h"
#include "router/pending_publish.h"
#include "router/turn.h"

namespace segue::router {

/// The publishes that nodes have not answered, per shard and in order: on the way, waiting for room
/// in the node's window, or waiting for a shard that is down or blocked.
///
/// Order per shard and session never changes: what a link lost is sent again before anything newer,
/// and what a node refused for the moment is tried again only when nothing that was sent after it
/// is still open; if something newer of the same session was stored meanwhile, it is refused for
/// good. One thread.
class ShardTable {
 public:
  /// Told of answers. May not call back into the table.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// Queues may have refused some of its messages: confirm.refusals().
    virtual void on_stored(const PendingPublish& publish, const v1::ShardConfirm& confirm) = 0;
    virtual void on_refused(const PendingPublish& publish, const v1::Error& error) = 0;
    /// Publishes of the session wait for the shard, since `reason`; told once until on_resumed().
    virtual void on_waiting(SessionId session, ShardId shard, const std::string& reason) = 0;
    virtual void on_resumed(SessionId session, ShardId shard) = 0;
  };

  /// `timeout`: how long a publish waits for a shard that is down or blocked.
  ShardTable(NodeTable& nodes, Duration timeout, const Turn& turn, Listener& listener, Logger& log);

  /// Takes a publish for a shard that the node `node_id` leads; sets its batch_id.
  void submit(std::unique_ptr<PendingPublish> publish, const std::string& node_id);
  void on_confirm(Node& node, const v1::ShardConfirm& confirm);
  void on_node_up(Node& node);
  void on_node_down(Node& node);
  /// The node's `state` may have changed.
  void on_node_state(Node& node);
  /// The session is gone: what was not sent is dropped.
  void forget(PublishLedger& ledger);
  /// Refuses what has waited too long, tries again what was refused.
  void on_tick();

  /// Publishes that are on the way to a node.
  std::size_t in_flight() const { return in_flight_; }
  std::size_t pending() const;
  /// Why publishes to the shard wait; empty: they do not, as far as this router knows.
  std::string unavailable_reason(ShardId shard, Node* node) const;

 private:
  struct Peer;
  /// One shard's publishes.
  struct Line {
    ShardId shard;
    std::string node_id;
    Peer* peer = nullptr;  // null: the configuration does not have the node
    std::map<std::uint64_t, std::unique_ptr<PendingPublish>> pending;  // by batch id
    std::uint64_t next_unsent = 0;                                     // batch id
    std::size_t unsent = 0;
    std::size_t in_flight = 0;
    bool runnable = false;  // stands in the peer's queue
    // The node refused a publish for the moment, and why.
    bool held = false;
    // What is sent next tells the node that its refusals are known.
    bool resumes = false;
    std::string held_reason;
    TimePoint retry_at{};
    Duration backoff{};
    TimePoint unavailable_since{};
    std::unordered_set<SessionId> told;
  };
  /// What is on the way to one node.
  struct Peer {
    Node* node = nullptr;
    std::uint64_t window_bytes = 0;
    std::uint64_t in_flight_bytes = 0;
    std::string blocked_reason;
    std::deque<Line*> runnable;
  };
  using Pending = std::map<std::uint64_t, std::unique_ptr<PendingPublish>>;

  Peer& peer_of(Node& node);
  Line& line_of(ShardId shard, const std::string& node_id);
  std::string unavailable_reason(const Line& line) const;
  bool available(const Line& line) const;
  /// Blocked for what can last: waiting makes no sense.
  bool lasting(const Line& line) const;
  bool has_room(const Peer& peer, std::uint64_t cost) const;
  void send(Line& line, PendingPublish& publish);
  void run(Line& line);
  void pump(Peer& peer);
  void tell_waiting(Line& line);
  void tell_waiting(Line& line, const PendingPublish& publish, const std::string& reason);
  void became_unavailable(Line& line);
  void resume(Line& line);
  void try_again(Line& line);
  void on_refusal(Line& line, Pending::iterator found, const v1::ShardConfirm& confirm);
  void hold(Line& line, const v1::Error& error);
  void keep_refused(Line& line, PendingPublish& publish);
  void refuse_overtaken(Line& line, const PendingPublish& stored);
  void refuse_unsent(Line& line, Duration waited);
  void answered(Line& line, Pending::iterator found);
  Pending::iterator remove_unsent(Line& line, Pending::iterator found);
  void mark_unsent(Line& line, PendingPublish& publish);
  v1::Error refusal(const Line& line, const PendingPublish& publish) const;

  NodeTable& nodes_;
  const Duration timeout_;
  const Turn& turn_;
  Listener& listener_;
  Logger& log_;
  std::uint64_t next_number_ = 1;
  std::size_t in_flight_ = 0;
  std::map<ShardId, Line> lines_;
  std::unordered_map<Node*, Peer> peers_;
};

}  // namespace segue::router
