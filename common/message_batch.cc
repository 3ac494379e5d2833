#include "common/message_batch.h"

#include <algorithm>

#include <cstring>
#include <limits>

#include "common/counted.h"
#include "segue/v1/types.pb.h"

namespace segue {

namespace {

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

Status bad(std::string text) {
  return Status(Code::kFrameError, "message batch: " + std::move(text));
}

}  // namespace

Result<MessageBatchPtr> MessageBatch::parse(SharedBytes batch, SharedBytes bodies) {
  if (batch.size() > std::numeric_limits<std::int32_t>::max()) return bad("larger than 2 GiB");
  v1::RawMessageBatch raw;
  if (!raw.ParseFromArray(batch.data(), static_cast<int>(batch.size())))
    return bad("not a MessageBatch");
  if (raw.sizes().empty()) return bad("field sizes is empty: a batch has at least one message");
  if (raw.headers().empty())
    return bad("field headers is empty: there must be at least one header");

  auto parsed = std::shared_ptr<MessageBatch>(new MessageBatch());
  parsed->serialized_ = std::move(batch);
  parsed->bodies_ = std::move(bodies);
  parsed->offsets_.reserve(static_cast<std::size_t>(raw.sizes_size()) + 1);
  std::uint64_t end = 0;
  parsed->offsets_.push_back(0);
  for (const std::uint32_t size : raw.sizes()) parsed->offsets_.push_back(end += size);
  if (end != parsed->bodies_.size()) {
    return bad("field sizes adds up to " + std::to_string(end) + " bytes but the bodies have " +
               std::to_string(parsed->bodies_.size()));
  }
  if (raw.header_index().empty()) {
    if (raw.headers_size() != 1) {
      return bad(
          "field header_index is missing: it may only be left out with one header, there are " +
          std::to_string(raw.headers_size()));
    }
  } else if (raw.header_index_size() != raw.sizes_size()) {
    return bad("field header_index has " + std::to_string(raw.header_index_size()) +
               " entries for " + counted(raw.sizes_size(), "message"));
  }
  const auto header_count = static_cast<std::uint32_t>(raw.headers_size());
  for (const std::uint32_t index : raw.header_index()) {
    if (index >= header_count) {
      return bad("field header_index names header " + std::to_string(index) + " of " +
                 std::to_string(header_count));
    }
  }
  parsed->header_index_.assign(raw.header_index().begin(), raw.header_index().end());
  // The headers are kept in one buffer of their own: a few bytes, copied once.
  std::size_t header_bytes = 0;
  for (const std::string& header : raw.headers()) header_bytes += header.size();
  auto store = std::make_shared<std::string>();
  store->reserve(header_bytes);
  for (const std::string& header : raw.headers()) {
    const std::size_t at = store->size();
    store->append(header);
    parsed->headers_.emplace_back(store->data() + at, header.size());
  }
  parsed->header_store_ = std::move(store);
  parsed->find_message_times();
  return MessageBatchPtr(std::move(parsed));
}

void MessageBatch::find_message_times() {
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    const MessageTimes times = find_times(headers_[i]);
    if (times.delay_ms > 0 || times.deliver_at_ms > 0) {
      if (delays_.empty()) delays_.resize(headers_.size());
      delays_[i] = times;
    }
    if (times.expiration == kNoExpiration) continue;
    if (expirations_.empty()) expirations_.assign(headers_.size(), kNoExpiration);
    expirations_[i] = times.expiration;
    if (!can_expire() || times.expiration < least_expiration_) least_expiration_ = times.expiration;
  }
}

std::int64_t MessageRun::least_own_expiration(std::uint32_t place, std::uint32_t length) const {
  if (!delayed) return batch->least_expiration();
  std::int64_t least = kNever;
  for (const std::uint32_t end = place + length; place < end; ++place) {
    least = std::min(least, own_expiration(place));
  }
  return least;
}

std::size_t MessageBatch::memory_bytes() const {
  return sizeof(*this) + serialized_.size() + bodies_.size() +
         headers_.size() * sizeof(headers_[0]) + header_index_.size() * sizeof(header_index_[0]) +
         offsets_.size() * sizeof(offsets_[0]) + expirations_.size() * sizeof(expirations_[0]) +
         delays_.size() * sizeof(delays_[0]) + header_store_->size();
}

void MessageBatchBuilder::add(const MessageBatchPtr& batch, std::uint32_t first,
                              std::uint32_t count) {
  if (count == 0) return;
  if (known_batch_owner_ != batch) {
    known_batch_owner_ = batch;
    known_numbers_.assign(batch->distinct_headers().size(), kUnknown);
  }
  for (std::uint32_t i = first; i < first + count; ++i) {
    std::uint32_t& number = known_numbers_[batch->header_number(i)];
    if (number == kUnknown) number = intern(batch->header(i));
    header_index_.push_back(number);
    sizes_.push_back(batch->body_size(i));
  }
  add_body(batch->body_run(first, count));
}

void MessageBatchBuilder::add(std::string_view header, SharedBytes body) {
  header_index_.push_back(intern(header));
  sizes_.push_back(static_cast<std::uint32_t>(body.size()));
  add_body(std::move(body));
}

std::uint32_t MessageBatchBuilder::intern(std::string_view header) {
  if (headers_.empty() || headers_.back() != header) headers_.emplace_back(header);
  return static_cast<std::uint32_t>(headers_.size() - 1);
}

void MessageBatchBuilder::add_body(SharedBytes body) {
  body_bytes_ += body.size();
  if (body.empty()) return;
  if (!bodies_.empty()) {
    SharedBytes& last = bodies_.back();
    if (last.owner() == body.owner() && last.data() + last.size() == body.data()) {
      last = SharedBytes(last.owner(), last.data(), last.size() + body.size());
      return;
    }
  }
  bodies_.push_back(std::move(body));
}

MessageBatchBuilder::Built MessageBatchBuilder::take() {
  v1::RawMessageBatch raw;
  raw.mutable_headers()->Reserve(static_cast<int>(headers_.size()));
  for (std::string& header : headers_) raw.add_headers(std::move(header));
  if (headers_.size() > 1)
    raw.mutable_header_index()->Add(header_index_.begin(), header_index_.end());
  raw.mutable_sizes()->Add(sizes_.begin(), sizes_.end());
  Built built;
  raw.SerializeToString(&built.batch);
  built.bodies = std::move(bodies_);
  built.body_bytes = body_bytes_;
  built.count = count();
  headers_.clear();
  header_index_.clear();
  sizes_.clear();
  bodies_.clear();
  body_bytes_ = 0;
  known_batch_owner_.reset();
  known_numbers_.clear();
  return built;
}

}  // namespace segue
