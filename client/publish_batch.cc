#include "client/publish_batch.h"

#include <algorithm>

#include "common/check.h"

namespace segue::client {

namespace {

// How far back a header is looked for before it is written again.
constexpr std::size_t kHeadersSearched = 64;
// Typical batches fit without growing.
constexpr std::size_t kExpectedMessages = 256;

}  // namespace

PublishBatch::PublishBatch(std::uint64_t first_seq, std::size_t buffer_bytes,
                           std::shared_ptr<BufferPool> buffers)
    : buffers_(std::move(buffers)), first_seq_(first_seq) {
  if (buffer_bytes > 0) open_ = buffers_->take(buffer_bytes);
  ends_.reserve(kExpectedMessages);
}

void PublishBatch::append(const HeaderPtr& header, std::string_view body) {
  open_.append(body);
  add(header, body.size());
}

void PublishBatch::set_single(const HeaderPtr& header, SharedBytes body) {
  SEGUE_CHECK(ends_.empty());
  add(header, body.size());
  bodies_ = std::move(body);
}

void PublishBatch::seal() {
  if (bodies_.empty()) bodies_ = buffers_->share(std::move(open_));
  open_ = {};
}

void PublishBatch::add(const HeaderPtr& header, std::uint64_t body_size) {
  const std::uint32_t number = number_of(header);
  if (headers_.size() > 1) header_index_.push_back(number);
  ends_.push_back(body_bytes() + body_size);
}

std::uint32_t PublishBatch::number_of(const HeaderPtr& header) {
  if (!headers_.empty()) {
    if (headers_[last_header_] == header) return last_header_;
    const std::size_t oldest =
        headers_.size() > kHeadersSearched ? headers_.size() - kHeadersSearched : 0;
    for (std::size_t i = headers_.size(); i > oldest; --i) {
      if (headers_[i - 1] == header) return last_header_ = static_cast<std::uint32_t>(i - 1);
    }
    // From here on the index must be written; all before have the first header.
    if (headers_.size() == 1) header_index_.assign(ends_.size(), 0);
  }
  header_bytes_ += header->size() + 8;
  headers_.push_back(header);
  return last_header_ = static_cast<std::uint32_t>(headers_.size() - 1);
}

std::uint64_t PublishBatch::body_bytes(Run run) const {
  return run.count == 0 ? 0 : ends_[run.begin + run.count - 1] - start_of(run.begin);
}

SharedBytes PublishBatch::bodies(Run run) const {
  return bodies_.slice(start_of(run.begin), body_bytes(run));
}

PublishBatch::Run PublishBatch::next_unsent() {
  std::uint32_t begin = sent_;
  std::uint32_t end = count();
  for (const Settled& settled : settled_) {
    if (settled.end <= begin) continue;
    if (settled.begin > begin) {
      end = settled.begin;
      break;
    }
    begin = settled.end;
  }
  sent_ = begin;
  return {begin, end - begin};
}

void PublishBatch::settle(std::uint64_t first, std::uint64_t last, std::vector<SeqRange>& newly) {
  auto begin = static_cast<std::uint32_t>(first - first_seq_);
  const auto end = static_cast<std::uint32_t>(last - first_seq_ + 1);
  // What lies between the settled places inside [begin, end) is new.
  auto at = std::lower_bound(settled_.begin(), settled_.end(), begin,
                             [](const Settled& s, std::uint32_t place) { return s.end < place; });
  Settled merged{begin, end};
  auto merge_end = at;
  for (; merge_end != settled_.end() && merge_end->begin <= end; ++merge_end) {
    if (merge_end->begin > begin) {
      newly.push_back({first_seq_ + begin, first_seq_ + merge_end->begin - 1});
      settled_count_ += merge_end->begin - begin;
    }
    begin = std::max(begin, merge_end->end);
    merged.begin = std::min(merged.begin, merge_end->begin);
    merged.end = std::max(merged.end, merge_end->end);
  }
  if (begin < end) {
    newly.push_back({first_seq_ + begin, first_seq_ + end - 1});
    settled_count_ += end - begin;
  }
  at = settled_.erase(at, merge_end);
  settled_.insert(at, merged);
}

std::uint64_t PublishBatch::first_unsettled() const {
  if (settled_.empty() || settled_.front().begin > 0) return first_seq_;
  return first_seq_ + settled_.front().end;
}

}  // namespace segue::client
