#include "node/catalog_start.h"

#include "node/catalog_leader.h"

namespace segue::node {

Status check_catalog_start(const v1::CatalogEntry& stored, const CatalogStart& start) {
  CatalogState state;
  state.reset({stored}, CatalogIndex(stored.index()));
  SEGUE_RETURN_IF_ERROR(
      replay_catalog(state, start.logged, [&state](const v1::CatalogEntry& entry) {
        if (entry.index() != state.index().value + 1) return false;
        state.apply(entry);
        return true;
      }));
  SEGUE_RETURN_IF_ERROR(check_catalog_fits(state, start.cluster, start.shard_count));
  // What a follower lacks, the leader tells it.
  if (!start.leads) return {};
  SEGUE_RETURN_IF_ERROR(check_reaches_durable_end(state, start.durable_end));
  return check_knows_queues(state, start.highest_queue);
}

Status replay_catalog(const CatalogState& state, const std::vector<v1::CatalogEntry>& entries,
                      const std::function<bool(const v1::CatalogEntry&)>& apply) {
  for (const v1::CatalogEntry& entry : entries) {
    if (entry.index() <= state.index().value) continue;
    if (apply(entry)) continue;
    return Status(Code::kCorruption,
                  "catalog.db ends at " + std::to_string(state.index().value) +
                      ", but the log goes on with " + std::to_string(entry.index()) +
                      "; what is between is lost. Restore catalog.db, or remove it together with "
                      "the data of this node");
  }
  return {};
}

Status check_reaches_durable_end(const CatalogState& state, LogIndex durable_end) {
  if (state.index().value >= durable_end.value) return {};
  return Status(Code::kCorruption,
                "catalog.db and the log in wal/ end at change " +
                    std::to_string(state.index().value) + " of the catalog, but change " +
                    std::to_string(durable_end.value) +
                    " was durable: catalog.db or files of the log were removed, cut short or "
                    "replaced by older copies. Nothing was changed now: restore them, or copy "
                    "catalog.db from the node that names the highest index. To go on without what "
                    "is lost, copy the directory, then remove log_ends in it");
}

Status check_knows_queues(const CatalogState& state, QueueId highest_queue) {
  if (highest_queue.value < state.next_queue_id()) return {};
  return Status(
      Code::kCorruption,
      "catalog.db has given numbers to queues up to " + std::to_string(state.next_queue_id() - 1) +
          ", but this node has messages of queue number " + std::to_string(highest_queue.value) +
          ": catalog.db is missing, empty or from an older copy. Restore it");
}

}  // namespace segue::node
