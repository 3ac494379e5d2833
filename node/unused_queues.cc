#include "node/unused_queues.h"

namespace segue::node {

void UnusedQueues::touch(const HostedQueue& hosted) {
  if (hosted.settings.expires > Duration::zero()) {
    set(hosted.queue.id(), clock_.now + hosted.settings.expires);
  } else if (!until_.empty()) {
    forget(hosted.queue.id());
  }
}

void UnusedQueues::set(QueueId queue, TimePoint until) {
  forget(queue);
  until_[queue] = until;
  order_.emplace(until, queue);
}

void UnusedQueues::forget(QueueId queue) {
  const auto found = until_.find(queue);
  if (found == until_.end()) return;
  order_.erase({found->second, queue});
  until_.erase(found);
}

void UnusedQueues::on_tick() {
  while (!order_.empty() && order_.begin()->first <= clock_.now) {
    const QueueId id = order_.begin()->second;
    forget(id);
    HostedQueue* hosted = queues_.find(id);
    if (hosted == nullptr || hosted->deleting) continue;
    if (hosted->has_consumers()) {
      touch(*hosted);  // and again when the last one goes
    } else {
      auto_delete_.ask(*hosted);
    }
  }
}

}  // namespace segue::node
