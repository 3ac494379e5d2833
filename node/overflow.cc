#include "node/overflow.h"

#include <algorithm>

#include "common/counted.h"
#include "node/status_error.h"

namespace segue::node {

namespace {

constexpr std::size_t kMostProducers = 1000;

}  // namespace

bool refuse_overflow(const HostedQueue& hosted, const MessageBatch& batch,
                     std::vector<std::uint32_t>& places, std::vector<std::uint32_t>& refused) {
  const QueueLimits& limits = hosted.settings.limits;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  hosted.each_lane([&](const HostedQueue& lane) {
    messages += lane.queue.ready() + lane.queue.proposed();
    bytes += lane.queue.ready_bytes() + lane.queue.proposed_bytes();
  });
  const std::uint64_t count = places.empty() ? batch.count() : places.size();
  std::vector<std::uint32_t> taken;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t place = places.empty() ? static_cast<std::uint32_t>(i) : places[i];
    const std::uint64_t size = batch.body_size(place);
    const bool fits = messages < limits.messages &&
                      (!limits.counts_bytes() ||
                       (bytes <= limits.body_bytes && size <= limits.body_bytes - bytes));
    if (!fits) {
      refused.push_back(place);
      continue;
    }
    ++messages;
    bytes += size;
    taken.push_back(place);
  }
  if (taken.empty()) return false;
  if (taken.size() < count) places = std::move(taken);
  return true;
}

std::uint64_t body_bytes_at(const MessageBatch& batch, const std::vector<std::uint32_t>& places) {
  if (places.empty()) return batch.bodies().size();
  std::uint64_t bytes = 0;
  for (const std::uint32_t place : places) bytes += batch.body_size(place);
  return bytes;
}

v1::Error overflow_error(const HostedQueue& hosted) {
  const QueueLimits& limits = hosted.settings.limits;
  std::string text =
      "overflow: queue " + hosted.queue.display_name() + " has no room: its limit is";
  if (limits.messages != QueueLimits::kNone) {
    text += " " + counted(limits.messages, "ready message");
  }
  if (limits.counts_bytes()) {
    if (limits.messages != QueueLimits::kNone) text += " and";
    text += " " + counted(limits.body_bytes, "byte") + " of bodies";
  }
  return status_error(Code::kQueueFull, hosted.queue.name(), std::move(text));
}

void PartRefusals::add(const std::string& producer, std::uint64_t seq, QueueId queue) {
  // Of producers that went away for good nobody says so.
  if (producers_.size() >= kMostProducers && !producers_.contains(producer)) {
    producers_.erase(producers_.begin());
  }
  producers_[producer][seq].push_back(queue);
}

const std::vector<QueueId>* PartRefusals::find(const std::string& producer,
                                               std::uint64_t seq) const {
  const auto known = producers_.find(producer);
  if (known == producers_.end()) return nullptr;
  const auto found = known->second.find(seq);
  return found == known->second.end() ? nullptr : &found->second;
}

void PartRefusals::forget_below(const std::string& producer, std::uint64_t seq) {
  const auto known = producers_.find(producer);
  if (known == producers_.end()) return;
  known->second.erase(known->second.begin(), known->second.lower_bound(seq));
  if (known->second.empty()) producers_.erase(known);
}

}  // namespace segue::node
