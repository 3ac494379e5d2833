#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/catalog_state.h"
#include "common/ids.h"
#include "common/status.h"

namespace segue::node {

/// What a node's start finds beside catalog.db.
struct CatalogStart {
  std::vector<v1::CatalogEntry> logged;  // in order; some of them may be in catalog.db
  LogIndex durable_end;                  // catalog.db and the log reached this before, at least
  bool leads = false;                    // this node leads the catalog
  std::string cluster;                   // the configuration's
  std::uint32_t shard_count = 0;
  QueueId highest_queue;  // of those that have messages here
};

/// Whether a node may start with what catalog.db holds (`stored`): CORRUPTION when something of the
/// catalog is lost, INVALID_CONFIG when it is another cluster's. Changes nothing, so that a start
/// can be refused before it has changed anything.
Status check_catalog_start(const v1::CatalogEntry& stored, const CatalogStart& start);

// ---- the single checks; all CORRUPTION, with what to do

/// Hands the entries that the state does not have to `apply`, which is false for one that does not
/// go on where the state ends.
Status replay_catalog(const CatalogState& state, const std::vector<v1::CatalogEntry>& entries,
                      const std::function<bool(const v1::CatalogEntry&)>& apply);
Status check_reaches_durable_end(const CatalogState& state, LogIndex durable_end);
/// Queues that the catalog does not name any more were deleted. Those that it cannot know yet were
/// not: the catalog was lost, or is from an older copy.
Status check_knows_queues(const CatalogState& state, QueueId highest_queue);

}  // namespace segue::node
