#include "router/publish_ledger.h"

#include <algorithm>
#include <limits>

namespace segue::router {

Status PublishLedger::admit(std::uint64_t first_seq, std::uint32_t count, std::uint64_t cost,
                            std::uint64_t batch_bytes) {
  if (first_seq < next_seq_) {
    return Status(Code::kFrameError, "publish: first_seq is " + std::to_string(first_seq) +
                                         ", but seqs rise within a " + "session: at least " +
                                         std::to_string(next_seq_) +
                                         " was due; publishes are repeated only in a new session");
  }
  if (first_seq > std::numeric_limits<std::uint64_t>::max() - count) {
    return Status(Code::kFrameError, "publish: first_seq is too large for the batch");
  }
  if (unconfirmed_ + count > options_.max_unconfirmed) {
    return Status(Code::kNoCredit, "publish: " + std::to_string(unconfirmed_ + count) +
                                       " publishes would be unconfirmed, " +
                                       std::to_string(options_.max_unconfirmed) +
                                       " are allowed (HelloOk.max_unconfirmed)");
  }
  if (cost > granted_bytes_ - published_bytes_) {
    return Status(Code::kNoCredit, "publish: the batch costs " + std::to_string(cost) +
                                       " bytes of credit, " +
                                       std::to_string(granted_bytes_ - published_bytes_) +
                                       " are left; wait for Confirm.granted_bytes");
  }
  if (batch_bytes_ + batch_bytes > options_.max_batch_bytes) {
    return Status(Code::kResourceError,
                  "publish: headers of unconfirmed messages would take " +
                      std::to_string(batch_bytes_ + batch_bytes) + " bytes, " +
                      std::to_string(options_.max_batch_bytes) +
                      " are allowed; use smaller headers or fewer unconfirmed messages");
  }
  next_seq_ = first_seq + count;
  unconfirmed_ += count;
  published_bytes_ += cost;
  return Status::ok();
}

void PublishLedger::answered(std::uint64_t first_seq, std::uint64_t last_seq, std::uint64_t cost) {
  unconfirmed_ -= last_seq - first_seq + 1;
  granted_bytes_ += cost;
}

void PublishLedger::append(std::vector<SeqRange>& ranges, std::uint64_t first, std::uint64_t last) {
  if (!ranges.empty() && ranges.back().last + 1 == first) {
    ranges.back().last = last;
  } else {
    ranges.push_back({first, last});
  }
}

void PublishLedger::confirm(std::uint64_t first_seq, std::uint64_t last_seq, std::uint64_t cost,
                            v1::Durability durability) {
  answered(first_seq, last_seq, cost);
  durability_ = std::max(durability_, durability);
  append(confirmed_, first_seq, last_seq);
}

void PublishLedger::confirm_unroutable(std::uint64_t seq, std::uint64_t cost) {
  answered(seq, seq, cost);
  append(confirmed_, seq, seq);
  append(unroutable_, seq, seq);
}

void PublishLedger::reject(std::uint64_t first_seq, std::uint64_t last_seq, std::uint64_t cost,
                           const v1::Error& error, const std::vector<std::string>& queues) {
  answered(first_seq, last_seq, cost);
  if (!rejected_.empty()) {
    v1::Rejected& before = rejected_.back();
    if (before.seqs().last() + 1 == first_seq && before.error().code() == error.code() &&
        before.error().entity() == error.entity() && before.error().text() == error.text() &&
        std::equal(before.queues().begin(), before.queues().end(), queues.begin(), queues.end())) {
      before.mutable_seqs()->set_last(last_seq);
      return;
    }
  }
  v1::Rejected& rejected = rejected_.emplace_back();
  rejected.mutable_seqs()->set_first(first_seq);
  rejected.mutable_seqs()->set_last(last_seq);
  *rejected.mutable_error() = error;
  for (const std::string& queue : queues) rejected.add_queues(queue);
}

void PublishLedger::write(std::vector<SeqRange>& ranges,
                          google::protobuf::RepeatedPtrField<v1::Range>& to) {
  const auto by_first = [](const SeqRange& a, const SeqRange& b) { return a.first < b.first; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), by_first)) {
    std::sort(ranges.begin(), ranges.end(), by_first);
  }
  v1::Range* last = nullptr;
  for (const SeqRange& range : ranges) {
    if (last != nullptr && last->last() + 1 == range.first) {
      last->set_last(range.last);
      continue;
    }
    last = to.Add();
    last->set_first(range.first);
    last->set_last(range.last);
  }
  ranges.clear();
}

void PublishLedger::take_answers(v1::Confirm& confirm) {
  write(confirmed_, *confirm.mutable_confirmed());
  write(unroutable_, *confirm.mutable_unroutable());
  for (v1::Rejected& rejected : rejected_) *confirm.add_rejected() = std::move(rejected);
  rejected_.clear();
  confirm.set_granted_bytes(granted_bytes_);
  confirm.set_durability(durability_);
  durability_ = v1::DURABILITY_UNSPECIFIED;
}

}  // namespace segue::router
