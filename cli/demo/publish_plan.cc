#include "cli/demo/publish_plan.h"

#include <algorithm>

namespace segue::cli::demo {

PublishPlan::PublishPlan(std::size_t records, std::size_t producers, std::uint64_t least_messages)
    : records_(records),
      producers_(std::min(records, producers)),
      passes_(std::max<std::uint64_t>(1, (least_messages + records - 1) / records)) {}

std::uint64_t PublishPlan::share(std::size_t producer) const {
  return (records_ - producer + producers_ - 1) / producers_;
}

PublishPlan::Item PublishPlan::item(std::size_t producer, std::uint64_t seq) const {
  const std::uint64_t each = share(producer);
  const std::uint64_t index = (seq - 1) % each;
  return {(seq - 1) / each + 1, static_cast<std::size_t>(index) * producers_ + producer};
}

}  // namespace segue::cli::demo
