#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "segue/backup.h"
#include "segue/cluster.h"
#include "segue/garbage.h"
#include "segue/message.h"
#include "segue/result.h"
#include "segue/value.h"

namespace segue::client {

class ConnectionCore;

struct QueueOptions {
  bool durable = true;
  /// For this session only, deleted with it.
  bool exclusive = false;
  /// Deleted when its last consumer goes.
  bool auto_delete = false;
  /// E.g. {{"x-durability", "sync"}}.
  Table arguments{};
  /// A queue that exists takes over those arguments that can be changed in place
  /// (docs/semantics.md); what else differs is refused, as without.
  bool update = false;
};

struct ExchangeOptions {
  /// "direct", "fanout", "topic", "headers" or "x-consistent-hash".
  std::string type = "direct";
  bool durable = true;
  bool auto_delete = false;
  /// Takes no publishes, only what other exchanges hand on.
  bool internal = false;
  Table arguments{};
};

/// A declared queue.
struct DeclaredQueue {
  /// As given, or made by the server.
  std::string name;
  std::uint64_t ready = 0;
  std::uint32_t consumers = 0;
  std::uint32_t shard = 0;
  std::string node;
  /// False: it was there before.
  bool created = false;
  /// It was there before, and has other arguments now.
  bool updated = false;
};

/// Leads messages from an exchange to a queue, or to an exchange that takes them on.
struct Binding {
  std::string exchange;
  /// Empty if `to_exchange` is given.
  std::string queue;
  /// A pattern of words for "topic", a weight for "x-consistent-hash".
  std::string routing_key;
  /// The conditions of a binding of an exchange of type "headers".
  Table arguments{};
  std::string to_exchange{};
};

/// Declares and looks at what a cluster has. Belongs to its Connection and lives as long; safe from
/// any thread. Every call exists twice: one that waits for the answer, and an _async one that gives
/// a future, so that many can be on their way at once. Both end by the timeout at the latest, with
/// TIMEOUT. A call that is on its way when the session breaks is sent again after the reconnect if
/// doing it twice does no harm (declares, binds, looks); purges, deletes and the declaration of a
/// queue without a name fail with DISCONNECTED then.
///
/// Waiting calls made on the connection's I/O thread (in its handlers) fail with NOT_ALLOWED.
class Admin {
 public:
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  /// An empty name: the server makes one.
  Result<DeclaredQueue> declare_queue(const std::string& name, const QueueOptions& options = {});
  std::future<Result<DeclaredQueue>> declare_queue_async(const std::string& name,
                                                         const QueueOptions& options = {});
  /// Only looks whether it exists: NOT_FOUND otherwise.
  Result<DeclaredQueue> find_queue(const std::string& name);
  std::future<Result<DeclaredQueue>> find_queue_async(const std::string& name);

  struct DeleteQueueOptions {
    bool if_unused = false;
    bool if_empty = false;
  };
  /// The number of messages that went with it.
  Result<std::uint64_t> delete_queue(const std::string& name,
                                     const DeleteQueueOptions& options = {false, false});
  std::future<Result<std::uint64_t>> delete_queue_async(const std::string& name,
                                                        const DeleteQueueOptions& options = {
                                                            false, false});

  /// Removes the ready messages; their number.
  Result<std::uint64_t> purge_queue(const std::string& name);
  std::future<Result<std::uint64_t>> purge_queue_async(const std::string& name);

  Result<QueueDescription> queue_status(const std::string& name);
  std::future<Result<QueueDescription>> queue_status_async(const std::string& name);

  Status declare_exchange(const std::string& name, const ExchangeOptions& options = {});
  std::future<Status> declare_exchange_async(const std::string& name,
                                             const ExchangeOptions& options = {});
  Status find_exchange(const std::string& name);
  std::future<Status> find_exchange_async(const std::string& name);
  Status delete_exchange(const std::string& name, bool if_unused = false);
  std::future<Status> delete_exchange_async(const std::string& name, bool if_unused = false);

  /// Once OK, what this connection publishes afterwards goes through the binding.
  Status bind(const Binding& binding);
  std::future<Status> bind_async(const Binding& binding);
  Status unbind(const Binding& binding);
  std::future<Status> unbind_async(const Binding& binding);

  /// Lists come in pages, by name: go on with the last name while `more`.
  struct QueuePage {
    std::vector<QueueDescription> queues;
    bool more = false;
  };
  struct ListOptions {
    /// Only names after this one.
    std::string after;
    /// 0: 1,000.
    std::uint32_t limit = 0;
    /// Leave the counts out; no node is asked.
    bool names_only = false;
  };
  Result<QueuePage> list_queues(const ListOptions& options);
  std::future<Result<QueuePage>> list_queues_async(const ListOptions& options);
  /// All pages.
  Result<std::vector<QueueDescription>> list_all_queues(bool names_only = false);

  struct ExchangePage {
    std::vector<ExchangeDescription> exchanges;
    bool more = false;
  };
  Result<ExchangePage> list_exchanges(const ListOptions& options);
  std::future<Result<ExchangePage>> list_exchanges_async(const ListOptions& options);
  Result<std::vector<ExchangeDescription>> list_all_exchanges();

  struct BindingPage {
    std::vector<BindingDescription> bindings;
    bool more = false;
  };
  struct ListBindingsOptions {
    /// Empty: of all.
    std::string exchange;
    std::string queue;
    /// Go on after the binding with this number.
    std::uint64_t after_number = 0;
    std::uint32_t limit = 0;
    /// Only those that lead to this exchange.
    std::string to_exchange{};
  };
  Result<BindingPage> list_bindings(const ListBindingsOptions& options);
  std::future<Result<BindingPage>> list_bindings_async(const ListBindingsOptions& options);
  Result<std::vector<BindingDescription>> list_all_bindings(const std::string& exchange = {},
                                                            const std::string& queue = {});

  /// Makes the policy, or replaces the one of its name. It is in force at once, also for what
  /// exists.
  Status set_policy(const PolicyDescription& policy);
  std::future<Status> set_policy_async(const PolicyDescription& policy);
  Status delete_policy(const std::string& name);
  std::future<Status> delete_policy_async(const std::string& name);
  struct PolicyPage {
    std::vector<PolicyDescription> policies;
    bool more = false;
  };
  Result<PolicyPage> list_policies(const ListOptions& options);
  std::future<Result<PolicyPage>> list_policies_async(const ListOptions& options);
  Result<std::vector<PolicyDescription>> list_all_policies();

  /// Makes a virtual host. Whoever is in any may do so.
  Status declare_vhost(const std::string& name, const VhostOptions& options = {});
  std::future<Status> declare_vhost_async(const std::string& name,
                                          const VhostOptions& options = {});
  /// Deletes it with all that is in it, and ends its sessions.
  Status delete_vhost(const std::string& name);
  std::future<Status> delete_vhost_async(const std::string& name);
  struct VhostPage {
    std::vector<VhostDescription> vhosts;
    bool more = false;
  };
  Result<VhostPage> list_vhosts(const ListOptions& options);
  std::future<Result<VhostPage>> list_vhosts_async(const ListOptions& options);
  Result<std::vector<VhostDescription>> list_all_vhosts();

  struct ListSegmentsOptions {
    std::string queue;
    /// Only files that begin above this sequence number.
    std::uint64_t after = 0;
    /// Of a queue with priorities: those of this one, and of all that are higher.
    std::uint32_t priority = 0;
    /// 0: 1,000.
    std::uint32_t limit = 0;
  };
  struct SegmentPage {
    QueueSegments files;
    bool more = false;
  };
  Result<SegmentPage> list_segments(const ListSegmentsOptions& options);
  std::future<Result<SegmentPage>> list_segments_async(const ListSegmentsOptions& options);
  /// All pages.
  Result<QueueSegments> list_all_segments(const std::string& queue);

  /// Of all nodes; with a queue, of its node alone, and what is told to do is for the queue alone.
  /// PRECONDITION_FAILED where kRun meets a pause.
  Result<std::vector<GarbageDescription>> collect_garbage(GarbageAction action,
                                                          const std::string& queue = {});
  std::future<Result<std::vector<GarbageDescription>>> collect_garbage_async(
      GarbageAction action, const std::string& queue = {});

  /// Has a node copy its data directory to `target`, an absolute path on its machine, while it
  /// runs; asks how far that is; ends it. PRECONDITION_FAILED while another is being made.
  Result<BackupDescription> node_backup(BackupAction action, const std::string& node,
                                        const std::string& target = {});
  std::future<Result<BackupDescription>> node_backup_async(BackupAction action,
                                                           const std::string& node,
                                                           const std::string& target = {});

  struct BrowsePage {
    std::vector<Message> messages;
    /// Go on after this number...
    std::uint64_t through = 0;
    /// ... while there may be messages above it.
    bool more = false;
    /// Messages that are damaged on the node's disk, and left out.
    std::uint64_t corrupt = 0;
  };
  /// Reads messages of a queue in order, and changes nothing: all that are not settled, also those
  /// that consumers have. `after`: the page before's `through`; `max_bytes`: about, 0: 1 MiB.
  Result<BrowsePage> browse(const std::string& queue, std::uint64_t after = 0,
                            std::uint64_t max_bytes = 0);
  std::future<Result<BrowsePage>> browse_async(const std::string& queue, std::uint64_t after = 0,
                                               std::uint64_t max_bytes = 0);

  /// The same for messages whose time to be delivered has not come, in the order of their arrival.
  /// Their places are those that cancel_delayed() takes; the last one of a page has `through`.
  Result<BrowsePage> browse_delayed(const std::string& queue, std::uint64_t after = 0,
                                    std::uint64_t max_bytes = 0);
  std::future<Result<BrowsePage>> browse_delayed_async(const std::string& queue,
                                                       std::uint64_t after = 0,
                                                       std::uint64_t max_bytes = 0);

  /// Places first..last, both included.
  struct PlaceRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  /// Messages at these places that are still delayed leave the queue for good; how many these were.
  /// Durable when it is answered.
  Result<std::uint64_t> cancel_delayed(const std::string& queue,
                                       const std::vector<PlaceRange>& places);
  std::future<Result<std::uint64_t>> cancel_delayed_async(const std::string& queue,
                                                          const std::vector<PlaceRange>& places);

  Result<ClusterDescription> cluster_status();
  std::future<Result<ClusterDescription>> cluster_status_async();

  /// The timeout of calls made from now on; at first the connection's request_timeout.
  void set_timeout(std::chrono::milliseconds timeout);

 private:
  friend class ConnectionCore;
  explicit Admin(ConnectionCore& core) : core_(core) {}

  ConnectionCore& core_;
};

}  // namespace segue::client
