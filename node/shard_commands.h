#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "common/message_batch.h"
#include "common/status.h"
#include "node/dedupe_limits.h"
#include "node/range_set.h"
#include "segue/v1/types.pb.h"

namespace segue::node {

// The commands of a shard's log (common/proto/segue/v1/shard_log.proto), decoded: what a shard
// proposes and what it applies, live and at a replay.

struct EnqueueTarget {
  QueueId queue;
  Sequence first;
  std::vector<std::uint32_t> places;    // in the batch; empty: every message
  Sequence mark;                        // 0: none
  DedupeLimits dedupe{};                // of the window where the messages' ids are; none: in none
  std::uint64_t first_dead_number = 0;  // not 0: dead letters from the beginning

  std::uint32_t count(const MessageBatch& batch) const {
    return places.empty() ? batch.count() : static_cast<std::uint32_t>(places.size());
  }
};

struct QueueRanges {
  QueueId queue;
  std::vector<NumberRange> sequences;
};

struct EnqueueCommand {
  std::int64_t time_ms = 0;
  std::string producer_id;  // empty: no dedupe
  std::uint64_t producer_session = 0;
  std::uint64_t settled_below = 0;
  std::vector<NumberRange> seqs;
  std::vector<EnqueueTarget> targets;
  MessageBatchPtr batch;  // null only without targets: the seqs are noted
  /// Not empty: their delay is over, and these leave that delay lane.
  QueueRanges taken{};
};

struct SettleCommand {
  std::vector<QueueRanges> queues;
};

struct RequeueCommand {
  std::vector<QueueRanges> queues;
};

struct DeleteQueueCommand {
  QueueId queue;
};

struct DeliveryMarkCommand {
  QueueId queue;
  Sequence mark;
};

struct DeadRanges {
  QueueId queue;
  std::uint64_t first_number = 0;  // the others follow by one each, in the order of the ranges
  std::vector<NumberRange> sequences;
};

struct DeadLetterCommand {
  std::int64_t time_ms = 0;
  v1::DeadReason reason = v1::DEAD_REASON_UNSPECIFIED;
  std::vector<DeadRanges> queues;
};

using ShardCommand = std::variant<EnqueueCommand, SettleCommand, RequeueCommand, DeleteQueueCommand,
                                  DeliveryMarkCommand, DeadLetterCommand>;

/// The command's bytes for the log; an enqueue's bodies follow it there.
std::string encode_command(const ShardCommand& command);
/// The command, checked so that applying it trips nothing: ranges in order, places in the batch.
/// CORRUPTION says what is wrong.
Result<ShardCommand> decode_command(const SharedBytes& command, SharedBytes bodies);

}  // namespace segue::node
