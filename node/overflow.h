#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/message_batch.h"
#include "node/queue_table.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// Which messages of a batch a queue has no room for, now that what was proposed before is there
/// already. `places` are those that it is to get (all if empty); those that it refuses are taken
/// out of it and appended to `refused`. False: none is left to be taken. Only for a queue whose
/// limits reject.
bool refuse_overflow(const HostedQueue& hosted, const MessageBatch& batch,
                     std::vector<std::uint32_t>& places, std::vector<std::uint32_t>& refused);

/// Bytes of the bodies of messages at `places` (all if empty).
std::uint64_t body_bytes_at(const MessageBatch& batch, const std::vector<std::uint32_t>& places);

/// Why, for the producer.
v1::Error overflow_error(const HostedQueue& hosted);

/// Messages that some queues of a shard took and others refused, by producer and seq, until the
/// producer has its answer: what is sent again is told the same. In memory: a node that crashes
/// between the log and the answer forgets it. Reactor's thread.
class PartRefusals {
 public:
  void add(const std::string& producer, std::uint64_t seq, QueueId queue);
  /// Those that refused this message.
  const std::vector<QueueId>* find(const std::string& producer, std::uint64_t seq) const;
  /// The producer has all answers below.
  void forget_below(const std::string& producer, std::uint64_t seq);
  bool empty() const { return producers_.empty(); }

 private:
  std::map<std::string, std::map<std::uint64_t, std::vector<QueueId>>> producers_;
};

}  // namespace segue::node
