#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/ids.h"
#include "common/message_batch.h"
#include "router/catalog_view.h"
#include "segue/v1/peer.pb.h"

namespace segue::router {

/// The messages of a client's batch that go to queues of one shard.
struct ShardPart {
  ShardId shard;
  /// Places in the client's batch, rising. Empty: every message.
  std::vector<std::uint32_t> places;
  /// As in ShardPublish.targets; places are those in the part.
  std::vector<v1::QueueTarget> targets;
  CatalogIndex needs;
};

/// All messages have this route.
std::vector<ShardPart> split_uniform(const Route& route);

/// `routes[i]` is where message begin + i goes; null for one that goes nowhere. The parts come in
/// the order of their shards.
std::vector<ShardPart> split_by_shard(const std::vector<const Route*>& routes, std::uint32_t begin,
                                      std::uint32_t batch_count);

/// The part as a batch of its own, with the bodies in one piece. The client's own bytes when the
/// part is the whole batch; else copied, so that a part that waits does not keep the whole batch in
/// memory.
struct PartBatch {
  std::string batch;
  SharedBytes bodies;
};
PartBatch batch_of(const ShardPart& part, const MessageBatchPtr& batch);

}  // namespace segue::router
