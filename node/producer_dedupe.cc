#include "node/producer_dedupe.h"

#include <algorithm>
#include <utility>

namespace segue::node {

namespace {

constexpr std::int64_t kForgetAfterMs = 3'600'000;
constexpr std::int64_t kForgetNodesAfterMs = 30LL * 24 * 3'600'000;

}  // namespace

const ProducerDedupe::Entry* ProducerDedupe::find(std::string_view producer) const {
  const auto at = by_producer_.find(producer);
  return at == by_producer_.end() ? nullptr : &*at->second;
}

Status ProducerDedupe::check_session(std::string_view producer, std::uint64_t session) const {
  const Entry* entry = find(producer);
  if (entry == nullptr || session >= entry->session) return {};
  return Status(Code::kStaleEpoch,
                "a newer session of this producer (" + std::to_string(entry->session) +
                    ") has published here: what session " + std::to_string(session) +
                    " still sends is refused, the newer one has sent it again");
}

bool ProducerDedupe::all_fresh(std::string_view producer, std::uint64_t settled_below,
                               NumberRange seqs) const {
  if (seqs.first < settled_below) return false;
  const Entry* entry = find(producer);
  if (entry == nullptr) return true;
  if (seqs.first < entry->settled_below) return false;
  NumberRange near;
  for (const RangeSet* set : {&entry->enqueued, &entry->in_flight}) {
    if (set->empty() || set->highest() < seqs.first) continue;
    if (set->find_from(seqs.first, &near) && near.first <= seqs.last) return false;
  }
  return true;
}

void ProducerDedupe::find_fresh(std::string_view producer, std::uint64_t settled_below,
                                const std::vector<std::uint64_t>& seqs,
                                std::vector<std::uint32_t>& fresh) const {
  const Entry* entry = find(producer);
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    const std::uint64_t seq = seqs[i];
    const bool known =
        seq < settled_below ||
        (entry != nullptr && (seq < entry->settled_below || entry->enqueued.contains(seq) ||
                              entry->in_flight.contains(seq)));
    if (!known) fresh.push_back(static_cast<std::uint32_t>(i));
  }
}

ProducerDedupe::Entry& ProducerDedupe::touch(std::string_view producer) {
  const auto at = by_producer_.find(producer);
  Entries& entries = entries_of(producer);
  if (at != by_producer_.end()) {
    entries.splice(entries.end(), entries, at->second);
    return entries.back();
  }
  entries.emplace_back();
  entries.back().producer = std::string(producer);
  by_producer_.emplace(entries.back().producer, std::prev(entries.end()));
  return entries.back();
}

void ProducerDedupe::propose(std::string_view producer, std::uint64_t session,
                             const std::vector<NumberRange>& seqs) {
  const auto at = by_producer_.find(producer);
  Entry& entry = at != by_producer_.end() ? *at->second : touch(producer);
  entry.session = std::max(entry.session, session);
  for (const NumberRange& range : seqs) entry.in_flight.add(range);
}

void ProducerDedupe::apply(std::string_view producer, std::uint64_t session,
                           std::uint64_t settled_below, const std::vector<NumberRange>& seqs,
                           std::int64_t time_ms) {
  Entry& entry = touch(producer);
  entry.session = std::max(entry.session, session);
  entry.settled_below = std::max(entry.settled_below, settled_below);
  entry.last_time_ms = std::max(entry.last_time_ms, time_ms);
  for (const NumberRange& range : seqs) {
    if (!entry.in_flight.empty()) entry.in_flight.remove(range);
    if (range.last >= entry.settled_below) {
      entry.enqueued.add({std::max(range.first, entry.settled_below), range.last});
    }
  }
  entry.enqueued.remove_below(entry.settled_below);
  forget_old(clients_, time_ms);
  forget_old(nodes_, time_ms);
}

void ProducerDedupe::forget_old(Entries& entries, std::int64_t time_ms) {
  const std::int64_t after = &entries == &nodes_ ? kForgetNodesAfterMs : kForgetAfterMs;
  // The last one may have been used just now; one with messages on their way is kept until they are
  // applied.
  while (entries.size() > 1 && entries.front().in_flight.empty() &&
         (entries.size() > max_producers_ || entries.front().last_time_ms + after < time_ms)) {
    by_producer_.erase(entries.front().producer);
    entries.pop_front();
  }
}

void ProducerDedupe::save(v1::ShardState& state) const {
  for (const Entries* entries : {&clients_, &nodes_}) save(*entries, state);
}

void ProducerDedupe::save(const Entries& entries, v1::ShardState& state) {
  for (const Entry& entry : entries) {
    if (entry.last_time_ms == 0) continue;  // nothing of it was applied
    v1::ProducerState& producer = *state.add_producers();
    producer.set_producer_id(entry.producer);
    producer.set_session(entry.session);
    producer.set_settled_below(entry.settled_below);
    producer.set_last_time_ms(entry.last_time_ms);
    for (const auto& [first, last] : entry.enqueued.ranges()) {
      v1::Range& range = *producer.add_enqueued();
      range.set_first(first);
      range.set_last(last);
    }
  }
}

void ProducerDedupe::restore(const v1::ShardState& state) {
  for (const v1::ProducerState& producer : state.producers()) {
    Entry& entry = touch(producer.producer_id());
    entry.session = producer.session();
    entry.settled_below = producer.settled_below();
    entry.last_time_ms = producer.last_time_ms();
    for (const v1::Range& range : producer.enqueued()) {
      entry.enqueued.add({range.first(), range.last()});
    }
  }
}

}  // namespace segue::node
