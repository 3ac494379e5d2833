#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/file_system.h"
#include "storage/repair_work.h"
#include "storage/shard_repair.h"
#include "storage/wal_salvage.h"

namespace segue::storage {

struct DataRepairOptions {
  RepairWork::Told told;  // each step, before it is done
  /// The folder, in each node's directory, for what is taken out or written over.
  std::string folder;
  /// For the new checkpoint of a shard.
  ShardRepair::MakeState shard_state;
  /// What a record of a shard's log says of messages.
  WalSalvage::Interpret interpret;
  /// A command of a shard's log that changes nothing.
  std::string filler;
};

struct RepairTotals {
  std::uint64_t nodes = 0;
  std::uint64_t repairs = 0;
  std::uint64_t left = 0;  // what could not be repaired
  bool kept = false;       // something was put into the folder
  RepairLoss loss;
};

/// Makes the data directory of a node (or those of the nodes right below) one that a node starts
/// on, with as much as can be kept: for damage of checkpoints, the log, indexes, copies, log_ends
/// and, where another node leads the catalog, catalog.db. What needs no repair stays as it is; what
/// is replaced is kept in `folder`. May be interrupted and run again. A rehearsal of it works on a
/// RehearsalFileSystem.
///
/// INVALID_CONFIG when a node runs on it, or there is no node's data; IO_ERROR, NO_SPACE.
Result<RepairTotals> repair_data(FileSystem& files, const std::string& directory,
                                 const DataRepairOptions& options);

}  // namespace segue::storage
