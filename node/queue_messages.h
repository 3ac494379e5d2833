#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "common/expiry.h"
#include "common/message_batch.h"
#include "node/range_set.h"

namespace segue::node {

/// The unsettled messages of one queue that are in memory, in order of sequence, as blocks: runs of
/// one batch. Settling messages at a block's ends cuts it; in its middle, sets bits. A message that
/// is not here was settled, or is only on disk: who owns this knows which. Costs go with blocks.
/// Reactor's thread.
class QueueMessages {
 public:
  bool empty() const { return blocks_.empty(); }
  /// The highest sequence; 0 when empty.
  Sequence highest() const { return blocks_.empty() ? Sequence{0} : blocks_.back().last(); }
  /// Bytes of bodies that the blocks hold, and some for each block.
  std::uint64_t memory_bytes() const { return memory_bytes_; }

  /// Adds a run that is above all there is.
  void append(MessageRun run);
  /// Adds a run anywhere; what is here already is left as it is.
  void insert(const MessageRun& run);

  struct Settled {
    std::uint64_t messages = 0;
    std::uint64_t body_bytes = 0;  // of those above `counted_after`
  };
  /// Forgets the messages of the range that are here.
  Settled settle(NumberRange range, Sequence counted_after);

  /// The first message at or above `from`, with those that follow it in the same batch without a
  /// hole, up to `through`. Nothing when no message of from..through is here.
  std::optional<MessageRun> first_run(Sequence from, Sequence through) const;
  /// Appends to `runs` the messages in (after, through], whole blocks, until about `max_bytes` (at
  /// least one block). The last sequence of what was looked at; `after` if there was nothing.
  Sequence collect(Sequence after, Sequence through, std::uint64_t max_bytes,
                   std::vector<MessageRun>& runs) const;
  /// Bytes of bodies in (after, through].
  std::uint64_t body_bytes(Sequence after, Sequence through) const;
  std::uint64_t count_messages() const;

  /// What is expired, and when.
  struct ExpiryLook {
    const ExpiryRule& rule;
    std::int64_t now_ms = 0;
    /// Messages from here on with no time to live at all have not expired yet: they may still be
    /// delivered at once.
    Sequence at_once_from;

    bool expired(Sequence sequence, std::int64_t arrived_ms, std::int64_t own) const {
      const std::int64_t due = rule.due(arrived_ms, own);
      if (due > now_ms) return false;
      return sequence < at_once_from || (own != 0 && rule.ttl_ms != 0);
    }
  };
  struct Expired {
    std::vector<NumberRange> ranges;  // in order, without holes
    Sequence scanned_through;         // everything up to here was looked at
    bool more = false;                // there is more beyond
    std::uint64_t looked_at = 0;      // blocks and messages
  };
  /// The messages at or above `from` that have expired, about `max_ranges` at once. Blocks of which
  /// none can have expired since the last look cost nothing.
  Expired find_expired(Sequence from, const ExpiryLook& look, std::size_t max_ranges);
  /// Messages of the range were found before and could not leave then: they are found again.
  void look_again(NumberRange range);
  /// Whether there are messages with expirations of their own.
  bool any_expires() const;

  /// The first sequence of the first block that begins at or after `from`, behind about `bytes` of
  /// blocks from there; one above everything when there is no such block.
  Sequence block_after(Sequence from, std::uint64_t bytes) const;
  /// Forgets blocks that lie in the range with all their messages; bytes given back.
  std::uint64_t evict(NumberRange range);

 private:
  struct Block {
    Sequence first;
    MessageBatchPtr batch;  // null: everything in it is settled
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
    std::uint32_t live = 0;                      // not settled
    std::unique_ptr<std::uint64_t[]> settled{};  // a bit for each of `count`; null: none
    std::int64_t arrived_ms = 0;                 // of all
    /// None of them expires earlier by its own expiration, but those that were found already.
    std::int64_t own_due = 0;

    Sequence last() const { return first.next(count - 1); }
    bool is_settled(std::uint32_t at) const {
      return settled && (settled[at / 64] >> (at % 64) & 1) != 0;
    }
    std::uint64_t bytes() const;
  };

  std::size_t find(Sequence from) const;
  void settle_in(Block& block, Sequence low, Sequence high, Sequence counted_after,
                 Settled& settled);
  void set_bits(Block& block, Sequence low, Sequence high, Sequence counted_after,
                Settled& settled);
  void kill(Block& block);
  void sweep();
  static void look_into(Block& block, Sequence from, const ExpiryLook& look, Expired& expired);
  /// Live messages of the block in [low, high] as runs.
  static void live_runs(const Block& block, Sequence low, Sequence high,
                        std::vector<MessageRun>& runs);

  std::deque<Block> blocks_;
  std::size_t dead_ = 0;  // blocks without a batch
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace segue::node
