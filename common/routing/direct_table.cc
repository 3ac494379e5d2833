#include "common/routing/direct_table.h"

namespace segue {

void DirectTable::add(std::string_view routing_key, QueueId queue) {
  auto found = queues_.find(routing_key);
  if (found == queues_.end()) found = queues_.try_emplace(std::string(routing_key)).first;
  found->second.add(queue);
}

void DirectTable::remove(std::string_view routing_key, QueueId queue) {
  const auto found = queues_.find(routing_key);
  if (found == queues_.end()) return;
  found->second.remove(queue);
  if (found->second.empty()) queues_.erase(found);
}

void DirectTable::match(std::string_view routing_key, std::vector<QueueId>& queues) const {
  queues.clear();
  const auto found = queues_.find(routing_key);
  if (found != queues_.end()) found->second.append_to(queues);
}

}  // namespace segue
