#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/catalog_state.h"
#include "common/clock.h"
#include "common/logging.h"
#include "storage/catalog_db.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Brings what is applied into catalog.db, behind the reactor's back: entries are collected for a
/// moment and written in one transaction on the disk's background thread. A failed write is tried
/// again; when too much waits, the whole state is written instead. Reactor's thread; the disk is
/// stopped before this object goes.
class CatalogFile {
 public:
  /// Everything up to the index is in the file.
  using Durable = std::function<void(CatalogIndex)>;

  /// `state` is what the entries are applied to; the references outlive this object.
  CatalogFile(std::unique_ptr<storage::CatalogDb> db, const CatalogState& state,
              storage::DiskDataCenter& disk, Logger& log, Durable durable);

  /// An entry was applied to the state.
  void add(const v1::CatalogEntry& entry);
  /// The state was replaced as a whole.
  void replace();
  /// Starts a write when one is due; `at_once` does not wait to collect more.
  void on_turn(TimePoint now, bool at_once = false);
  /// Whether something is not in the file yet.
  bool behind() const { return writing_ || replace_ || !waiting_.empty(); }

 private:
  void write();
  void on_written(const Status& result, bool replaced, CatalogIndex index,
                  std::vector<v1::CatalogEntry> entries);

  const std::shared_ptr<storage::CatalogDb> db_;
  const CatalogState& state_;
  storage::DiskDataCenter& disk_;
  Logger& log_;
  Durable durable_;
  std::vector<v1::CatalogEntry> waiting_;
  std::size_t waiting_changes_ = 0;
  bool replace_ = false;
  bool writing_ = false;
  TimePoint now_{};
  TimePoint not_before_{};
};

}  // namespace segue::node
