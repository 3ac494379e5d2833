#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/range_set.h"
#include "storage/embedded_record.h"

namespace segue::storage {

/// Which messages of an embedded queue are settled, and what of that the log and the engine are
/// still to be told. Its size goes with the messages that are out, not with the queue's length.
/// Pure state: no I/O.
class EmbeddedSettles {
 public:
  /// Every message below is settled.
  std::uint64_t head() const { return head_; }
  /// How many from head() on are.
  std::uint64_t count_above_head() const { return above_.count(); }
  bool is_settled(std::uint64_t number) const { return number < head_ || above_.contains(number); }
  /// Whether each of [first, end) is.
  bool all_settled(std::uint64_t first, std::uint64_t end) const;
  /// Whether one of [first, end) is.
  bool any_settled(std::uint64_t first, std::uint64_t end) const;
  /// How many of [first, end) are.
  std::uint64_t count_settled(std::uint64_t first, std::uint64_t end) const;
  /// The first settled message at or above `number`; the highest number if there is none.
  std::uint64_t next_settled(std::uint64_t number) const;
  /// Settled ones above head().
  std::vector<NumberRange> ranges() const;

  // ---- recovery

  /// As a checkpoint or a record says; some may be settled already. Nobody has to be told.
  void recover_head(std::uint64_t head);
  void recover(NumberRange range);
  /// One above every message that was ever settled.
  std::uint64_t end() const { return above_.empty() ? head_ : above_.highest() + 1; }

  // ---- while it runs

  /// From now on the block's messages may be settled. Once for each block, until all of its
  /// messages are.
  void open_block(const EmbeddedBlock& block);
  /// The open block that holds the message; null if there is none.
  const EmbeddedBlock* block_of(std::uint64_t number) const;
  /// Settles [first, end), of open blocks; those that are settled already stay so.
  void settle(std::uint64_t first, std::uint64_t end);
  /// Settles messages whose blocks are not to be had (any more), and these with them.
  void settle_missing(std::uint64_t first, std::uint64_t end);
  /// Settles everything below `end`, in open blocks or not.
  void clear(std::uint64_t end);

  /// What was settled since the last call.
  SettleRecord take_news();
  /// They could not be logged: news again.
  void put_back(const SettleRecord& news);
  bool has_news() const { return !new_messages_.empty() || !new_blocks_.empty(); }

 private:
  struct Open {
    EmbeddedBlock block;
    std::uint64_t unsettled = 0;
  };

  /// Adds to what is settled; head follows.
  void add(std::uint64_t first, std::uint64_t end);
  void note(std::uint64_t first, std::uint64_t end);

  std::uint64_t head_ = 1;
  RangeSet above_;                      // settled, from head_ on
  std::map<std::uint64_t, Open> open_;  // by first number
  RangeSet new_messages_;
  RangeSet new_blocks_;
};

}  // namespace segue::storage
