#include "node/message_priorities.h"

#include <algorithm>
#include <map>

#include "segue/v1/types.pb.h"

namespace segue::node {

namespace {

std::vector<std::uint8_t> priorities_of_headers(const MessageBatch& batch,
                                                std::uint8_t max_priority) {
  std::vector<std::uint8_t> priorities;
  priorities.reserve(batch.distinct_headers().size());
  v1::MessageHeader header;
  for (const std::string_view bytes : batch.distinct_headers()) {
    std::uint32_t wanted = 0;
    if (header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      wanted = header.properties().priority();
    }
    priorities.push_back(static_cast<std::uint8_t>(std::min<std::uint32_t>(wanted, max_priority)));
  }
  return priorities;
}

}  // namespace

std::vector<PriorityPlaces> by_priority(const MessageBatch& batch,
                                        std::vector<std::uint32_t> places,
                                        std::uint8_t max_priority) {
  const std::vector<std::uint8_t> priorities = priorities_of_headers(batch, max_priority);
  const bool all_equal = std::all_of(priorities.begin(), priorities.end(),
                                     [&](std::uint8_t one) { return one == priorities.front(); });
  std::vector<PriorityPlaces> sorted;
  if (all_equal) {
    sorted.push_back({priorities.front(), std::move(places)});
    return sorted;
  }
  std::map<std::uint8_t, std::vector<std::uint32_t>> by;
  const auto count = places.empty() ? batch.count() : static_cast<std::uint32_t>(places.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = places.empty() ? i : places[i];
    by[priorities[batch.header_number(place)]].push_back(place);
  }
  for (auto& [priority, of_it] : by) sorted.push_back({priority, std::move(of_it)});
  return sorted;
}

}  // namespace segue::node
