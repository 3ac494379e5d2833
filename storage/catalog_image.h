#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// What a SQLite file and its write-ahead log hold together, put together in memory by whoever must
/// not write to them, as SQLite itself would.
struct CatalogImage {
  std::string bytes;  // a database file that is in no mode that needs another file
  std::uint64_t bytes_read = 0;
  /// A log whose end is damaged or half-written: no transaction that was synced is in it.
  std::optional<std::uint64_t> torn_at;
};

/// What to make of a transaction in the log that is damaged, though it was synced.
enum class DamagedCatalogLog { kRefuse, kTakeForEnd };

/// Reads `path` and `path`-wal. CORRUPTION names file and offset when a transaction in the log is
/// damaged that was synced, unless that is to be taken for the log's end, as SQLite does; IO_ERROR.
/// Memory: the file.
Result<CatalogImage> read_catalog_image(FileSystem& files, const std::string& path,
                                        DamagedCatalogLog damaged = DamagedCatalogLog::kRefuse);

}  // namespace segue::storage
