#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "node/range_set.h"
#include "segue/v1/types.pb.h"

namespace segue::node {

/// A queue's dead messages: those that wait to be published to its dead-letter exchange. Each has a
/// number of its own beside its sequence, rising in the order in which they died. Kept as ranges
/// that died together, so that a million of them cost one entry. Reactor's thread.
class DeadLetters {
 public:
  /// Messages with consecutive sequences and numbers that died at once.
  struct Range {
    NumberRange sequences;
    std::uint64_t first_number = 0;
    v1::DeadReason reason = v1::DEAD_REASON_UNSPECIFIED;
    std::int64_t time_ms = 0;

    std::uint64_t last_number() const { return first_number + sequences.count() - 1; }
  };

  bool empty() const { return by_sequence_.empty(); }
  /// How many messages.
  std::uint64_t count() const { return count_; }

  /// Those of the range that are dead already stay as they are. The numbers are new.
  void add(const Range& range);
  /// Forgets what there is of these sequences.
  void remove(NumberRange sequences);

  /// Messages from this number on, the lowest numbers first; nothing if there is none.
  std::optional<Range> from_number(std::uint64_t number) const;
  /// The range of dead sequences that holds `sequence`, or the next above it; false if there is
  /// none. Neighbouring ranges are not joined.
  bool find_from(std::uint64_t sequence, NumberRange* found) const;
  bool contains(std::uint64_t sequence) const {
    NumberRange found;
    return find_from(sequence, &found) && found.first <= sequence;
  }

 private:
  using BySequence = std::map<std::uint64_t, Range>;  // by first sequence

  void insert(const Range& range);
  BySequence::const_iterator find(std::uint64_t sequence) const;

  BySequence by_sequence_;
  std::map<std::uint64_t, std::uint64_t> by_number_;  // first number -> first sequence
  std::uint64_t count_ = 0;
};

/// "rejected", "expired", "maxlen", "delivery_limit": as headers name it.
const char* dead_reason_name(v1::DeadReason reason);

}  // namespace segue::node
