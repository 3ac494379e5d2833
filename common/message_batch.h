#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/expiry.h"
#include "common/ids.h"
#include "common/status.h"

namespace segue {

/// Messages that came together, parsed once: their headers and bodies are slices of the buffers
/// they came in. Immutable; shared by every queue, delivery and write that needs one of its
/// messages, on any thread.
class MessageBatch {
 public:
  /// Reads a serialized segue.v1.MessageBatch without looking inside the headers (but for their
  /// times), and checks it against its bodies: header indexes in range, sizes adding up to
  /// bodies.size(), at least one message and one header. Errors are FRAME_ERROR and say which field
  /// is wrong.
  static Result<std::shared_ptr<const MessageBatch>> parse(SharedBytes batch, SharedBytes bodies);

  std::uint32_t count() const { return static_cast<std::uint32_t>(offsets_.size() - 1); }
  /// The serialized MessageHeader of a message; valid while the batch lives.
  std::string_view header(std::uint32_t message) const { return headers_[header_number(message)]; }
  /// Which of distinct_headers() the message has.
  std::uint32_t header_number(std::uint32_t message) const {
    return header_index_.empty() ? 0 : header_index_[message];
  }
  const std::vector<std::string_view>& distinct_headers() const { return headers_; }
  std::string_view body(std::uint32_t message) const {
    return {bodies_.data() + offsets_[message], body_size(message)};
  }
  std::uint32_t body_size(std::uint32_t message) const {
    return static_cast<std::uint32_t>(offsets_[message + 1] - offsets_[message]);
  }
  /// The bodies of messages [first, first + count), which stand back to back.
  SharedBytes body_run(std::uint32_t first, std::uint32_t count) const {
    return bodies_.slice(offsets_[first], offsets_[first + count] - offsets_[first]);
  }
  std::uint64_t body_bytes(std::uint32_t first, std::uint32_t count) const {
    return offsets_[first + count] - offsets_[first];
  }
  /// The message's own expiration in milliseconds, or kNoExpiration.
  std::int64_t expiration(std::uint32_t message) const {
    return expirations_.empty() ? kNoExpiration : expirations_[header_number(message)];
  }
  /// The least of all of them; kNoExpiration if no message has one.
  std::int64_t least_expiration() const { return least_expiration_; }
  bool can_expire() const { return least_expiration_ != kNoExpiration; }
  /// Whether any message says that it is to be delivered later.
  bool any_delayed() const { return !delays_.empty(); }
  /// Before when the message is not delivered, milliseconds since 1970-01-01 UTC, if it arrives
  /// then.
  std::int64_t due(std::uint32_t message, std::int64_t arrived_ms) const {
    return delays_.empty() ? arrived_ms : delays_[header_number(message)].due(arrived_ms);
  }
  /// The batch as it was serialized, and all bodies.
  const SharedBytes& serialized() const { return serialized_; }
  const SharedBytes& bodies() const { return bodies_; }
  /// Memory that the batch keeps alive, roughly.
  std::size_t memory_bytes() const;

 private:
  MessageBatch() = default;
  void find_message_times();

  SharedBytes serialized_;
  SharedBytes bodies_;
  std::shared_ptr<const std::string> header_store_;
  std::vector<std::string_view> headers_;  // into header_store_
  std::vector<std::uint32_t> header_index_;
  std::vector<std::uint64_t> offsets_;     // count() + 1 of them
  std::vector<std::int64_t> expirations_;  // by header; empty: there are none
  std::int64_t least_expiration_ = kNoExpiration;
  std::vector<MessageTimes> delays_;  // by header; empty: no message has a delay
};

using MessageBatchPtr = std::shared_ptr<const MessageBatch>;

/// Messages of one queue with consecutive sequences that stand side by side in one batch.
struct MessageRun {
  Sequence first;
  MessageBatchPtr batch;
  std::uint32_t begin = 0;  // place of the first one in the batch
  std::uint32_t count = 0;
  /// When they came to the queue, milliseconds since 1970-01-01 UTC; 0: not known.
  std::int64_t arrived_ms = 0;
  /// They wait in a queue's delay lane: that counts as their own expirations, there.
  bool delayed = false;

  /// For storage, beside arrived_ms: of the message at this place in the batch.
  std::int64_t own_expiration(std::uint32_t place) const {
    return delayed ? batch->due(place, arrived_ms) - arrived_ms : batch->expiration(place);
  }
  /// The least of those at places [place, place + length), or an earlier one; kNoExpiration: none.
  std::int64_t least_own_expiration(std::uint32_t place, std::uint32_t length) const;
  Sequence last() const { return first.next(count - 1); }
  std::uint64_t body_bytes() const { return batch->body_bytes(begin, count); }
  /// The part of the run that starts `skip` messages in and has `length` messages.
  MessageRun part(std::uint32_t skip, std::uint32_t length) const {
    return {first.next(skip), batch, begin + skip, length, arrived_ms, delayed};
  }
};

/// Puts messages of several batches into one serialized MessageBatch and the list of their bodies.
/// Headers that come from the same batch, or are equal to the previous message's, are written once.
/// Reusable after take(). One thread.
class MessageBatchBuilder {
 public:
  /// Appends messages [first, first + count) of `batch`.
  void add(const MessageBatchPtr& batch, std::uint32_t first, std::uint32_t count);
  /// Appends one message from its parts; both are copied or sliced as they are.
  void add(std::string_view header, SharedBytes body);

  std::uint32_t count() const { return static_cast<std::uint32_t>(sizes_.size()); }
  std::uint64_t body_bytes() const { return body_bytes_; }
  bool empty() const { return sizes_.empty(); }

  struct Built {
    std::string batch;                // a serialized segue.v1.MessageBatch
    std::vector<SharedBytes> bodies;  // to be sent back to back; neighbouring slices are joined
    std::uint64_t body_bytes = 0;
    std::uint32_t count = 0;
  };
  /// What was added; the builder is empty afterwards.
  Built take();

 private:
  std::uint32_t intern(std::string_view header);
  void add_body(SharedBytes body);

  std::vector<std::string> headers_;
  std::vector<std::uint32_t> header_index_;
  std::vector<std::uint32_t> sizes_;
  std::vector<SharedBytes> bodies_;
  std::uint64_t body_bytes_ = 0;
  // Headers of the batch added last, already interned.
  MessageBatchPtr known_batch_owner_;
  std::vector<std::uint32_t> known_numbers_;
};

}  // namespace segue
