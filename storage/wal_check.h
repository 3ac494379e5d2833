#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "storage/check_report.h"
#include "storage/file_system.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

/// Verifies the write-ahead log as recovery reads it, and the headers of all its files. Calls
/// `record` for each record that the next start would replay. Nothing if the log is damaged or
/// cannot be read. Memory: one group.
std::optional<RecoveredWal> check_wal(FileSystem& files, CheckReport& report,
                                      const WalRecoveryOptions& options,
                                      const std::function<void(const ReplayedRecord&)>& record);

/// The node that the first readable file of the log names, for when nothing else does.
std::optional<std::uint64_t> node_hash_in_wal(FileSystem& files, const std::string& directory);

}  // namespace segue::storage
