#pragma once

#include <cstdint>
#include <vector>

#include "node/consumer.h"
#include "node/message_groups.h"
#include "node/queue_table.h"
#include "node/shard_table.h"

namespace segue::node {

/// Finds what a queue with message groups gives next, and to whom; looks past messages whose group
/// is at a consumer that takes nothing now. Reactor's thread.
class GroupReader {
 public:
  /// `shards` outlives this.
  explicit GroupReader(ShardTable& shards) : shards_(shards) {}

  struct Next {
    Queue::Next next;           // as Queue::next(); kEmpty: nothing that could be given now
    Consumer* taker = nullptr;  // of the run: `consumer`, or the one whose group it is
    bool cut = false;           // the taker has no credit for more; the run may have no message
  };
  /// For the consumer whose turn it is; at most `most` messages and, but for a first one, `room`
  /// bytes of bodies.
  Next next_for(HostedQueue& hosted, Consumer& consumer, std::uint32_t most, std::uint64_t room);
  /// One message for a get: what belongs to others is looked past, whether they have credit or not.
  Queue::Next next_for_get(HostedQueue& hosted, Consumer& consumer);
  /// The run that was given last, or its beginning, is at the consumer and will be settled.
  void given(HostedQueue& hosted, Consumer& consumer, const MessageRun& run);

 private:
  enum class For : std::uint8_t { kTurn, kGet };
  Next next(HostedQueue& hosted, Consumer& consumer, std::uint32_t most, std::uint64_t room,
            For what);
  static Consumer* taker_of(const HostedQueue& hosted, MessageGroups::Key key, Consumer& consumer,
                            For what);
  /// Cuts the run to what the taker can be given.
  static void admit(Next& next, std::uint64_t room, For what);
  /// Cuts the run where it begins to be another's; fills keys_.
  void cut_to_taker(const HostedQueue& hosted, Next& next, Consumer& consumer, For what);

  ShardTable& shards_;
  std::vector<MessageGroups::Key> keys_;  // of the run that was found last
};

}  // namespace segue::node
