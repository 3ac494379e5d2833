#pragma once

#include <optional>
#include <string>

#include "node/peer_output.h"
#include "node/policy_source.h"
#include "node/queue_browse.h"
#include "node/queue_gets.h"
#include "node/queue_table.h"
#include "node/shard_table.h"
#include "node/unused_queues.h"
#include "segue/v1/peer.pb.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Requests about one queue: get, purge, cancel what is delayed, status, whether it may be deleted,
/// its files and their garbage; and about the node's whole data: garbage, backup. Reactor's thread.
class QueueRequests {
 public:
  /// The references outlive this. `backup` says how backups are made; their target comes with the
  /// request.
  QueueRequests(const storage::BackupOptions& backup, storage::DiskDataCenter& disk,
                QueueTable& queues, ShardTable& shards, QueueGets& gets, QueueBrowse& browse,
                UnusedQueues& unused, PeerOutput& output)
      : backup_options_(backup),
        disk_(disk),
        queues_(queues),
        shards_(shards),
        gets_(gets),
        browse_(browse),
        unused_(unused),
        output_(output) {}

  void on_request(PeerId peer, const v1::QueueRequest& request);
  /// Who knows what is in force; outlives this.
  void follow_policies(const PolicySource& policies) { policies_ = &policies; }

 private:
  void purge(PeerId peer, std::uint64_t request_id, HostedQueue& hosted);
  void cancel_delayed(PeerId peer, const v1::QueueRequest& request, HostedQueue& hosted);
  void check_delete(const v1::QueueDelete& conditions, HostedQueue& hosted, v1::QueueReply& reply);
  void list_segments(const HostedQueue& hosted, const v1::ListSegments& wanted,
                     v1::QueueReply& reply) const;
  void collect_garbage(const v1::CollectGarbage& wanted, std::optional<QueueId> queue,
                       const std::string& entity, v1::QueueReply& reply);
  void backup(const v1::NodeBackup& wanted, v1::QueueReply& reply);
  Status collect(storage::GcCommand command, std::optional<QueueId> queue);
  void describe_vhost(const std::string& vhost, v1::QueueDescription& description) const;
  void describe(const HostedQueue& hosted, v1::QueueDescription& description) const;
  void add_sizes(const Queue& lane, v1::QueueDescription& description) const;
  void add_counts(const Queue& lane, v1::QueueDescription& description) const;

  const storage::BackupOptions backup_options_;  // but the target
  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  ShardTable& shards_;
  QueueGets& gets_;
  QueueBrowse& browse_;
  UnusedQueues& unused_;
  PeerOutput& output_;
  const PolicySource* policies_ = nullptr;
};

}  // namespace segue::node
