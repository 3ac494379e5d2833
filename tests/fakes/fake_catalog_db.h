#pragma once

#include <span>
#include <utility>

#include "common/catalog_state.h"
#include "storage/catalog_db.h"

namespace segue::storage {

/// A CatalogDb in memory. One thread.
class FakeCatalogDb final : public CatalogDb {
 public:
  explicit FakeCatalogDb(CatalogState& state) : state_(state) {}

  /// Every write fails with this unless it is OK.
  Status result;
  int writes = 0;

  Result<v1::CatalogEntry> load() override {
    v1::CatalogEntry all;
    all.set_index(state_.index().value);
    for (const v1::CatalogEntry& part : state_.snapshot()) {
      for (const v1::CatalogChange& change : part.changes()) *all.add_changes() = change;
    }
    return all;
  }
  Status apply(std::span<const v1::CatalogEntry> entries) override {
    ++writes;
    SEGUE_RETURN_IF_ERROR(result);
    for (const v1::CatalogEntry& entry : entries) state_.apply(entry);
    return {};
  }
  Status replace_all(std::span<const v1::CatalogEntry> snapshot, CatalogIndex index) override {
    ++writes;
    SEGUE_RETURN_IF_ERROR(result);
    state_.reset({snapshot.begin(), snapshot.end()}, index);
    return {};
  }
  CatalogIndex applied() const override { return state_.index(); }

 private:
  CatalogState& state_;  // the "file", which outlives the object
};

}  // namespace segue::storage
