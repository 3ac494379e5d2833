#include "node/publish_intake.h"
#include "common/counted.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

namespace segue::node {

namespace {

constexpr std::uint64_t kHighestSeq = std::numeric_limits<std::uint64_t>::max() - 1;
constexpr std::size_t kMaxProducerId = 255;

Status bad(const std::string& text) {
  return Status(Code::kFrameError, "publish: " + text);
}

Status check_targets(const v1::ShardPublish& publish, std::uint32_t count) {
  for (const v1::QueueTarget& target : publish.targets()) {
    std::uint32_t lowest = 0;
    for (const std::uint32_t place : target.messages()) {
      if (place < lowest || place >= count) {
        return bad("the target queue " + std::to_string(target.queue_id()) + " names message " +
                   std::to_string(place) + "; places must rise and be below " +
                   std::to_string(count));
      }
      lowest = place + 1;
    }
  }
  return {};
}

Status check_seqs(const v1::ShardPublish& publish, std::uint32_t count, CheckedPublish& checked) {
  if (publish.seqs().empty()) {
    if (publish.first_seq() > kHighestSeq - count) {
      return bad("field first_seq is " + std::to_string(publish.first_seq()) + ", too high for " +
                 counted(count, "message"));
    }
    checked.seqs = {publish.first_seq(), publish.first_seq() + count - 1};
    return {};
  }
  if (static_cast<std::uint32_t>(publish.seqs_size()) != count) {
    return bad("field seqs has " + std::to_string(publish.seqs_size()) + " entries for " +
               counted(count, "message"));
  }
  checked.listed_seqs.assign(publish.seqs().begin(), publish.seqs().end());
  for (std::size_t i = 1; i < checked.listed_seqs.size(); ++i) {
    if (checked.listed_seqs[i] <= checked.listed_seqs[i - 1]) {
      return bad("field seqs must rise: " + std::to_string(checked.listed_seqs[i]) +
                 " comes after " + std::to_string(checked.listed_seqs[i - 1]));
    }
  }
  if (checked.listed_seqs.back() > kHighestSeq) return bad("a number in field seqs is too high");
  checked.seqs = {checked.listed_seqs.front(), checked.listed_seqs.back()};
  return {};
}

}  // namespace

Result<CheckedPublish> check_publish(const v1::ShardPublish& publish, SharedBytes bodies,
                                     MemoryBudget& memory) {
  if (publish.body_bytes() != bodies.size()) {
    return bad("field body_bytes is " + std::to_string(publish.body_bytes()) + " but " +
               std::to_string(bodies.size()) + " bytes of bodies came");
  }
  if (publish.producer_id().size() > kMaxProducerId) {
    return bad("field producer_id has " + std::to_string(publish.producer_id().size()) +
               " bytes; at most " + std::to_string(kMaxProducerId) + " are allowed");
  }
  // Beside a byte or two for each message in the batch stand an offset and a header's number.
  const std::size_t beside = publish.batch().size() * 6 + 512;
  auto batch = MessageBatch::parse(SharedBytes::from(publish.batch()),
                                   memory.track(std::move(bodies), beside));
  if (!batch) return batch.status();
  CheckedPublish checked;
  checked.batch = std::move(*batch);
  SEGUE_RETURN_IF_ERROR(check_targets(publish, checked.batch->count()));
  SEGUE_RETURN_IF_ERROR(check_seqs(publish, checked.batch->count(), checked));
  return checked;
}

std::vector<NumberRange> seq_ranges(const CheckedPublish& publish,
                                    std::span<const std::uint32_t> places) {
  if (places.empty() && publish.listed_seqs.empty()) return {publish.seqs};
  std::vector<NumberRange> ranges;
  const std::size_t count = places.empty() ? publish.batch->count() : places.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = places.empty() ? i : places[i];
    const std::uint64_t seq =
        publish.listed_seqs.empty() ? publish.seqs.first + place : publish.listed_seqs[place];
    if (!ranges.empty() && ranges.back().last + 1 == seq) {
      ranges.back().last = seq;
    } else {
      ranges.push_back({seq, seq});
    }
  }
  return ranges;
}

std::vector<std::uint32_t> fresh_places(const v1::QueueTarget& target,
                                        const std::vector<std::uint32_t>& fresh) {
  if (target.messages().empty()) return fresh;
  std::vector<std::uint32_t> places;
  std::set_intersection(target.messages().begin(), target.messages().end(), fresh.begin(),
                        fresh.end(), std::back_inserter(places));
  return places;
}

}  // namespace segue::node
