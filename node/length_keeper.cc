#include "node/length_keeper.h"

#include <limits>

namespace segue::node {

void LengthKeeper::end_turn() {
  for (HostedQueue* hosted : queues_.over_length().take_all()) drop_head(*hosted);
}

void LengthKeeper::drop_head(HostedQueue& hosted) {
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  const QueueLimits& limits = hosted.settings.limits;
  while (hosted.is_over_length()) {
    // Of the lowest priority first.
    HostedQueue* lane = &hosted;
    for (auto at = hosted.lanes.rbegin(); lane->queue.ready() == 0; ++at) {
      if (at == hosted.lanes.rend()) return;
      lane = *at;
    }
    // Too many messages go whatever their size; then only as many as there are bytes too many.
    const std::uint64_t ready = hosted.ready();
    const bool many = ready > limits.messages;
    const auto dropped =
        lane->queue.take_head(many ? ready - limits.messages : kAny,
                              many ? kAny : hosted.ready_bytes() - limits.body_bytes, disk_);
    if (!dropped) return;
    shards_.of(*lane).depart(*lane, *dropped, Departure::kMaxlen);
  }
}

}  // namespace segue::node
