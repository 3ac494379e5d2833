#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/status.h"
#include "segue/v1/catalog.pb.h"
#include "storage/failed_sync.h"
#include "storage/file_system.h"

namespace segue::storage {

/// A node's durable copy of the catalog: a SQLite file whose tables a person can read (cluster,
/// shards, exchanges, queues, bindings, policies, vhosts). What entries say is committed together
/// with their index, so that the file is always the catalog as of one index.
///
/// The door to SQLite. Blocks on the disk: for the background thread, or for start-up; one thread
/// at a time. Errors: CORRUPTION (not a catalog, damaged, of a newer version), NO_SPACE, IO_ERROR.
class CatalogDb {
 public:
  using Fatal = std::function<void(const Status&)>;

  /// Opens the file; made if missing. Syncs every commit; a sync that fails is told to `fatal`,
  /// which ends the process unless a test's returns.
  static Result<std::unique_ptr<CatalogDb>> open(const std::string& path,
                                                 const Fatal& fatal = stop_after_failed_sync);
  /// A copy of such a file's bytes (CatalogImage), thoroughly checked, to be loaded only.
  /// CORRUPTION also when there is no table in it.
  static Result<std::unique_ptr<CatalogDb>> open_image(const std::string& path,
                                                       std::string_view bytes);
  /// What open() and load() would give: an entry of index 0, without changes, if the file is
  /// missing or was only begun. The files are left as they are.
  static Result<v1::CatalogEntry> peek(FileSystem& files, const std::string& path);
  virtual ~CatalogDb() = default;

  /// Everything, as one entry of changes that make the catalog out of nothing (cluster, shards,
  /// exchanges, queues, bindings, numbers used), with the index that was applied last. Index 0:
  /// empty.
  virtual Result<v1::CatalogEntry> load() = 0;
  /// Applies entries in ONE transaction; those at or below the applied index are left out. On
  /// failure nothing of them is applied.
  virtual Status apply(std::span<const v1::CatalogEntry> entries) = 0;
  /// Forgets everything and applies a snapshot, in one transaction.
  virtual Status replace_all(std::span<const v1::CatalogEntry> snapshot, CatalogIndex index) = 0;
  /// What was applied last.
  virtual CatalogIndex applied() const = 0;
};

/// Writes a copy of a catalog's file, as of its last commit, to `to`, which must not exist; also
/// while it is in use. The copy is one file, not synced.
Status copy_catalog(const std::string& from, const std::string& to);

}  // namespace segue::storage
