#include "node/consumer_ring.h"

#include <iterator>

namespace segue::node {

void ConsumerRing::offer(Consumer& consumer) {
  if (consumer.in_ring_) return;
  auto& group = groups_[consumer.priority()];
  consumer.ring_place_ = group.insert(group.end(), &consumer);
  consumer.in_ring_ = true;
}

void ConsumerRing::withdraw(Consumer& consumer) {
  if (!consumer.in_ring_) return;
  const auto group = groups_.find(consumer.priority());
  group->second.erase(consumer.ring_place_);
  if (group->second.empty()) groups_.erase(group);
  consumer.in_ring_ = false;
}

void ConsumerRing::rotate() {
  auto& group = groups_.begin()->second;
  group.splice(group.end(), group, group.begin());
}

}  // namespace segue::node
