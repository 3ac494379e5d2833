#include "node/message_groups.h"

#include <algorithm>

#include "common/check.h"
#include "common/checksum.h"
#include "common/message_ids.h"
#include "node/consumer.h"

namespace segue::node {

namespace {

/// What is remembered of one message, about.
constexpr std::uint64_t kKnownBytes = 160;

}  // namespace

MessageGroups::~MessageGroups() {
  memory_.remove(known_.size() * kKnownBytes);
}

MessageGroups::Key MessageGroups::key_of(std::string_view header) {
  const std::string_view id = find_group_id(header);
  return id.empty() ? kNoGroup : std::max<Key>(xxh3_64(id), 1);
}

MessageGroups::Claim MessageGroups::claim(Key key) const {
  const auto found = groups_.find(key);
  if (key == kNoGroup || found == groups_.end()) return {};
  return {!found->second.held.empty(), found->second.owner};
}

MessageGroups::Group& MessageGroups::group_of(Key key) {
  Group& group = groups_[key];
  group.key = key;
  return group;
}

void MessageGroups::add(std::uint64_t sequence, Group& group, bool out) {
  known_.emplace_hint(known_.end(), sequence, Known{&group, out});
  memory_.add(kKnownBytes);
}

MessageGroups::KnownMap::iterator MessageGroups::remove(KnownMap::iterator at) {
  memory_.remove(kKnownBytes);
  return known_.erase(at);
}

void MessageGroups::hold(Key key, Sequence sequence) {
  Group& group = group_of(key);
  add(sequence.value, group, false);
  group.held.insert(group.held.end(), sequence.value);
  ++held_;
  if (group.listed_at == 0) list(group);
}

void MessageGroups::deliver(Consumer& consumer, Key key, Sequence sequence) {
  if (key == kNoGroup) {
    if (!alone_.empty()) alone_.remove({sequence.value, sequence.value});
    return;
  }
  Group& group = group_of(key);
  const auto known = known_.find(sequence.value);
  if (known == known_.end()) {
    add(sequence.value, group, true);
  } else {
    SEGUE_CHECK(known->second.group == &group && !known->second.out);
    known->second.out = true;
    group.held.erase(sequence.value);
    --held_;
  }
  SEGUE_CHECK(group.owner == nullptr || group.owner == &consumer);
  if (group.owner == nullptr) ++owned_;
  group.owner = &consumer;
  ++group.out;
  if (group.listed_at != 0) list(group);
}

void MessageGroups::end_delivery(Group& group) {
  if (--group.out > 0) return;
  group.owner = nullptr;
  --owned_;
}

bool MessageGroups::leave(NumberRange sequences) {
  bool changed = !alone_.empty() && alone_.remove(sequences) > 0;
  auto at = known_.lower_bound(sequences.first);
  while (at != known_.end() && at->first <= sequences.last) {
    Group& group = *at->second.group;
    if (at->second.out) {
      end_delivery(group);
    } else {
      group.held.erase(at->first);
      --held_;
    }
    at = remove(at);
    list(group);
    changed = true;
  }
  return changed;
}

void MessageGroups::come_back(NumberRange sequences) {
  std::uint64_t next = sequences.first;
  auto at = known_.lower_bound(sequences.first);
  for (; at != known_.end() && at->first <= sequences.last; ++at) {
    if (at->first > next) alone_.add({next, at->first - 1});
    next = at->first + 1;
    if (!at->second.out) continue;
    Group& group = *at->second.group;
    at->second.out = false;
    group.held.insert(at->first);
    ++held_;
    end_delivery(group);
    list(group);
  }
  if (next <= sequences.last) alone_.add({next, sequences.last});
}

Sequence MessageGroups::first_for(const Consumer& consumer) const {
  std::uint64_t first = alone_.empty() ? 0 : alone_.front().first;
  for (const Consumer* const owner : {static_cast<const Consumer*>(nullptr), &consumer}) {
    const auto ready = ready_.find(owner);
    if (ready == ready_.end()) continue;
    const std::uint64_t here = ready->second.begin()->first;
    if (first == 0 || here < first) first = here;
  }
  return Sequence{first};
}

std::uint32_t MessageGroups::alike(Sequence first, std::uint32_t most) const {
  NumberRange range;
  if (!alone_.empty() && alone_.find_from(first.value, &range) && range.first <= first.value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, range.last - first.value + 1));
  }
  auto at = known_.find(first.value);
  if (at == known_.end()) return 0;
  const Group* const group = at->second.group;
  std::uint32_t count = 0;
  while (count < most && at != known_.end() && at->first == first.value + count &&
         at->second.group == group && !at->second.out) {
    ++count;
    ++at;
  }
  return count;
}

MessageGroups::Key MessageGroups::key_at(Sequence sequence) const {
  const auto known = known_.find(sequence.value);
  return known == known_.end() ? kNoGroup : known->second.group->key;
}

void MessageGroups::list(Group& group) {
  unlist(group);
  if (group.held.empty()) {
    if (group.out == 0) groups_.erase(Key{group.key});
    return;
  }
  group.listed_at = *group.held.begin();
  group.listed_for = group.owner;
  ready_[group.owner][group.listed_at] = &group;
  if (group.owner != nullptr && group.owner->in_ring()) offered(*group.owner);
}

void MessageGroups::unlist(Group& group) {
  if (group.listed_at == 0) return;
  const auto ready = ready_.find(group.listed_for);
  ready->second.erase(group.listed_at);
  if (ready->second.empty()) ready_.erase(ready);
  group.listed_at = 0;
}

void MessageGroups::offered(Consumer& consumer) {
  if (waits_for(consumer)) eager_[{consumer.peer(), consumer.number()}] = &consumer;
}

void MessageGroups::gone(const Consumer& consumer) {
  eager_.erase({consumer.peer(), consumer.number()});
}

std::vector<Consumer*> MessageGroups::take_eager() {
  std::vector<Consumer*> eager;
  if (eager_.empty()) return eager;
  for (const auto& [number, consumer] : std::exchange(eager_, {})) eager.push_back(consumer);
  return eager;
}

}  // namespace segue::node
