#include "node/dedupe_window.h"

#include <algorithm>
#include <limits>
#include <string>

#include "common/checksum.h"
#include "common/message_ids.h"

namespace segue::node {

namespace {

/// Of the second half of the hash.
constexpr std::uint64_t kHighSeed = 0x9e3779b97f4a7c15;
/// An entry as it stands in a checkpoint: both halves of the hash and the time, little-endian.
constexpr std::size_t kStoredBytes = 24;

void put(std::string& to, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint64_t read(const char* from) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(from[i]);
  return value;
}

}  // namespace

DedupeId DedupeId::of(std::string_view text) {
  return {xxh3_64(text), xxh3_64(text, kHighSeed)};
}

// ---- the window

DedupeWindow::~DedupeWindow() {
  memory_.remove(bytes());
}

std::uint64_t DedupeWindow::bytes() const {
  return order_.size() * kEntryBytes;
}

void DedupeWindow::set_limits(const DedupeLimits& limits, std::int64_t now_ms) {
  limits_ = limits;
  if (!limits.any()) return clear();
  while (order_.size() > limits_.max_entries) forget_oldest();
  forget_old(now_ms, std::numeric_limits<std::size_t>::max());
}

bool DedupeWindow::knows(const DedupeId& id, std::int64_t now_ms) const {
  if (!proposed_.empty() && proposed_.contains(id)) return true;
  const Times& times = part_of(id);
  const auto found = times.find(id);
  return found != times.end() && !is_over(found->second, now_ms);
}

void DedupeWindow::end_proposed(const DedupeId& id) {
  const auto found = proposed_.find(id);
  if (found != proposed_.end() && --found->second == 0) proposed_.erase(found);
}

void DedupeWindow::add(const DedupeId& id, std::int64_t time_ms) {
  if (!limits_.any()) return;
  std::int64_t& time = part_of(id).try_emplace(id, time_ms).first->second;
  time = std::max(time, time_ms);
  order_.push_back({id, time_ms});
  memory_.add(kEntryBytes);
  while (order_.size() > limits_.max_entries) forget_oldest();
}

void DedupeWindow::forget_oldest() {
  const Entry oldest = order_.front();
  order_.pop_front();
  memory_.remove(kEntryBytes);
  Times& times = part_of(oldest.id);
  const auto found = times.find(oldest.id);
  // It may have come again since then.
  if (found != times.end() && found->second <= oldest.time_ms) times.erase(found);
}

void DedupeWindow::forget_old(std::int64_t now_ms, std::size_t most) {
  for (std::size_t i = 0; i < most && !order_.empty(); ++i) {
    if (!is_over(order_.front().time_ms, now_ms)) return;
    forget_oldest();
  }
}

void DedupeWindow::forget(std::uint64_t count) {
  for (; count > 0 && !order_.empty(); --count) forget_oldest();
}

void DedupeWindow::clear() {
  memory_.remove(bytes());
  order_.clear();
  for (Times& times : parts_) times.clear();
}

// ---- in checkpoints

void DedupeWindow::save(v1::DedupeState& state) const {
  state.set_window_ms(limits_.window_ms);
  state.set_max_entries(limits_.max_entries);
  std::string& entries = *state.mutable_entries();
  entries.reserve(order_.size() * kStoredBytes);
  for (const Entry& entry : order_) {
    put(entries, entry.id.low);
    put(entries, entry.id.high);
    put(entries, static_cast<std::uint64_t>(entry.time_ms));
  }
}

Status DedupeWindow::restore(const v1::DedupeState& state) {
  const std::string& entries = state.entries();
  if (state.window_ms() <= 0 || entries.size() % kStoredBytes != 0) {
    return Status(Code::kCorruption, "a deduplication window of " +
                                         std::to_string(state.window_ms()) + " ms with " +
                                         std::to_string(entries.size()) + " bytes makes no sense");
  }
  limits_ = {state.window_ms(), state.max_entries()};
  for (std::size_t at = 0; at < entries.size(); at += kStoredBytes) {
    const char* const entry = entries.data() + at;
    add({read(entry), read(entry + 8)}, static_cast<std::int64_t>(read(entry + 16)));
  }
  return {};
}

// ---- a batch

DedupeIds::DedupeIds(const MessageBatch& batch) : ids_(batch.distinct_headers().size()) {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::string_view text = find_deduplication_id(batch.distinct_headers()[i]);
    if (text.empty()) continue;
    ids_[i] = DedupeId::of(text);
    any_ = true;
  }
}

void DedupeFilter::take_out(const DedupeWindow& window, const DedupeIds& ids,
                            const MessageBatch& batch, std::int64_t now_ms,
                            std::vector<std::uint32_t>& places) {
  if (!ids.any()) return;
  const auto count = places.empty() ? batch.count() : static_cast<std::uint32_t>(places.size());
  std::unordered_map<DedupeId, std::uint32_t, DedupeHash> here;
  std::vector<std::uint32_t> left;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = places.empty() ? i : places[i];
    const DedupeId* const id = ids.of(batch, place);
    if (id != nullptr && window.knows(*id, now_ms)) {
      known_.push_back(place);
      continue;
    }
    if (id != nullptr) {
      const auto [first, added] = here.try_emplace(*id, place);
      if (!added) {
        repeats_.push_back({place, first->second});
        continue;
      }
    }
    left.push_back(place);
  }
  any_left_ = !left.empty();
  if (left.size() < count) places = std::move(left);
}

void DedupeFilter::add_duplicates(std::vector<std::uint32_t>& places) const {
  places.insert(places.end(), known_.begin(), known_.end());
  for (const Repeat& repeat : repeats_) places.push_back(repeat.place);
}

void DedupeFilter::add_repeats(std::vector<std::uint32_t>& refused) {
  const std::size_t before = refused.size();
  std::erase_if(repeats_, [&](const Repeat& repeat) {
    if (!std::binary_search(refused.begin(), refused.begin() + static_cast<std::ptrdiff_t>(before),
                            repeat.of)) {
      return false;
    }
    refused.push_back(repeat.place);
    return true;
  });
  std::sort(refused.begin(), refused.end());
}

}  // namespace segue::node
