#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/ids.h"
#include "router/publish_ledger.h"
#include "segue/v1/peer.pb.h"

namespace segue::router {

/// A client's batch with messages that go to several shards: counts, for each message, the shards
/// that have not answered.
struct SplitBatch {
  struct Refusal {
    v1::Error error;
    std::vector<std::string> queues;
  };

  std::uint64_t first_seq = 0;
  /// By place in the client's batch.
  std::vector<std::uint16_t> unanswered;
  std::vector<std::uint32_t> costs;
  std::map<std::uint32_t, Refusal> refused;
  /// The weakest of the shards that have answered.
  v1::Durability durability = v1::DURABILITY_UNSPECIFIED;
};

/// Messages of one session for queues of one shard, from when they were taken in until the node (or
/// a deadline) has answered.
struct PendingPublish {
  /// What the node gets. Its batch_id is rising in the order of publishing.
  v1::ShardPublish wire;
  SharedBytes bodies;
  CatalogIndex needs;
  std::shared_ptr<PublishLedger> ledger;
  std::uint32_t count = 0;
  /// What it takes of the node's window, and (without `split`) of the session's credit.
  std::uint64_t cost = 0;
  /// Counted in the ledger's batch bytes until it is answered.
  std::uint64_t held_bytes = 0;
  /// Set when a message of the client's batch went to other shards too; then `places` says which
  /// messages of the client's batch these are.
  std::shared_ptr<SplitBatch> split;
  std::vector<std::uint32_t> places;

  TimePoint arrived{};
  /// On the way to the node in the present life of the link.
  bool sent = false;
  /// Sent in an earlier life, or refused: the node may have it.
  bool sent_before = false;

  ShardId shard() const { return ShardId(static_cast<std::uint16_t>(wire.shard())); }
  std::uint64_t seq(std::uint32_t message) const {
    return wire.seqs().empty() ? wire.first_seq() + message : wire.seqs(static_cast<int>(message));
  }
};

}  // namespace segue::router
