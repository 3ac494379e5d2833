#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "common/catalog_state.h"
#include "node/peer_output.h"
#include "segue/v1/peer.pb.h"

namespace segue::node {

/// Tells followers (routers, other nodes) what changes in the catalog: entries from where they are,
/// or the whole as a snapshot when they are too far back. Keeps the latest entries for that. No
/// I/O; reactor's thread.
class CatalogFeed {
 public:
  struct Options {
    std::size_t tail_bytes = 4 << 20;  // of the entries kept
    std::size_t feed_bytes = 1 << 20;  // of one message of the feed, about
    std::size_t snapshot_changes = 5'000;
    /// The state is the leader's: a follower that is ahead of it has another history, and gets a
    /// snapshot. Otherwise it just waits.
    bool leads = false;
  };

  /// The references outlive the feed.
  CatalogFeed(const Options& options, const CatalogState& state, PeerOutput& output)
      : options_(options), state_(state), output_(output), tail_begin_(state.index()) {}

  /// Of the state.
  CatalogIndex index() const { return state_.index(); }
  /// Answered in the next end_turn(), if with nothing new.
  void follow(PeerId peer, CatalogIndex after);
  void on_peer_lost(PeerId peer) { followers_.erase(peer); }
  /// The entry was applied to the state.
  void on_entry(const v1::CatalogEntry& entry);
  /// The state was replaced by a snapshot.
  void on_reset();
  /// Sends what followers do not have; once in every turn of the loop.
  void end_turn();

 private:
  struct Follower {
    CatalogIndex sent;
    bool answer_due = true;
    bool snapshot_due = false;
  };

  void update(PeerId peer, Follower& follower, std::vector<v1::CatalogEntry>& snapshot);
  void send_tail(PeerId peer, CatalogIndex after);
  void send_snapshot(PeerId peer, const std::vector<v1::CatalogEntry>& snapshot);

  Options options_;
  const CatalogState& state_;
  PeerOutput& output_;
  std::map<PeerId, Follower> followers_;
  std::deque<v1::CatalogEntry> tail_;
  std::size_t tail_bytes_ = 0;
  CatalogIndex tail_begin_;  // the tail has everything after it
  bool changed_ = false;
};

}  // namespace segue::node
