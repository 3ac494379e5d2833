#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"

namespace segue {

/// The shard that a queue lives on, in a cluster of `shard_count` shards (1 to kMaxShards):
/// XXH3-64(u32le length of vhost, vhost, queue name) mod shard_count.
///
/// This is part of the disk format: a change would strand every queue on the wrong shard.
/// The default virtual host is "/"; names may be any bytes.
ShardId shard_of(std::string_view vhost, std::string_view queue_name, std::uint16_t shard_count);

/// The node that each shard (by its number) is put on when a cluster is created, by rendezvous
/// hashing: the node for which XXH3-64(node id, u32le shard) is highest. Does not depend on the
/// order of the nodes; a node that is added takes only the shards that it wins, and no shard moves
/// between others. `node_ids` is not empty and has no id twice.
std::vector<std::string> place_shards(std::uint16_t shard_count,
                                      const std::vector<std::string>& node_ids);

}  // namespace segue
