#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/status.h"
#include "node/range_set.h"
#include "segue/v1/shard_state.pb.h"

namespace segue::node {

/// Which of each producer's messages a shard has enqueued already, exactly: what a producer sends
/// again is not enqueued again. Part of the shard's state: filled by applied commands, saved in
/// checkpoints. What is proposed and not yet applied is known too, but never saved: it may not
/// survive. Producers unused for an hour are forgotten, and the longest unused when there are too
/// many. Nodes that publish dead letters, whose ids are longer than a client's can be, are kept for
/// 30 days: they send again after however long an outage. Reactor's thread.
class ProducerDedupe {
 public:
  static constexpr std::size_t kLongestClientId = 64;

  explicit ProducerDedupe(std::size_t max_producers = 100'000) : max_producers_(max_producers) {}

  /// STALE_EPOCH when the shard has seen a newer session of this producer.
  Status check_session(std::string_view producer, std::uint64_t session) const;

  /// Appends to `fresh` the places of those seqs that were never enqueued; `seqs` rise.
  void find_fresh(std::string_view producer, std::uint64_t settled_below,
                  const std::vector<std::uint64_t>& seqs, std::vector<std::uint32_t>& fresh) const;
  /// The same for seqs first..first + count - 1; true, and `fresh` left alone, if all are.
  bool all_fresh(std::string_view producer, std::uint64_t settled_below, NumberRange seqs) const;

  /// The producer's session is seen; its seqs are proposed.
  void propose(std::string_view producer, std::uint64_t session,
               const std::vector<NumberRange>& seqs);
  /// The command is applied, at its own time.
  void apply(std::string_view producer, std::uint64_t session, std::uint64_t settled_below,
             const std::vector<NumberRange>& seqs, std::int64_t time_ms);

  std::size_t size() const { return clients_.size() + nodes_.size(); }

  void save(v1::ShardState& state) const;
  /// Into an empty table.
  void restore(const v1::ShardState& state);

 private:
  struct Entry {
    std::string producer;
    std::uint64_t session = 0;
    std::uint64_t settled_below = 0;
    std::int64_t last_time_ms = 0;
    RangeSet enqueued;   // applied, at or above settled_below
    RangeSet in_flight;  // proposed
  };
  using Entries = std::list<Entry>;

  static void save(const Entries& entries, v1::ShardState& state);
  const Entry* find(std::string_view producer) const;
  Entry& touch(std::string_view producer);
  Entries& entries_of(std::string_view producer) {
    return producer.size() > kLongestClientId ? nodes_ : clients_;
  }
  void forget_old(Entries& entries, std::int64_t time_ms);

  const std::size_t max_producers_;
  // The longest unused first.
  Entries clients_;
  Entries nodes_;
  std::unordered_map<std::string_view, Entries::iterator> by_producer_;  // keys into the entries
};

}  // namespace segue::node
