#include "node/spiller.h"

#include <algorithm>
#include <chrono>

namespace segue::node {

namespace {

constexpr Duration kBetweenTries = std::chrono::milliseconds(5);
constexpr Duration kForEachQueue = std::chrono::microseconds(1);
constexpr std::size_t kLargest = 64;
constexpr std::size_t kSweepAtOnce = 2000;

}  // namespace

void Spiller::end_turn() {
  if (!memory_.should_spill() || clock_.now < next_try_) return;
  // Looking at all queues takes its time when there are many.
  next_try_ = clock_.now + kBetweenTries + kForEachQueue * queues_.in_memory().size();
  relieve();
}

std::vector<HostedQueue*> Spiller::largest() const {
  QueueTable::MemoryList& list = queues_.in_memory();
  std::vector<HostedQueue*> queues;
  queues.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) queues.push_back(&list[i]);
  const auto larger = [](const HostedQueue* one, const HostedQueue* other) {
    return one->queue.memory_bytes() > other->queue.memory_bytes();
  };
  const std::size_t wanted = std::min(std::max(kLargest, queues.size() / 8), queues.size());
  std::partial_sort(queues.begin(), queues.begin() + static_cast<std::ptrdiff_t>(wanted),
                    queues.end(), larger);
  queues.resize(wanted);
  return queues;
}

void Spiller::relieve() {
  const std::uint64_t surplus = memory_.surplus();
  const std::uint64_t window = read_ahead_.window();
  std::uint64_t freed = 0;
  std::uint64_t coming = storer_.bytes_on_the_way();  // can be let go of when it is written
  const std::vector<HostedQueue*> queues = largest();
  for (HostedQueue* hosted : queues) {
    if (freed + coming >= surplus) return;
    freed += hosted->queue.evict_window(window);
    if (hosted->queue.has_unstored()) {
      coming += hosted->queue.unstored_bytes();
      storer_.want(*hosted, hosted->queue.applied_through());
    }
  }
  for (HostedQueue* hosted : queues) {
    if (freed + coming >= surplus) return;
    freed += hosted->queue.evict_delivered();
  }
  for (HostedQueue* hosted : queues) {
    if (freed + coming >= surplus) return;
    freed += hosted->queue.evict_window(0);
  }
}

void Spiller::on_tick() {
  QueueTable::MemoryList& list = queues_.in_memory();
  for (std::size_t i = 0; i < kSweepAtOnce && !list.empty(); ++i) {
    if (swept_ >= list.size()) swept_ = 0;
    HostedQueue& hosted = list[swept_];
    hosted.queue.release_if_idle();
    if (hosted.queue.has_memory()) {
      ++swept_;
    } else {
      list.remove(hosted);  // another takes its place
    }
    if (swept_ == 0 && i > 0) break;
  }
}

}  // namespace segue::node
