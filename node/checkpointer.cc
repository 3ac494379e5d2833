#include "node/checkpointer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace segue::node {

namespace {

constexpr Duration kTryAgain = std::chrono::seconds(1);

}  // namespace

void Checkpointer::on_tick() {
  if (shutting_down_ || clock_.now < paused_until_) return;
  const storage::DiskStats stats = disk_.stats();
  for (const ShardId shard : disk_.take_wanted_checkpoints()) {
    wanted_.insert(shard);
    todo_.push_back(shard);
  }
  const bool idle = !current_ && todo_.empty();
  if (idle && (stats.wal_bytes_since_checkpoint >= options_.wal_bytes || stats.wal_space_low)) {
    add_changed_shards();
  }
  if (clock_.now < next_age_check_) return;
  next_age_check_ = clock_.now + std::min<Duration>(std::chrono::seconds(1), options_.interval);
  for (const auto& [id, shard] : shards_.all()) {
    if (shard->applied() <= shard->checkpointed()) {
      changed_since_.erase(id);
      continue;
    }
    const auto [since, added] = changed_since_.emplace(id, clock_.now);
    if (clock_.now - since->second < options_.interval) continue;
    since->second = clock_.now;
    if (std::find(todo_.begin(), todo_.end(), id) == todo_.end()) todo_.push_back(id);
  }
}

void Checkpointer::add_changed_shards() {
  for (const auto& [id, shard] : shards_.all()) {
    if (shard->applied() > shard->checkpointed()) todo_.push_back(id);
  }
}

void Checkpointer::step() {
  if (clock_.now < paused_until_ && !shutting_down_) return;
  while (!current_ && !todo_.empty()) {
    Shard* shard = shards_.find(todo_.front());
    todo_.pop_front();
    if (shard == nullptr) continue;
    if (wanted_.erase(shard->id()) > 0 || shard->applied() > shard->checkpointed()) begin(*shard);
  }
  if (current_ && !current_->writing) {
    auto& stores = current_->stores;
    while (!stores.empty()) {
      const HostedQueue* hosted = queues_.find(stores.back().first);
      if (hosted != nullptr && !hosted->queue.is_written(stores.back().second)) break;
      stores.pop_back();
    }
    if (stores.empty()) {
      write();
    } else if (shutting_down_ && storer_.paused()) {
      // No space to store them, and no time to wait: the log still has them.
      current_.reset();
    }
  }
  if (shutting_down_ && !current_ && todo_.empty() && shutdown_done_) {
    std::exchange(shutdown_done_, nullptr)();
  }
}

void Checkpointer::begin(Shard& shard) {
  current_.emplace();
  current_->shard = shard.id();
  current_->applied = shard.applied();
  current_->state = shard.state_blob();
  Shard::UnstoredList& unstored = shard.unstored();
  for (std::size_t i = unstored.size(); i-- > 0;) {
    HostedQueue& hosted = unstored[i];
    const Sequence through = hosted.queue.applied_through();
    if (hosted.queue.is_written(through)) {
      unstored.remove(hosted);
    } else {
      current_->stores.emplace_back(hosted.queue.id(), through);
      storer_.want(hosted, through);
    }
  }
}

void Checkpointer::write() {
  current_->writing = true;
  disk_.checkpoint(current_->shard, current_->applied, std::move(current_->state),
                   [this, shard = current_->shard, applied = current_->applied](
                       const Status& status) { finished(shard, applied, status); });
}

void Checkpointer::finished(ShardId id, LogIndex applied, const Status& status) {
  current_.reset();
  if (status) {
    if (Shard* shard = shards_.find(id)) shard->set_checkpointed(applied);
    changed_since_.erase(id);
    return;
  }
  log_.error("checkpoint_failed", {{"shard", id}, {"reason", status}});
  gate_.no_space("the checkpoint of shard " + std::to_string(id.value), clock_.now);
  if (shutting_down_) return;
  todo_.push_back(id);
  paused_until_ = clock_.now + kTryAgain;
}

void Checkpointer::begin_shutdown(std::function<void()> done) {
  shutting_down_ = true;
  shutdown_done_ = std::move(done);
  todo_.clear();
  add_changed_shards();
}

}  // namespace segue::node
