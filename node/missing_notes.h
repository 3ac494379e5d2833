#pragma once

#include "node/shard_commands.h"
#include "storage/missing_messages.h"

namespace segue::node {

/// Tells `missing` what a command of a shard's log says of its messages: that the log has them,
/// that they were settled, or that their queue was deleted.
void note_in_log(const ShardCommand& command, storage::MissingMessages& missing);

}  // namespace segue::node
