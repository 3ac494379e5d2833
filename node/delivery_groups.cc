// Delivering from queues with message groups (class Delivery).
#include <algorithm>
#include <vector>

#include "node/delivery.h"
#include "node/delivery_bounds.h"

namespace segue::node {

bool Delivery::serve_groups(HostedQueue& hosted) {
  if (!hosted.readers) return false;
  MessageGroups& groups = *hosted.groups;
  std::vector<Consumer*> wait_for_disk;
  bool more = true;
  while (more && has_room()) {
    // First those with credit whose groups wait for them.
    for (Consumer* const consumer : groups.take_eager()) {
      bool comes = true;
      while (comes && has_room() && consumer->in_ring() && groups.waits_for(*consumer)) {
        comes = serve_group_slice(hosted, *consumer);
      }
      if (consumer->in_ring() && groups.waits_for(*consumer)) wait_for_disk.push_back(consumer);
    }
    Consumer* const next = hosted.readers->ring.front();
    more = has_room() && next != nullptr && serve_group_slice(hosted, *next);
    // Who got the first message of a group may have more of it.
    more = more || groups.has_eager();
  }
  for (Consumer* const consumer : wait_for_disk) groups.offered(*consumer);
  return more || !has_room();
}

bool Delivery::serve_group_slice(HostedQueue& hosted, Consumer& consumer) {
  const std::uint64_t most = std::min(slice_, kQueueMessages - queue_messages_);
  const GroupReader::Next found = group_reader_.next_for(
      hosted, consumer, static_cast<std::uint32_t>(most), kQueueBytes - queue_bytes_);
  if (found.next.wait == Queue::Wait::kMark) shards_.of(hosted).propose_mark(hosted);
  if (found.next.wait != Queue::Wait::kNothing) return false;
  Consumer& taker = *found.taker;
  const MessageRun& run = found.next.run;
  if (run.count > 0) {
    give(hosted, taker, run);
    if (!taker.no_ack()) group_reader_.given(hosted, taker, run);
    if (&taker == hosted.readers->ring.front()) hosted.readers->ring.rotate();
  }
  if (found.cut || !taker.has_credit()) no_more(hosted, taker);
  return true;
}

}  // namespace segue::node
