#include "common/catalog_state.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>

#include "common/bytes.h"

namespace segue {
namespace {

void append_sized(std::string& to, std::string_view part) {
  append_le(to, static_cast<std::uint32_t>(part.size()));
  to += part;
}

template <typename Map>
std::vector<std::uint64_t> numbers_in(const Map& map, std::string_view vhost,
                                      std::string_view name) {
  std::vector<std::uint64_t> numbers;
  const auto found = map.find({std::string(vhost), std::string(name)});
  if (found == map.end()) return numbers;
  numbers.reserve(found->second.size());
  for (const auto& [number, present] : found->second) numbers.push_back(number);
  return numbers;
}

template <typename Map, typename Key>
void erase_number(Map& map, const Key& key, typename Map::mapped_type::key_type number) {
  const auto found = map.find(key);
  if (found == map.end()) return;
  found->second.erase(number);
  if (found->second.empty()) map.erase(found);
}

/// Cuts a snapshot's changes into entries.
class SnapshotWriter {
 public:
  SnapshotWriter(CatalogIndex index, std::size_t changes_each)
      : index_(index), changes_each_(std::max<std::size_t>(1, changes_each)) {}

  v1::CatalogChange* add() {
    if (entries_.empty() ||
        static_cast<std::size_t>(entries_.back().changes_size()) >= changes_each_) {
      entries_.emplace_back().set_index(index_.value);
    }
    return entries_.back().add_changes();
  }
  std::vector<v1::CatalogEntry> take() { return std::move(entries_); }

 private:
  CatalogIndex index_;
  std::size_t changes_each_;
  std::vector<v1::CatalogEntry> entries_;
};

constexpr std::pair<const char*, const char*> kPredeclared[] = {{"", "direct"},
                                                                {"amq.direct", "direct"},
                                                                {"amq.fanout", "fanout"},
                                                                {"amq.topic", "topic"},
                                                                {"amq.headers", "headers"}};

bool is_predeclared(const v1::ExchangeDefinition& exchange) {
  return exchange.name().empty() ||
         std::string_view(exchange.name()).starts_with(kReservedNamePrefix);
}

}  // namespace

std::string canonical_arguments(
    const google::protobuf::Map<std::string, v1::FieldValue>& arguments) {
  std::string bytes;
  if (arguments.empty()) return bytes;
  v1::FieldTable table;
  *table.mutable_fields() = arguments;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  table.SerializeToCodedStream(&coded);
  return bytes;
}

std::string binding_identity(const v1::BindingDefinition& binding) {
  std::string identity;
  identity.reserve(16 + binding.vhost().size() + binding.exchange().size() +
                   binding.queue().size() + binding.routing_key().size());
  append_sized(identity, binding.vhost());
  append_sized(identity, binding.exchange());
  append_sized(identity, binding.queue());
  append_sized(identity, binding.to_exchange());
  append_sized(identity, binding.routing_key());
  identity += canonical_arguments(binding.arguments());
  return identity;
}

CatalogState::CatalogState() {
  remove_vhost(std::string(kDefaultVhost));
}

void CatalogState::set_vhost(const v1::VhostDefinition& definition) {
  const auto [at, added] = vhosts_.insert_or_assign(definition.name(), definition);
  if (added) add_predeclared(at->first);
}

void CatalogState::remove_vhost(const std::string& name) {
  vhosts_.erase(name);
  for (const auto& [exchange, type] : kPredeclared) exchanges_.erase({name, exchange});
  if (name != kDefaultVhost) return;
  // It can only lose its limits.
  v1::VhostDefinition always;
  always.set_name(name);
  set_vhost(always);
}

void CatalogState::add_predeclared(const std::string& vhost) {
  for (const auto& [name, type] : kPredeclared) {
    v1::ExchangeDefinition& exchange = exchanges_[{vhost, name}];
    exchange.set_vhost(vhost);
    exchange.set_name(name);
    exchange.set_type(type);
    exchange.set_durable(true);
  }
}

void CatalogState::clear() {
  cluster_.clear();
  shard_nodes_.clear();
  exchanges_.clear();
  queues_.clear();
  queues_by_id_.clear();
  bindings_.clear();
  binding_numbers_.clear();
  bindings_by_exchange_.clear();
  bindings_by_queue_.clear();
  bindings_by_to_exchange_.clear();
  owned_queues_.clear();
  queues_by_vhost_.clear();
  policies_.clear();
  vhosts_.clear();
  next_queue_id_ = 1;
  next_binding_number_ = 1;
  remove_vhost(std::string(kDefaultVhost));
}

bool CatalogState::apply(const v1::CatalogEntry& entry) {
  if (entry.index() <= index_.value) return false;
  index_ = CatalogIndex(entry.index());
  for (const v1::CatalogChange& change : entry.changes()) {
    apply_change(change);
    if (listener_ != nullptr) listener_->on_change(change);
  }
  return true;
}

void CatalogState::reset(const std::vector<v1::CatalogEntry>& snapshot, CatalogIndex index) {
  clear();
  index_ = index;
  for (const v1::CatalogEntry& entry : snapshot) {
    for (const v1::CatalogChange& change : entry.changes()) apply_change(change);
  }
  if (listener_ != nullptr) listener_->on_reset();
}

void CatalogState::apply_change(const v1::CatalogChange& change) {
  switch (change.kind_case()) {
    case v1::CatalogChange::kClusterCreated:
      cluster_ = change.cluster_created().cluster();
      shard_nodes_.assign(
          std::min<std::uint32_t>(change.cluster_created().shard_count(), kMaxShards), "");
      break;
    case v1::CatalogChange::kShardAssigned:
      if (change.shard_assigned().shard() < shard_nodes_.size()) {
        shard_nodes_[change.shard_assigned().shard()] = change.shard_assigned().node();
      }
      break;
    case v1::CatalogChange::kExchangeCreated: {
      const v1::ExchangeDefinition& exchange = change.exchange_created();
      exchanges_[{exchange.vhost(), exchange.name()}] = exchange;
      break;
    }
    case v1::CatalogChange::kExchangeDeleted:
      exchanges_.erase({change.exchange_deleted().vhost(), change.exchange_deleted().name()});
      break;
    case v1::CatalogChange::kQueueCreated:
      add_queue(change.queue_created());
      break;
    case v1::CatalogChange::kQueueUpdated:
      update_queue(change.queue_updated());
      break;
    case v1::CatalogChange::kQueueDeleted:
      remove_queue(QueueId(change.queue_deleted()));
      break;
    case v1::CatalogChange::kBindingCreated:
      add_binding(change.binding_created());
      break;
    case v1::CatalogChange::kBindingDeleted:
      remove_binding(change.binding_deleted());
      break;
    case v1::CatalogChange::kNumbersUsed:
      next_queue_id_ = std::max(next_queue_id_, change.numbers_used().last_queue_id() + 1);
      next_binding_number_ =
          std::max(next_binding_number_, change.numbers_used().last_binding_number() + 1);
      break;
    case v1::CatalogChange::kPolicySet:
      policies_.set(change.policy_set());
      break;
    case v1::CatalogChange::kPolicyDeleted:
      policies_.erase(change.policy_deleted().vhost(), change.policy_deleted().name());
      break;
    case v1::CatalogChange::kVhostSet:
      set_vhost(change.vhost_set());
      break;
    case v1::CatalogChange::kVhostDeleted:
      remove_vhost(change.vhost_deleted());
      break;
    case v1::CatalogChange::KIND_NOT_SET:
      break;
  }
}

void CatalogState::add_queue(const v1::QueueDefinition& definition) {
  const auto earlier = queues_.find({definition.vhost(), definition.name()});
  if (earlier != queues_.end()) remove_queue(QueueId(earlier->second->id()));
  auto queue = std::make_shared<v1::QueueDefinition>(definition);
  const QueueId id(queue->id());
  if (queue->has_owner()) owned_queues_[queue->owner().router_id()][id] = true;
  queues_[{queue->vhost(), queue->name()}] = queue;
  ++queues_by_vhost_[queue->vhost()];
  queues_by_id_[id] = std::move(queue);
  next_queue_id_ = std::max(next_queue_id_, id.value + 1);
}

void CatalogState::update_queue(const v1::QueueDefinition& definition) {
  const auto found = queues_by_id_.find(QueueId(definition.id()));
  if (found == queues_by_id_.end()) return;
  // Another copy of the state may have the same definition.
  auto queue = std::make_shared<v1::QueueDefinition>(*found->second);
  *queue->mutable_arguments() = definition.arguments();
  queues_[{queue->vhost(), queue->name()}] = queue;
  found->second = std::move(queue);
}

void CatalogState::remove_queue(QueueId id) {
  const auto found = queues_by_id_.find(id);
  if (found == queues_by_id_.end()) return;
  const std::shared_ptr<v1::QueueDefinition> queue = found->second;
  if (queue->has_owner()) erase_number(owned_queues_, queue->owner().router_id(), id);
  queues_.erase({queue->vhost(), queue->name()});
  if (--queues_by_vhost_[queue->vhost()] == 0) queues_by_vhost_.erase(queue->vhost());
  queues_by_id_.erase(found);
}

void CatalogState::add_binding(const v1::BindingDefinition& definition) {
  const std::uint64_t number = definition.number();
  remove_binding(number);
  bindings_[number] = definition;
  binding_numbers_[binding_identity(definition)] = number;
  bindings_by_exchange_[{definition.vhost(), definition.exchange()}][number] = true;
  if (definition.to_exchange().empty()) {
    bindings_by_queue_[{definition.vhost(), definition.queue()}][number] = true;
  } else {
    bindings_by_to_exchange_[{definition.vhost(), definition.to_exchange()}][number] = true;
  }
  next_binding_number_ = std::max(next_binding_number_, number + 1);
}

void CatalogState::remove_binding(std::uint64_t number) {
  const auto found = bindings_.find(number);
  if (found == bindings_.end()) return;
  const v1::BindingDefinition& binding = found->second;
  binding_numbers_.erase(binding_identity(binding));
  erase_number(bindings_by_exchange_, Key{binding.vhost(), binding.exchange()}, number);
  erase_number(bindings_by_queue_, Key{binding.vhost(), binding.queue()}, number);
  erase_number(bindings_by_to_exchange_, Key{binding.vhost(), binding.to_exchange()}, number);
  bindings_.erase(found);
}

std::vector<v1::CatalogEntry> CatalogState::snapshot(std::size_t changes_each) const {
  SnapshotWriter writer(index_, changes_each);
  if (!shard_nodes_.empty()) {
    v1::ClusterCreated* created = writer.add()->mutable_cluster_created();
    created->set_cluster(cluster_);
    created->set_shard_count(shard_count());
  }
  for (std::uint32_t shard = 0; shard < shard_count(); ++shard) {
    if (shard_nodes_[shard].empty()) continue;
    v1::ShardAssigned* assigned = writer.add()->mutable_shard_assigned();
    assigned->set_shard(shard);
    assigned->set_node(shard_nodes_[shard]);
  }
  for (const auto& [name, vhost] : vhosts_) {
    const bool as_always = name == kDefaultVhost && !vhost.has_max_queues() &&
                           !vhost.has_max_sessions() && !vhost.has_max_bytes();
    if (!as_always) *writer.add()->mutable_vhost_set() = vhost;
  }
  for (const auto& [key, exchange] : exchanges_) {
    if (!is_predeclared(exchange)) *writer.add()->mutable_exchange_created() = exchange;
  }
  for (const auto& [key, queue] : queues_) *writer.add()->mutable_queue_created() = *queue;
  for (const auto& [number, binding] : bindings_) {
    *writer.add()->mutable_binding_created() = binding;
  }
  for (const v1::PolicyDefinition* policy : policies_.all()) {
    *writer.add()->mutable_policy_set() = *policy;
  }
  v1::NumbersUsed* used = writer.add()->mutable_numbers_used();
  used->set_last_queue_id(next_queue_id_ - 1);
  used->set_last_binding_number(next_binding_number_ - 1);
  return writer.take();
}

const std::string& CatalogState::node_of(ShardId shard) const {
  static const std::string kUnknown;
  return shard.value < shard_nodes_.size() ? shard_nodes_[shard.value] : kUnknown;
}

const v1::ExchangeDefinition* CatalogState::find_exchange(std::string_view vhost,
                                                          std::string_view name) const {
  const auto found = exchanges_.find({std::string(vhost), std::string(name)});
  return found == exchanges_.end() ? nullptr : &found->second;
}

const v1::QueueDefinition* CatalogState::find_queue(std::string_view vhost,
                                                    std::string_view name) const {
  const auto found = queues_.find({std::string(vhost), std::string(name)});
  return found == queues_.end() ? nullptr : found->second.get();
}

const v1::QueueDefinition* CatalogState::find_queue(QueueId id) const {
  const auto found = queues_by_id_.find(id);
  return found == queues_by_id_.end() ? nullptr : found->second.get();
}

const v1::BindingDefinition* CatalogState::find_binding(std::uint64_t number) const {
  const auto found = bindings_.find(number);
  return found == bindings_.end() ? nullptr : &found->second;
}

const v1::BindingDefinition* CatalogState::find_binding(const v1::BindingDefinition& like) const {
  const auto found = binding_numbers_.find(binding_identity(like));
  return found == binding_numbers_.end() ? nullptr : find_binding(found->second);
}

std::vector<std::uint64_t> CatalogState::bindings_from(std::string_view vhost,
                                                       std::string_view exchange) const {
  return numbers_in(bindings_by_exchange_, vhost, exchange);
}

std::vector<std::uint64_t> CatalogState::bindings_to(std::string_view vhost,
                                                     std::string_view queue) const {
  return numbers_in(bindings_by_queue_, vhost, queue);
}

std::vector<std::uint64_t> CatalogState::bindings_to_exchange(std::string_view vhost,
                                                              std::string_view exchange) const {
  return numbers_in(bindings_by_to_exchange_, vhost, exchange);
}

bool CatalogState::has_bindings_from(std::string_view vhost, std::string_view exchange) const {
  return bindings_by_exchange_.contains({std::string(vhost), std::string(exchange)});
}

std::vector<const v1::QueueDefinition*> CatalogState::list_queues(std::string_view vhost,
                                                                  std::string_view after,
                                                                  std::size_t limit) const {
  std::vector<const v1::QueueDefinition*> listed;
  for (auto at = queues_.upper_bound({std::string(vhost), std::string(after)});
       at != queues_.end() && at->first.first == vhost && listed.size() < limit; ++at) {
    listed.push_back(at->second.get());
  }
  return listed;
}

std::vector<const v1::ExchangeDefinition*> CatalogState::list_exchanges(std::string_view vhost,
                                                                        std::string_view after,
                                                                        std::size_t limit) const {
  std::vector<const v1::ExchangeDefinition*> listed;
  for (auto at = exchanges_.upper_bound({std::string(vhost), std::string(after)});
       at != exchanges_.end() && at->first.first == vhost && listed.size() < limit; ++at) {
    listed.push_back(&at->second);
  }
  return listed;
}

std::vector<const v1::BindingDefinition*> CatalogState::list_bindings(std::uint64_t after,
                                                                      std::size_t limit) const {
  std::vector<const v1::BindingDefinition*> listed;
  for (auto at = bindings_.upper_bound(after); at != bindings_.end() && listed.size() < limit;
       ++at) {
    listed.push_back(&at->second);
  }
  return listed;
}

std::vector<const v1::QueueDefinition*> CatalogState::queues_on(std::string_view node) const {
  std::vector<const v1::QueueDefinition*> queues;
  for (const auto& [key, queue] : queues_) {
    if (queue->shard() < shard_nodes_.size() && shard_nodes_[queue->shard()] == node) {
      queues.push_back(queue.get());
    }
  }
  return queues;
}

std::size_t CatalogState::queue_count(std::string_view vhost) const {
  const auto found = queues_by_vhost_.find(vhost);
  return found == queues_by_vhost_.end() ? 0 : found->second;
}

const v1::VhostDefinition* CatalogState::find_vhost(std::string_view vhost) const {
  const auto found = vhosts_.find(vhost);
  return found == vhosts_.end() ? nullptr : &found->second;
}

std::vector<const v1::VhostDefinition*> CatalogState::list_vhosts(std::string_view after,
                                                                  std::size_t limit) const {
  std::vector<const v1::VhostDefinition*> listed;
  for (auto at = vhosts_.upper_bound(after); at != vhosts_.end() && listed.size() < limit; ++at) {
    listed.push_back(&at->second);
  }
  return listed;
}

std::vector<const v1::QueueDefinition*> CatalogState::queues_owned_by(
    std::string_view router_id) const {
  std::vector<const v1::QueueDefinition*> queues;
  for (const auto& [router, owned] : owned_queues_) {
    if (!router_id.empty() && router != router_id) continue;
    for (const auto& [id, present] : owned) queues.push_back(find_queue(id));
  }
  return queues;
}

}  // namespace segue
