#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/node_link.h"
#include "node/catalog_feed.h"
#include "node/catalog_file.h"
#include "node/catalog_follower.h"
#include "node/catalog_leader.h"
#include "node/catalog_replica.h"
#include "node/catalog_start.h"
#include "node/definitions_at_start.h"
#include "node/local_log.h"
#include "node/local_queues.h"
#include "node/queue_host.h"

namespace segue::node {

/// All of the catalog on one node: the replica with its file and feed, the queues that follow from
/// it, and either the leader or the link to it. A composition; it has no rules of its own.
/// Reactor's thread.
class NodeCatalog {
 public:
  struct Options {
    CatalogLeader::Options leader;
    NodeLink::Options link;                        // to the leader; link.node_id is the leader's id
    std::string node_id;                           // this node's
    std::vector<DefinitionsDocument> definitions;  // made when this node leads
    LogIndex durable_end;  // catalog.db and the log reached this before the start, at least
  };
  struct Parts {
    storage::DiskDataCenter& disk;
    QueueHost& queues;
    PeerOutput& output;
    LinkTransport& leader_transport;
    const Clock& clock;
    Random& random;
    Logger& log;
  };

  /// What the parts refer to outlives this object.
  NodeCatalog(Options options, Parts parts);

  /// Starts with the file and with what the log has beyond it: queues are added, the leader starts.
  /// INVALID_CONFIG when the catalog does not fit the configuration; CORRUPTION; NO_SPACE.
  Status load(std::unique_ptr<storage::CatalogDb> db, const std::vector<v1::CatalogEntry>& replayed,
              LogIndex log_end);

  bool leads() const { return options_.node_id == options_.link.node_id; }
  CatalogFeed& feed() { return *feed_; }
  /// Null unless this node leads.
  CatalogLeader* leader() { return leader_.has_value() ? &*leader_ : nullptr; }
  const CatalogState& state() const { return state_; }
  CatalogIndex index() const { return state_.index(); }
  /// Empty when there is no such queue.
  std::string queue_name(QueueId queue) const;
  /// Asks the leader to delete the queue, once; it may get lost.
  void request_delete(QueueId queue);

  // ---- the loop

  /// Takes what came from the leader. True: there may be more.
  bool poll(TimePoint now) { return link_.has_value() && link_->poll(now); }
  TimePoint next_timer() const {
    return link_.has_value() ? link_->next_timer() : TimePoint::max();
  }
  void on_committed(LogIndex up_to);
  void on_tick(TimePoint now);
  /// Whether the next turn has work that waits for nothing else.
  bool wants_turn() const {
    return (queues_.has_value() && queues_->behind()) ||
           (leader_.has_value() && leader_->wants_turn()) ||
           (definitions_.has_value() && definitions_->wants_turn());
  }
  /// Logs what the turn asked for, and brings policies to queues; before the disk is flushed.
  void propose(TimePoint now);
  /// Tells followers and the file of what is applied; after commits are known.
  void publish(TimePoint now);

  /// Says goodbye to the leader and writes what is not in the file yet.
  void begin_shutdown(TimePoint now);
  bool is_written() const { return !file_->behind(); }

 private:
  Status start_leader(LogIndex log_end);
  Status check_knows_queues() const;
  void start_follower();

  Options options_;
  Parts parts_;
  CatalogState state_;
  std::optional<CatalogFile> file_;
  std::optional<CatalogFeed> feed_;
  std::optional<CatalogReplica> replica_;
  std::optional<LocalQueues> queues_;
  std::optional<LocalLog> log_;
  std::optional<CatalogLeader> leader_;
  std::optional<DefinitionsAtStart> definitions_;
  std::optional<CatalogFollower> follower_;
  std::optional<NodeLink> link_;
  bool loaded_ = false;    // the queue host was told that the catalog is complete
  bool stopping_ = false;  // the file does not wait to collect more
};

}  // namespace segue::node
