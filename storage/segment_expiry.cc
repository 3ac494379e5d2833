// What of a segment, and of a queue's table of them, has expired.
#include "storage/segment_expiry.h"

#include <algorithm>

#include "storage/segment_table.h"

namespace segue::storage {

void SegmentExpiry::add(std::int64_t arrived_ms, std::int64_t expiration_ms) {
  if (arrived_ms == 0) {
    unknown = true;
    return;
  }
  arrival = std::min(arrival, arrived_ms);
  own = std::min(own, ExpiryRule().due(arrived_ms, expiration_ms));
}

void SegmentExpiry::add(const SegmentExpiry& other) {
  arrival = std::min(arrival, other.arrival);
  own = std::min(own, other.own);
  unknown = unknown || other.unknown;
}

std::int64_t SegmentExpiry::due(const ExpiryRule& rule) const {
  std::int64_t due = own;
  if (arrival != kNever) due = std::min(due, rule.due(arrival, kNoExpiration));
  if (unknown) due = std::min(due, rule.due(0, kNoExpiration));
  return due;
}

std::vector<std::unique_ptr<Segment>>::const_iterator SegmentTable::next_expired(
    const ExpiryScan& scan) const {
  auto at = std::upper_bound(segments_.begin(), segments_.end(), scan.from,
                             [](Sequence s, const auto& segment) { return s < segment->first; });
  if (at != segments_.begin()) --at;
  for (; at != segments_.end(); ++at) {
    const Segment& segment = **at;
    if (segment.written == 0 || segment.validity.valid() == 0) continue;
    if (segment.sequences.at(segment.written - 1) < scan.from) continue;
    const bool again = segment.first <= scan.again_last && segment.last() >= scan.again_first;
    if (again || segment.expiry.due(scan.rule) <= scan.now_ms) return at;
  }
  return at;
}

bool SegmentTable::any_expired(const ExpiryScan& scan) const {
  return next_expired(scan) != segments_.end();
}

std::optional<ExpiryPlan> SegmentTable::plan_expiry(const ExpiryScan& scan) {
  const auto at = next_expired(scan);
  if (at == segments_.end()) return {};
  Segment& segment = **at;
  ExpiryPlan plan;
  plan.segment = segment.name();
  plan.timed = segment.timed;
  plan.first = segment.sequences.lower_bound(scan.from);
  plan.end = segment.written;
  plan.records_end = segment.written_end;
  plan.valid = segment.validity.bits(0, plan.end);
  // What is added meanwhile is gathered anew; what is found to be left is added to it.
  if (plan.first == 0) segment.expiry = {};
  return plan;
}

void SegmentTable::finish_expiry(const ExpiryPlan& plan, const ExpiryFindings& findings,
                                 const ExpiryScan& scan, ExpiredMessages& found) {
  Segment* const segment = find_exact(plan.segment);
  if (segment == nullptr) {
    // A copy stands for it now, or nothing.
    found.more = any_expired(scan);
    return;
  }
  segment->expiry.add(findings.left);
  // What was not looked at may be due at once.
  const bool all = findings.scanned_end == plan.end && plan.end == segment->messages();
  if (!all) segment->expiry.own = std::min(segment->expiry.own, scan.now_ms);
  for (const auto& [first, end] : findings.expired) {
    for (std::uint32_t at = segment->validity.next_valid(first, end); at < end;
         at = segment->validity.next_valid(at, end)) {
      const std::uint32_t run_end =
          segment->sequences.run_end(at, segment->validity.valid_end(at, end));
      const std::uint64_t low = segment->sequences.at(at).value;
      const std::uint64_t high = low + (run_end - at) - 1;
      if (!found.ranges.empty() && found.ranges.back().last + 1 == low) {
        found.ranges.back().last = high;
      } else {
        found.ranges.push_back({low, high});
      }
      at = run_end;
    }
  }
  if (findings.scanned_end > 0) {
    found.scanned_through =
        std::max(found.scanned_through, segment->sequences.at(findings.scanned_end - 1));
  }
  ExpiryScan rest = scan;
  rest.from = found.scanned_through.next();
  found.more = any_expired(rest);
}

std::vector<std::unique_ptr<Segment>>::const_iterator SegmentTable::next_due(
    const DueScan& scan) const {
  auto at = std::upper_bound(segments_.begin(), segments_.end(), scan.first,
                             [](Sequence s, const auto& segment) { return s < segment->first; });
  if (at != segments_.begin()) --at;
  for (; at != segments_.end(); ++at) {
    const Segment& segment = **at;
    if (segment.written == 0 || segment.validity.valid() == 0) continue;
    if (segment.sequences.at(segment.written - 1) < scan.first) continue;
    if (segment.expiry.own <= scan.below.due_ms) return at;
  }
  return at;
}

std::optional<ExpiryPlan> SegmentTable::plan_due(const DueScan& scan) {
  const auto at = next_due(scan);
  if (at == segments_.end()) return {};
  Segment& segment = **at;
  ExpiryPlan plan;
  plan.segment = segment.name();
  plan.timed = segment.timed;
  plan.first = segment.sequences.lower_bound(scan.first);
  plan.end = segment.written;
  plan.records_end = segment.written_end;
  plan.valid = segment.validity.bits(0, plan.end);
  plan.before = segment.expiry;
  if (plan.first == 0) segment.expiry = {};
  return plan;
}

void SegmentTable::finish_due(const ExpiryPlan& plan, const SegmentExpiry& left,
                              const DueScan& scan, FoundDue& found) {
  DueScan rest = scan;
  Segment* const segment = find_exact(plan.segment);
  if (segment == nullptr) {
    // A copy stands for it now, or nothing.
    found.messages.clear();
    found.damage = {};
    found.scanned_through = Sequence{scan.first.value - 1};
  } else {
    // What was not written yet was not looked at, and nothing of what cannot be read.
    const bool all = plan.end == segment->messages() && found.damage.is_ok();
    segment->expiry.add(all ? left : plan.before);
    found.scanned_through = segment->sequences.at(plan.end - 1);
    rest.first = found.scanned_through.next();
  }
  found.more = next_due(rest) != segments_.end();
}

}  // namespace segue::storage
