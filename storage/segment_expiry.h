#pragma once

#include <cstdint>
#include <vector>

#include "common/expiry.h"
#include "storage/segment_format.h"

namespace segue::storage {

/// When the first of a segment's valid messages expires, at the earliest: a look at all of them
/// makes it exact, and settles leave it too early.
struct SegmentExpiry {
  std::int64_t arrival = kNever;  // the least one that is known
  std::int64_t own = kNever;      // the least sum of an arrival and the message's own expiration
  bool unknown = false;           // there are messages whose arrival is not known

  void add(std::int64_t arrived_ms, std::int64_t expiration_ms);
  void add(const SegmentExpiry& other);
  std::int64_t due(const ExpiryRule& rule) const;
};

/// Messages of one segment that are to be looked at for expired ones.
struct ExpiryPlan {
  SegmentName segment;
  bool timed = false;       // its index has arrivals
  std::uint32_t first = 0;  // ordinals [first, end): all that are in the files from `first` on
  std::uint32_t end = 0;
  std::uint64_t records_end = 0;
  std::vector<std::uint64_t> valid;  // bit i: message with ordinal i
  SegmentExpiry before;              // as it was, for plan_due()

  bool is_valid(std::uint32_t ordinal) const {
    return (valid[ordinal / 64] >> (ordinal % 64) & 1) != 0;
  }
};

/// What a look found.
struct ExpiryFindings {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> expired;  // ordinals [first, end)
  SegmentExpiry left;             // of those that were valid and have not expired
  std::uint32_t scanned_end = 0;  // all before were looked at
  std::uint64_t looked_at = 0;
};

}  // namespace segue::storage
