#include "node/catalog_feed.h"

namespace segue::node {

void CatalogFeed::follow(PeerId peer, CatalogIndex after) {
  Follower follower;
  follower.sent = after;
  follower.snapshot_due = options_.leads && after > state_.index();
  followers_[peer] = follower;
  changed_ = true;
}

void CatalogFeed::on_entry(const v1::CatalogEntry& entry) {
  changed_ = true;
  tail_.push_back(entry);
  tail_bytes_ += entry.ByteSizeLong();
  while (tail_bytes_ > options_.tail_bytes) {
    tail_bytes_ -= tail_.front().ByteSizeLong();
    tail_begin_ = CatalogIndex(tail_.front().index());
    tail_.pop_front();
  }
}

void CatalogFeed::on_reset() {
  changed_ = true;
  tail_.clear();
  tail_bytes_ = 0;
  tail_begin_ = state_.index();
  for (auto& [peer, follower] : followers_) follower.snapshot_due = true;
}

void CatalogFeed::end_turn() {
  if (!changed_) return;
  changed_ = false;
  std::vector<v1::CatalogEntry> snapshot;  // made once for all who need it
  for (auto& [peer, follower] : followers_) update(peer, follower, snapshot);
}

void CatalogFeed::update(PeerId peer, Follower& follower, std::vector<v1::CatalogEntry>& snapshot) {
  if (follower.snapshot_due || follower.sent < tail_begin_) {
    if (snapshot.empty()) snapshot = state_.snapshot(options_.snapshot_changes);
    send_snapshot(peer, snapshot);
  } else if (follower.sent < state_.index()) {
    send_tail(peer, follower.sent);
  } else if (follower.answer_due && follower.sent == state_.index()) {
    output_.catalog_feed(peer, v1::CatalogFeed());
  } else {
    return;
  }
  follower = Follower{state_.index(), false, false};
}

void CatalogFeed::send_tail(PeerId peer, CatalogIndex after) {
  v1::CatalogFeed feed;
  std::size_t bytes = 0;
  // The tail has no holes, so that the first entry to send is counted from its end.
  const std::size_t missing = state_.index().value - after.value;
  for (auto entry = tail_.end() - static_cast<std::ptrdiff_t>(missing); entry != tail_.end();
       ++entry) {
    *feed.add_entries() = *entry;
    bytes += entry->ByteSizeLong();
    if (bytes < options_.feed_bytes) continue;
    output_.catalog_feed(peer, std::move(feed));
    feed = {};
    bytes = 0;
  }
  if (feed.entries_size() > 0) output_.catalog_feed(peer, std::move(feed));
}

void CatalogFeed::send_snapshot(PeerId peer, const std::vector<v1::CatalogEntry>& snapshot) {
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    v1::CatalogFeed feed;
    *feed.add_entries() = snapshot[i];
    feed.set_snapshot(true);
    feed.set_snapshot_end(i + 1 == snapshot.size());
    output_.catalog_feed(peer, std::move(feed));
  }
}

}  // namespace segue::node
