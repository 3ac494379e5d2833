#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/bytes.h"
#include "common/message_batch.h"
#include "common/status.h"
#include "node/memory_budget.h"
#include "node/range_set.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// A ShardPublish after its checks: nothing in it can trip what comes after.
struct CheckedPublish {
  MessageBatchPtr batch;
  /// Each message's seq, if they are not first_seq, + 1, ...; rising.
  std::vector<std::uint64_t> listed_seqs;
  NumberRange seqs;  // the lowest and the highest
};

/// Parses the batch and checks it, the seqs and the targets' places. FRAME_ERROR names the field
/// that is wrong.
Result<CheckedPublish> check_publish(const v1::ShardPublish& publish, SharedBytes bodies,
                                     MemoryBudget& memory);

/// The seqs of the messages at `places` (all if empty) as ranges.
std::vector<NumberRange> seq_ranges(const CheckedPublish& publish,
                                    std::span<const std::uint32_t> places);

/// Which of the target's messages are among `fresh`; both rise. An empty target names all.
std::vector<std::uint32_t> fresh_places(const v1::QueueTarget& target,
                                        const std::vector<std::uint32_t>& fresh);

}  // namespace segue::node
