#include "storage/queue_cut.h"

#include <utility>

namespace segue::storage {

namespace {

/// What the log enqueues and does not settle.
RangeSet unsettled(const LogContent::Queue& in_log) {
  RangeSet left = in_log.enqueued;
  for (const auto& [first, last] : in_log.settled.ranges()) left.remove({first, last});
  return left;
}

/// Counts the numbers of a set below a rising one.
class CountBelow {
 public:
  explicit CountBelow(const RangeSet& set) : at_(set.ranges().begin()), end_(set.ranges().end()) {}

  std::uint64_t operator()(std::uint64_t number) {
    while (at_ != end_ && at_->second < number) {
      passed_ += at_->second - at_->first + 1;
      ++at_;
    }
    return at_ != end_ && at_->first < number ? passed_ + number - at_->first : passed_;
  }

 private:
  RangeSet::Map::const_iterator at_;
  const RangeSet::Map::const_iterator end_;
  std::uint64_t passed_ = 0;
};

}  // namespace

QueueCut cut_queue(const std::vector<HeldMessage>& held, const LogContent::Queue& in_log) {
  const RangeSet logged = unsettled(in_log);
  if (in_log.enqueued.empty() || held.empty()) return {held.size(), 0, 0};
  const auto is_own = [&](const HeldMessage& message) {
    return message.intact && message.valid && !in_log.enqueued.contains(message.sequence.value) &&
           !in_log.settled.contains(message.sequence.value);
  };
  const auto is_back = [&](const HeldMessage& message) {
    return !message.valid && logged.contains(message.sequence.value);
  };
  std::uint64_t own_behind = 0;   // messages that only the segments have, from here on
  std::uint64_t back_behind = 0;  // that only the segments know to be settled
  for (const HeldMessage& message : held) {
    own_behind += is_own(message);
    back_behind += is_back(message);
  }
  CountBelow logged_below(logged);
  std::uint64_t both = 0;  // so far
  QueueCut best{held.size(), ~std::uint64_t{0}, 0};
  const auto consider = [&](std::size_t kept, std::uint64_t from) {
    const std::uint64_t lost = logged_below(from) - both + own_behind;
    if (std::pair(lost, back_behind) < std::pair(best.lost, best.returned)) {
      best = {kept, lost, back_behind};
    }
  };
  const std::uint64_t lowest = in_log.enqueued.front().first;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const HeldMessage& message = held[i];
    if (message.can_cut && message.sequence.value >= lowest) consider(i, message.sequence.value);
    both += message.intact && logged.contains(message.sequence.value);
    own_behind -= is_own(message);
    back_behind -= is_back(message);
  }
  consider(held.size(), held.back().sequence.value + 1);
  return best;
}

}  // namespace segue::storage
