#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/policies.h"
#include "segue/v1/catalog.pb.h"

namespace segue {

/// What exists in the cluster, as of one catalog index: the state that every replica and every
/// router builds by applying the same entries in the same order. Deterministic, no I/O, one thread.
class CatalogState {
 public:
  /// Told about each change after it is applied; for views compiled from the catalog.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_change(const v1::CatalogChange& change) = 0;
    /// Everything was replaced by a snapshot.
    virtual void on_reset() = 0;
  };

  CatalogState();

  void set_listener(Listener* listener) { listener_ = listener; }

  CatalogIndex index() const { return index_; }
  /// Applies an entry. One at or below index() changes nothing (false). A gap is the caller's to
  /// prevent.
  bool apply(const v1::CatalogEntry& entry);
  /// Forgets everything and applies the snapshot's entries, all of index `index`.
  void reset(const std::vector<v1::CatalogEntry>& snapshot, CatalogIndex index);
  /// The whole state as entries of at most about `changes_each` changes, all with index().
  std::vector<v1::CatalogEntry> snapshot(std::size_t changes_each = 10'000) const;

  /// Empty before the cluster was created.
  const std::string& cluster() const { return cluster_; }
  std::uint32_t shard_count() const { return static_cast<std::uint32_t>(shard_nodes_.size()); }
  /// The node that leads the shard; empty if unknown.
  const std::string& node_of(ShardId shard) const;

  /// Null when missing; valid until the next change. The predeclared exchanges ("", amq.direct,
  /// amq.fanout, amq.topic, amq.headers) exist in every virtual host.
  const v1::ExchangeDefinition* find_exchange(std::string_view vhost, std::string_view name) const;
  const v1::QueueDefinition* find_queue(std::string_view vhost, std::string_view name) const;
  const v1::QueueDefinition* find_queue(QueueId id) const;
  const v1::BindingDefinition* find_binding(std::uint64_t number) const;
  /// The identical binding (exchange, queue or exchange, key, arguments); null when there is none.
  const v1::BindingDefinition* find_binding(const v1::BindingDefinition& like) const;
  /// Numbers of bindings from an exchange, to a queue, and to an exchange, rising.
  std::vector<std::uint64_t> bindings_from(std::string_view vhost, std::string_view exchange) const;
  std::vector<std::uint64_t> bindings_to(std::string_view vhost, std::string_view queue) const;
  std::vector<std::uint64_t> bindings_to_exchange(std::string_view vhost,
                                                  std::string_view exchange) const;
  bool has_bindings_from(std::string_view vhost, std::string_view exchange) const;

  /// In order of name, those after `after` (empty: from the start), at most `limit`. The default
  /// exchange, which has no name, is not listed.
  std::vector<const v1::QueueDefinition*> list_queues(std::string_view vhost,
                                                      std::string_view after,
                                                      std::size_t limit) const;
  std::vector<const v1::ExchangeDefinition*> list_exchanges(std::string_view vhost,
                                                            std::string_view after,
                                                            std::size_t limit) const;
  /// In order of number.
  std::vector<const v1::BindingDefinition*> list_bindings(std::uint64_t after,
                                                          std::size_t limit) const;
  /// Every queue whose shard the node leads, in order of name.
  std::vector<const v1::QueueDefinition*> queues_on(std::string_view node) const;
  std::size_t queue_count() const { return queues_by_id_.size(); }
  std::size_t queue_count(std::string_view vhost) const;
  /// Exclusive queues of the router's sessions, of any of its lives; empty: of all routers.
  std::vector<const v1::QueueDefinition*> queues_owned_by(std::string_view router_id) const;

  const Policies& policies() const { return policies_; }
  /// Null when missing; "/" always exists. Valid until the next change.
  const v1::VhostDefinition* find_vhost(std::string_view vhost) const;
  /// In order of name, those after `after`.
  std::vector<const v1::VhostDefinition*> list_vhosts(std::string_view after,
                                                      std::size_t limit) const;
  std::size_t vhost_count() const { return vhosts_.size(); }

  /// The next free numbers, as of index().
  std::uint64_t next_queue_id() const { return next_queue_id_; }
  std::uint64_t next_binding_number() const { return next_binding_number_; }

 private:
  using Key = std::pair<std::string, std::string>;  // vhost, name
  using Numbers = std::map<Key, std::map<std::uint64_t, bool>>;

  void apply_change(const v1::CatalogChange& change);
  void clear();
  void set_vhost(const v1::VhostDefinition& definition);
  void remove_vhost(const std::string& name);
  void add_predeclared(const std::string& vhost);
  void add_queue(const v1::QueueDefinition& definition);
  void update_queue(const v1::QueueDefinition& definition);
  void remove_queue(QueueId id);
  void add_binding(const v1::BindingDefinition& definition);
  void remove_binding(std::uint64_t number);

  Listener* listener_ = nullptr;
  CatalogIndex index_;
  std::string cluster_;
  std::vector<std::string> shard_nodes_;
  std::map<std::string, v1::VhostDefinition, std::less<>> vhosts_;
  std::map<std::string, std::size_t, std::less<>> queues_by_vhost_;  // how many
  Policies policies_;
  std::map<Key, v1::ExchangeDefinition> exchanges_;
  std::map<Key, std::shared_ptr<v1::QueueDefinition>> queues_;
  std::unordered_map<QueueId, std::shared_ptr<v1::QueueDefinition>> queues_by_id_;
  std::map<std::uint64_t, v1::BindingDefinition> bindings_;
  std::unordered_map<std::string, std::uint64_t> binding_numbers_;  // by what makes them identical
  Numbers bindings_by_exchange_;
  Numbers bindings_by_queue_;
  Numbers bindings_by_to_exchange_;
  std::map<std::string, std::map<QueueId, bool>> owned_queues_;  // by router id
  std::uint64_t next_queue_id_ = 1;
  std::uint64_t next_binding_number_ = 1;
};

/// What two bindings must share to be the same one (vhost, exchange, queue or exchange, routing
/// key, arguments), as a key for maps. The number does not count.
std::string binding_identity(const v1::BindingDefinition& binding);
/// Bytes that are equal exactly when the arguments are.
std::string canonical_arguments(
    const google::protobuf::Map<std::string, v1::FieldValue>& arguments);
/// The virtual host that always exists.
inline constexpr std::string_view kDefaultVhost = "/";
/// Names that begin so are the broker's own.
inline constexpr std::string_view kReservedNamePrefix = "amq.";

}  // namespace segue
