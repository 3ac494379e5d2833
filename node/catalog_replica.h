#pragma once

#include <vector>

#include "common/catalog_state.h"
#include "node/catalog_feed.h"
#include "node/catalog_file.h"

namespace segue::node {

/// A node's copy of the catalog: what is committed is applied to the state in memory, handed to
/// catalog.db and to the followers, in this order. The same on the leader and elsewhere; only where
/// the entries come from differs. Reactor's thread.
class CatalogReplica {
 public:
  /// The references outlive the replica.
  CatalogReplica(CatalogState& state, CatalogFile& file, CatalogFeed& feed)
      : state_(state), file_(file), feed_(feed) {}

  const CatalogState& state() const { return state_; }

  /// A committed entry. False, and nothing changes, unless it is the next one.
  bool apply(const v1::CatalogEntry& entry) {
    if (entry.index() != state_.index().value + 1) return false;
    state_.apply(entry);
    file_.add(entry);
    feed_.on_entry(entry);
    return true;
  }
  /// A snapshot in place of everything.
  void reset(const std::vector<v1::CatalogEntry>& snapshot, CatalogIndex index) {
    state_.reset(snapshot, index);
    file_.replace();
    feed_.on_reset();
  }

 private:
  CatalogState& state_;
  CatalogFile& file_;
  CatalogFeed& feed_;
};

}  // namespace segue::node
