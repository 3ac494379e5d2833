#include "node/group_reader.h"

#include <algorithm>
#include <utility>

namespace segue::node {

namespace {

/// Messages that are looked at in one step.
constexpr std::uint32_t kLook = 256;

}  // namespace

GroupReader::Next GroupReader::next_for(HostedQueue& hosted, Consumer& consumer, std::uint32_t most,
                                        std::uint64_t room) {
  return next(hosted, consumer, most, room, For::kTurn);
}

Queue::Next GroupReader::next_for_get(HostedQueue& hosted, Consumer& consumer) {
  return next(hosted, consumer, 1, 0, For::kGet).next;
}

Consumer* GroupReader::taker_of(const HostedQueue& hosted, MessageGroups::Key key,
                                Consumer& consumer, For what) {
  const MessageGroups::Claim claim = hosted.groups->claim(key);
  if (claim.waits) return nullptr;
  if (claim.owner == nullptr || claim.owner == &consumer) return &consumer;
  return what == For::kTurn && claim.owner->in_ring() ? claim.owner : nullptr;
}

void GroupReader::admit(Next& next, std::uint64_t room, For what) {
  MessageRun& run = next.next.run;
  if (what == For::kGet) return;
  run.count = std::max(1u, messages_within(run, run.count, room));
  const std::uint32_t admitted = next.taker->admits(run);
  next.cut = admitted < run.count;
  run.count = admitted;
}

void GroupReader::cut_to_taker(const HostedQueue& hosted, Next& next, Consumer& consumer,
                               For what) {
  MessageRun& run = next.next.run;
  std::uint32_t count = 1;
  while (count < run.count) {
    const MessageGroups::Key key = MessageGroups::key_of(run.batch->header(run.begin + count));
    if (key != keys_.back() && taker_of(hosted, key, consumer, what) != next.taker) break;
    keys_.push_back(key);
    ++count;
  }
  if (count < run.count) next.cut = false;
  run.count = count;
}

GroupReader::Next GroupReader::next(HostedQueue& hosted, Consumer& consumer, std::uint32_t most,
                                    std::uint64_t room, For what) {
  MessageGroups& groups = *hosted.groups;
  Shard& shard = shards_.of(hosted);
  while (true) {
    keys_.clear();
    // What was looked at is older than what was not.
    if (const Sequence known = groups.first_for(consumer); known > Sequence{0}) {
      Next found{shard.next_at(hosted, known, groups.alike(known, most)), &consumer};
      if (found.next.wait == Queue::Wait::kEmpty) {
        groups.leave({known.value, known.value});  // given up as damaged
        continue;
      }
      if (found.next.wait != Queue::Wait::kNothing) return found;
      keys_.assign(found.next.run.count, groups.key_at(known));
      admit(found, room, what);
      return found;
    }
    if (groups.is_full()) return {};
    Next found{shard.next(hosted, kLook)};
    MessageRun& run = found.next.run;
    if (found.next.wait != Queue::Wait::kNothing) return found;
    keys_.push_back(MessageGroups::key_of(run.batch->header(run.begin)));
    found.taker = taker_of(hosted, keys_[0], consumer, what);
    if (found.taker != nullptr) {
      run.count = std::min(run.count, most);
      admit(found, room, what);
      if (run.count > 0) cut_to_taker(hosted, found, consumer, what);
      return found;
    }
    cut_to_taker(hosted, found, consumer, what);
    hosted.queue.set_aside(run);
    for (std::uint32_t i = 0; i < run.count; ++i) groups.hold(keys_[i], run.first.next(i));
    // Those whose they are may have credit.
    if (what == For::kGet) shard.wake(hosted);
  }
}

void GroupReader::given(HostedQueue& hosted, Consumer& consumer, const MessageRun& run) {
  for (std::uint32_t i = 0; i < run.count; ++i) {
    hosted.groups->deliver(consumer, keys_[i], run.first.next(i));
  }
}

}  // namespace segue::node
