#include "node/delay_schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace segue::node {

void DelaySchedule::clear() {
  near_.clear();
  horizon_ = kEnd;
  void_ = true;
}

void DelaySchedule::forget() {
  near_.clear();
  horizon_ = {};
  void_ = true;
}

void DelaySchedule::add(Due due) {
  if (due >= horizon_) {
    if (scanning_) offer(due);
    return;
  }
  near_.insert(due);
  if (near_.size() <= most_) return;
  // Several at once, so that not each one that comes costs another.
  const auto first_out =
      std::prev(near_.end(), static_cast<std::ptrdiff_t>(std::max<std::size_t>(most_ / 4, 1)));
  horizon_ = *first_out;
  near_.erase(first_out, near_.end());
  void_ = true;
}

void DelaySchedule::begin_scan() {
  scanning_ = true;
  void_ = false;
  below_ = kEnd;
  offered_.clear();
}

void DelaySchedule::offer(Due due) {
  if (due < horizon_ || due >= below_) return;
  offered_.push_back(due);
  if (offered_.size() >= 2 * most_) keep_first();
}

void DelaySchedule::keep_first() {
  const std::size_t room = std::max<std::size_t>(most_ / 4 * 3, 1);
  if (offered_.size() <= room) return;
  const auto end = offered_.begin() + static_cast<std::ptrdiff_t>(room);
  std::nth_element(offered_.begin(), end, offered_.end());
  below_ = *end;
  offered_.erase(end, offered_.end());
  std::erase_if(offered_, [&](const Due& due) { return due >= below_; });
}

void DelaySchedule::end_scan() {
  keep_first();
  if (!void_) {
    near_.insert(offered_.begin(), offered_.end());
    horizon_ = below_;
  }
  abandon_scan();
}

void DelaySchedule::abandon_scan() {
  scanning_ = false;
  offered_ = {};
}

}  // namespace segue::node
