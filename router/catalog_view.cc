#include "router/catalog_view.h"

#include <algorithm>
#include <set>

#include "common/bytes.h"
#include "router/errors.h"

namespace segue::router {

namespace {

// Routes that are remembered at most, and how long the names of one may be.
constexpr std::size_t kMaxRoutes = 16 << 10;
constexpr std::size_t kMaxRouteKey = 1024;

}  // namespace

CatalogView::CatalogView(const Turn& turn, Duration leader_patience)
    : turn_(turn), leader_patience_(leader_patience), compiled_(state_) {
  state_.set_listener(this);
}

CatalogView::~CatalogView() {
  state_.set_listener(nullptr);
}

void CatalogView::apply(const v1::CatalogEntry& entry) {
  if (entry.index() <= state_.index().value) return;
  applying_ = CatalogIndex(entry.index());
  routes_.clear();
  state_.apply(entry);
  wake_waiters();
}

void CatalogView::replace(const std::vector<v1::CatalogEntry>& snapshot, CatalogIndex index) {
  routes_.clear();
  compiled_.clear();
  created_at_.clear();
  snapshot_index_ = index;
  policies_at_ = index;
  applying_ = index;
  state_.reset(snapshot, index);
  wake_waiters();
}

void CatalogView::on_change(const v1::CatalogChange& change) {
  compiled_.on_change(change);
  switch (change.kind_case()) {
    case v1::CatalogChange::kQueueCreated:
      created_at_[QueueId(change.queue_created().id())] = applying_;
      count_queue(change.queue_created());
      if (observer_ != nullptr) observer_->on_queue_created(change.queue_created());
      break;
    case v1::CatalogChange::kQueueUpdated:
      created_at_[QueueId(change.queue_updated().id())] = applying_;
      break;
    case v1::CatalogChange::kQueueDeleted:
      created_at_.erase(QueueId(change.queue_deleted()));
      if (const auto shard = shard_of_queue_.find(QueueId(change.queue_deleted()));
          shard != shard_of_queue_.end()) {
        --queues_by_shard_[shard->second];
        shard_of_queue_.erase(shard);
      }
      if (observer_ != nullptr) observer_->on_queue_deleted(QueueId(change.queue_deleted()));
      break;
    case v1::CatalogChange::kVhostDeleted:
      if (observer_ != nullptr) observer_->on_vhost_deleted();
      break;
    case v1::CatalogChange::kPolicySet:
    case v1::CatalogChange::kPolicyDeleted:
      policies_at_ = applying_;
      break;
    default:
      break;
  }
}

void CatalogView::count_queue(const v1::QueueDefinition& queue) {
  if (queue.shard() >= kMaxShards) return;
  if (!shard_of_queue_.emplace(QueueId(queue.id()), queue.shard()).second) return;
  if (queues_by_shard_.size() <= queue.shard()) queues_by_shard_.resize(queue.shard() + 1);
  ++queues_by_shard_[queue.shard()];
}

void CatalogView::on_reset() {
  shard_of_queue_.clear();
  queues_by_shard_.clear();
  std::set<std::string> nodes;
  for (std::uint32_t shard = 0; shard < state_.shard_count(); ++shard) {
    nodes.insert(state_.node_of(ShardId(static_cast<std::uint16_t>(shard))));
  }
  for (const std::string& node : nodes) {
    for (const v1::QueueDefinition* queue : state_.queues_on(node)) count_queue(*queue);
  }
  if (observer_ != nullptr) observer_->on_catalog_replaced();
}

Status CatalogView::not_found(std::string text) const {
  if (complete_) return Status(Code::kNotFound, std::move(text));
  return Status(
      Code::kCatalogUnavailable,
      std::move(text) +
          " as far as this router knows, but it has not met the catalog's leader since it "
          "started, and may be behind; start the leader (segue status names it)");
}

std::shared_ptr<const Route> CatalogView::route(std::string_view vhost, std::string_view exchange,
                                                const RoutedMessage& message) {
  bool by_key_alone = true;
  if (vhost.size() + exchange.size() + message.routing_key.size() > kMaxRouteKey) {
    return compute(vhost, exchange, message, by_key_alone);
  }
  route_key_.clear();
  append_le(route_key_, static_cast<std::uint16_t>(vhost.size()));
  append_le(route_key_, static_cast<std::uint16_t>(exchange.size()));
  route_key_.append(vhost).append(exchange).append(message.routing_key);
  const auto known = routes_.find(route_key_);
  if (known != routes_.end()) return known->second;
  std::shared_ptr<const Route> route = compute(vhost, exchange, message, by_key_alone);
  if (!by_key_alone) return route;
  if (routes_.size() >= kMaxRoutes) routes_.clear();
  return routes_[route_key_] = std::move(route);
}

std::shared_ptr<const Route> CatalogView::compute(std::string_view vhost, std::string_view exchange,
                                                  const RoutedMessage& message,
                                                  bool& by_key_alone) {
  auto route = std::make_shared<Route>();
  const v1::ExchangeDefinition* definition = state_.find_exchange(vhost, exchange);
  if (definition == nullptr) {
    route->status = Status(Code::kNotFound, "no exchange " + in_quotes(exchange));
    return route;
  }
  if (definition->internal()) {
    route->status =
        Status(Code::kAccessRefused, "exchange " + in_quotes(exchange) +
                                         " is internal: it takes messages from exchanges only");
    return route;
  }
  std::vector<QueueId> queues;
  by_key_alone = compiled_.match(*definition, message, queues);
  for (const QueueId queue : queues) {
    const v1::QueueDefinition* found = state_.find_queue(queue);
    if (found == nullptr) continue;
    route->targets.push_back({queue, ShardId(static_cast<std::uint16_t>(found->shard()))});
    route->needs = std::max(route->needs, needed_for(queue));
  }
  std::sort(route->targets.begin(), route->targets.end(),
            [](const Route::Target& a, const Route::Target& b) {
              return a.shard != b.shard ? a.shard < b.shard : a.queue < b.queue;
            });
  return route;
}

CatalogIndex CatalogView::needed_for(QueueId queue) const {
  const auto created = created_at_.find(queue);
  const CatalogIndex queue_at = created == created_at_.end() ? snapshot_index_ : created->second;
  // A policy is in force for what comes after it.
  return std::max(queue_at, policies_at_);
}

std::string CatalogView::queue_name(QueueId queue) const {
  const v1::QueueDefinition* definition = state_.find_queue(queue);
  return definition != nullptr ? definition->name() : "queue " + std::to_string(queue.value);
}

void CatalogView::when_reached(CatalogIndex index, TimePoint deadline,
                               std::function<void(bool)> then) {
  if (!leader_awaited_until_) leader_awaited_until_ = turn_.now + leader_patience_;
  if (index <= state_.index() && settled()) {
    then(true);
    return;
  }
  waiters_.emplace(index, Waiter{deadline, std::move(then)});
}

bool CatalogView::settled() const {
  return complete_ || (leader_awaited_until_ && turn_.now >= *leader_awaited_until_);
}

void CatalogView::set_complete() {
  complete_ = true;
  wake_waiters();
}

void CatalogView::wake_waiters() {
  while (settled() && !waiters_.empty() && waiters_.begin()->first <= state_.index()) {
    const auto then = std::move(waiters_.begin()->second.then);
    waiters_.erase(waiters_.begin());
    then(true);
  }
}

void CatalogView::on_tick() {
  wake_waiters();
  std::vector<std::function<void(bool)>> late;
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    if (waiter->second.deadline <= turn_.now) {
      late.push_back(std::move(waiter->second.then));
      waiter = waiters_.erase(waiter);
    } else {
      ++waiter;
    }
  }
  for (const auto& then : late) then(false);
}

}  // namespace segue::router
