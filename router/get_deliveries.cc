#include "router/get_deliveries.h"

#include <algorithm>

#include "router/consumer.h"

namespace segue::router {

GetDeliveries::Subscription* GetDeliveries::find(QueueId queue) {
  const auto found = subscriptions_.find(queue);
  return found == subscriptions_.end() ? nullptr : &found->second;
}

GetDeliveries::Subscription& GetDeliveries::add(QueueId queue, ConsumerId id, Node& node) {
  Subscription& subscription = subscriptions_[queue];
  subscription.id = id;
  subscription.node = &node;
  return subscription;
}

std::uint64_t GetDeliveries::delivered(const Subscription& subscription, QueueId queue,
                                       std::uint64_t number) {
  tags_.emplace(++last_tag_, Delivery{queue, subscription.life, number});
  return last_tag_;
}

GetDeliveries::Settled GetDeliveries::settle(const v1::Settle& settle) {
  Settled result;
  for (const v1::SettledTags& settled : settle.settled()) {
    if (const char* wrong = check_settled_tags(settled)) {
      result.wrong = wrong;
      continue;
    }
    const std::uint64_t first = settled.tags().first();
    const std::uint64_t last = settled.tags().last();
    std::uint64_t found = 0;
    auto at = tags_.lower_bound(first);
    while (at != tags_.end() && at->first <= last) {
      settle_one(at->second, settled, result);
      at = tags_.erase(at);
      ++found;
    }
    if (found < last - first + 1 || last - first + 1 == 0) {
      result.wrong = "a tag from " + std::to_string(first) + " to " + std::to_string(last) +
                     " was not given out by a get, or is settled";
    }
  }
  return result;
}

void GetDeliveries::settle_one(const Delivery& delivery, const v1::SettledTags& settled,
                               Settled& result) {
  const Subscription& subscription = subscriptions_.at(delivery.queue);
  if (delivery.life != subscription.life) {
    result.stale = true;
    return;
  }
  const auto same = [&](const Part& part) {
    return part.settle.consumer() == subscription.id.value;
  };
  auto part = std::find_if(result.parts.begin(), result.parts.end(), same);
  if (part == result.parts.end()) {
    part = result.parts.insert(part, Part{subscription.node, {}});
    part->settle.set_consumer(subscription.id.value);
  }
  auto& ranges = *part->settle.mutable_settled();
  if (!ranges.empty() && ranges.rbegin()->outcome() == settled.outcome() &&
      ranges.rbegin()->delay_ms() == settled.delay_ms() &&
      ranges.rbegin()->tags().last() + 1 == delivery.number) {
    ranges.rbegin()->mutable_tags()->set_last(delivery.number);
    return;
  }
  v1::SettledTags& added = *ranges.Add();
  added.mutable_tags()->set_first(delivery.number);
  added.mutable_tags()->set_last(delivery.number);
  added.set_outcome(settled.outcome());
  added.set_delay_ms(settled.delay_ms());
}

void GetDeliveries::on_node_down(const Node& node) {
  for (auto& [queue, subscription] : subscriptions_) {
    if (subscription.node == &node) ++subscription.life;
  }
}

}  // namespace segue::router
