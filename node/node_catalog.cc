#include "node/node_catalog.h"

#include <algorithm>
#include <utility>

namespace segue::node {

NodeCatalog::NodeCatalog(Options options, Parts parts)
    : options_(std::move(options)), parts_(parts) {}

Status NodeCatalog::load(std::unique_ptr<storage::CatalogDb> db,
                         const std::vector<v1::CatalogEntry>& replayed, LogIndex log_end) {
  Result<v1::CatalogEntry> stored = db->load();
  if (!stored.is_ok()) return stored.status();
  state_.reset({stored.value()}, CatalogIndex(stored->index()));

  file_.emplace(std::move(db), state_, parts_.disk, parts_.log, [this](CatalogIndex durable) {
    if (leads()) parts_.disk.release_log(kCatalogShard, LogIndex(durable.value));
  });
  CatalogFeed::Options feed_options;
  feed_options.leads = leads();
  feed_.emplace(feed_options, state_, parts_.output);
  replica_.emplace(state_, *file_, *feed_);
  SEGUE_RETURN_IF_ERROR(replay_catalog(
      state_, replayed, [this](const v1::CatalogEntry& entry) { return replica_->apply(entry); }));
  SEGUE_RETURN_IF_ERROR(
      check_catalog_fits(state_, options_.leader.cluster, options_.leader.shard_count));

  queues_.emplace(
      state_, options_.node_id,
      [this](const v1::QueueDefinition& queue) { parts_.queues.add_queue(queue); },
      [this](QueueId queue) { parts_.queues.remove_queue(queue); });
  queues_->on_reset();
  parts_.queues.follow_policies(*queues_);
  parts_.log.info(
      "catalog_loaded",
      {{"index", state_.index()}, {"queues", state_.queue_count()}, {"leads", leads()}});
  // Recovery counts records as needed until it is told which are in the file.
  const LogIndex stored_to(stored->index());
  parts_.disk.release_log(kCatalogShard, leads() ? std::min(stored_to, log_end) : log_end);
  if (leads()) return start_leader(log_end);
  start_follower();
  return {};
}

Status NodeCatalog::start_leader(LogIndex log_end) {
  SEGUE_RETURN_IF_ERROR(check_reaches_durable_end(state_, options_.durable_end));
  // The log may have been released as a whole: the file then knows better where it ends.
  const LogIndex end(std::max(log_end.value, state_.index().value));
  log_.emplace(parts_.disk, kCatalogShard, end);
  leader_.emplace(options_.leader, *log_, parts_.random, parts_.log,
                  [this](const v1::CatalogEntry& entry) { SEGUE_CHECK(replica_->apply(entry)); });
  SEGUE_RETURN_IF_ERROR(leader_->start(state_, parts_.clock.now()));
  SEGUE_RETURN_IF_ERROR(check_knows_queues());
  if (!options_.definitions.empty()) {
    definitions_.emplace(std::exchange(options_.definitions, {}), *leader_, parts_.log);
  }
  parts_.queues.end_of_catalog_load();
  loaded_ = true;
  return {};
}

Status NodeCatalog::check_knows_queues() const {
  return node::check_knows_queues(state_, parts_.queues.highest_queue());
}

void NodeCatalog::start_follower() {
  // The file may be a moment behind what this node had applied before it stopped: which queues are
  // gone is known only when the leader has answered.
  follower_.emplace(*replica_, parts_.clock, parts_.log, [this] {
    if (loaded_) return;
    if (const Status knows = check_knows_queues(); !knows) {
      // Nothing is dropped; what the catalog does not name is not served either.
      parts_.log.error("catalog_does_not_know_queues", {{"reason", knows}});
      return;
    }
    loaded_ = true;
    parts_.queues.end_of_catalog_load();
  });
  link_.emplace(options_.link, parts_.leader_transport, *follower_, parts_.random, parts_.log);
  follower_->set_link(&*link_);
}

std::string NodeCatalog::queue_name(QueueId queue) const {
  const v1::QueueDefinition* definition = state_.find_queue(queue);
  return definition == nullptr ? std::string() : definition->name();
}

void NodeCatalog::request_delete(QueueId queue) {
  const v1::QueueDefinition* definition = state_.find_queue(queue);
  if (definition == nullptr) return;
  v1::CatalogOperation operation;
  operation.mutable_delete_queue()->set_vhost(definition->vhost());
  operation.mutable_delete_queue()->set_name(definition->name());
  operation.mutable_delete_queue()->set_id(queue.value);
  if (leader_.has_value()) {
    (void)leader_->submit(operation, [](const v1::CatalogOutcome&) {});
  } else if (follower_.has_value()) {
    follower_->request(operation);
  }
}

void NodeCatalog::on_committed(LogIndex up_to) {
  if (leader_.has_value()) leader_->on_committed(up_to);
}

void NodeCatalog::on_tick(TimePoint now) {
  if (leader_.has_value()) leader_->on_tick(now);
}

void NodeCatalog::propose(TimePoint now) {
  if (leader_.has_value()) {
    leader_->step();
    if (definitions_.has_value()) definitions_->step(now);
    leader_->end_turn();
  }
  if (queues_.has_value()) queues_->step();
}

void NodeCatalog::publish(TimePoint now) {
  const bool held = definitions_.has_value() && definitions_->holds_catalog_back();
  if (!held) feed_->end_turn();
  file_->on_turn(now, stopping_);
}

void NodeCatalog::begin_shutdown(TimePoint now) {
  stopping_ = true;
  if (link_.has_value()) link_->close(now);
}

}  // namespace segue::node
