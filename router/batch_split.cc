#include "router/batch_split.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace segue::router {

namespace {

/// A part in the making.
struct Growing {
  ShardPart part;
  std::unordered_map<QueueId, std::size_t> target_of;
};

void add_target(Growing& growing, QueueId queue, std::uint32_t place) {
  const auto [found, added] = growing.target_of.try_emplace(queue, growing.part.targets.size());
  if (added) growing.part.targets.emplace_back().set_queue_id(queue.value);
  growing.part.targets[found->second].add_messages(place);
}

void add_message(std::map<ShardId, Growing>& parts, const Route& route, std::uint32_t message) {
  Growing* growing = nullptr;
  for (const Route::Target& target : route.targets) {
    if (growing == nullptr || growing->part.shard != target.shard) {
      growing = &parts[target.shard];
      growing->part.shard = target.shard;
      growing->part.needs = std::max(growing->part.needs, route.needs);
      growing->part.places.push_back(message);
    }
    add_target(*growing, target.queue, static_cast<std::uint32_t>(growing->part.places.size() - 1));
  }
}

}  // namespace

std::vector<ShardPart> split_uniform(const Route& route) {
  std::vector<ShardPart> parts;
  for (const Route::Target& target : route.targets) {
    if (parts.empty() || parts.back().shard != target.shard) {
      ShardPart& part = parts.emplace_back();
      part.shard = target.shard;
      part.needs = route.needs;
    }
    parts.back().targets.emplace_back().set_queue_id(target.queue.value);
  }
  return parts;
}

std::vector<ShardPart> split_by_shard(const std::vector<const Route*>& routes, std::uint32_t begin,
                                      std::uint32_t batch_count) {
  std::map<ShardId, Growing> growing;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (routes[i] != nullptr) {
      add_message(growing, *routes[i], begin + static_cast<std::uint32_t>(i));
    }
  }
  std::vector<ShardPart> parts;
  parts.reserve(growing.size());
  for (auto& [shard, one] : growing) {
    const std::size_t count = one.part.places.size();
    for (v1::QueueTarget& target : one.part.targets) {
      if (static_cast<std::size_t>(target.messages_size()) == count) target.clear_messages();
    }
    if (count == batch_count) one.part.places.clear();
    parts.push_back(std::move(one.part));
  }
  return parts;
}

PartBatch batch_of(const ShardPart& part, const MessageBatchPtr& batch) {
  if (part.places.empty()) {
    return {std::string(batch->serialized().view()), batch->bodies()};
  }
  MessageBatchBuilder builder;
  for (std::size_t i = 0; i < part.places.size();) {
    std::size_t run = 1;
    while (i + run < part.places.size() && part.places[i + run] == part.places[i] + run) ++run;
    builder.add(batch, part.places[i], static_cast<std::uint32_t>(run));
    i += run;
  }
  MessageBatchBuilder::Built built = builder.take();
  std::string bodies;
  bodies.reserve(built.body_bytes);
  for (const SharedBytes& piece : built.bodies) bodies += piece.view();
  return {std::move(built.batch), SharedBytes::from(std::move(bodies))};
}

}  // namespace segue::router
