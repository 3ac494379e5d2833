#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "segue/v1/peer.pb.h"
#include "segue/v1/types.pb.h"

namespace segue::node {

/// A queue that a dead letter goes to. Valid until the catalog changes.
struct DeadLetterTarget {
  QueueId queue;
  ShardId shard;
  std::string_view name;
};

/// What the forwarder of dead letters needs of the node and of the cluster: where letters go, and
/// the way there. Reactor's thread.
class DeadLetterOutlets {
 public:
  virtual ~DeadLetterOutlets() = default;

  /// Sets `targets` to the queues that the exchange leads the message to, each once; to none when
  /// there is no such exchange. Returns the catalog's index as of which that is so.
  virtual CatalogIndex route(std::string_view vhost, const v1::MessageHeader& header,
                             std::vector<DeadLetterTarget>& targets) = 0;
  /// Whether the shard's node can be reached now. If not, sees to it that it is tried.
  virtual bool reachable(ShardId shard) = 0;
  /// Sends to the shard, which is reachable, at the end of the turn. Answered once. `bodies` stand
  /// back to back; the node is to know the catalog up to `needs`.
  virtual void publish(v1::ShardPublish publish, std::vector<SharedBytes> bodies,
                       CatalogIndex needs) = 0;
};

/// Who hears what became of it. Reactor's thread, not out of a call of DeadLetterOutlets.
class DeadLetterAnswers {
 public:
  virtual ~DeadLetterAnswers() = default;
  virtual void on_stored(std::uint64_t batch_id) = 0;
  /// Nothing was stored; it may be later.
  virtual void on_refused(std::uint64_t batch_id, const std::string& reason) = 0;
  /// The queue has no room, or not for all of them: what it has not taken is to be sent again.
  virtual void on_full(std::uint64_t batch_id) = 0;
  /// The link went down: it may have been stored.
  virtual void on_lost(std::uint64_t batch_id) = 0;
  /// A node can be reached that could not.
  virtual void on_reachable() = 0;
};

}  // namespace segue::node
