#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/buffer_pool.h"
#include "common/bytes.h"
#include "segue/publisher.h"

namespace segue::client {

/// A serialized MessageHeader, shared by all messages that have it.
using HeaderPtr = std::shared_ptr<const std::string>;

/// Messages with consecutive seqs whose bodies stand back to back in one buffer. First it is open:
/// the publisher appends (under the window's lock). Then it is sealed, belongs to the I/O thread
/// and is sent in one or several runs, once per session, until every message is settled.
class PublishBatch {
 public:
  /// What of it goes into one Publish frame: messages [begin, begin + count).
  struct Run {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };

  PublishBatch(std::uint64_t first_seq, std::size_t buffer_bytes,
               std::shared_ptr<BufferPool> buffers);

  // ---- while open

  void append(const HeaderPtr& header, std::string_view body);
  /// For a body that stays where it is; the batch must be empty and holds this message only.
  void set_single(const HeaderPtr& header, SharedBytes body);
  std::size_t header_bytes() const { return header_bytes_; }
  /// Nothing is appended any more.
  void seal();

  // ---- always

  std::uint64_t first_seq() const { return first_seq_; }
  std::uint64_t last_seq() const { return first_seq_ + count() - 1; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::uint64_t body_bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  std::uint64_t body_bytes(Run run) const;
  std::uint32_t body_size(std::uint32_t message) const {
    return static_cast<std::uint32_t>(ends_[message] - start_of(message));
  }
  const std::vector<HeaderPtr>& headers() const { return headers_; }
  /// Which header each message has; empty while there is only one.
  const std::vector<std::uint32_t>& header_index() const { return header_index_; }

  // ---- once sealed

  /// The bodies of a run, without a copy.
  SharedBytes bodies(Run run) const;
  /// The next messages that are neither sent in this session nor settled; count 0: none left.
  Run next_unsent();
  /// Messages before this place were sent in this session (or settled).
  void mark_sent(std::uint32_t end) { sent_ = end; }
  std::uint32_t sent() const { return sent_; }
  /// A new session: what is not settled must be sent again.
  void mark_unsent() { sent_ = 0; }

  /// Settles seqs [first, last] of this batch; those that were not yet settled go into `newly`.
  void settle(std::uint64_t first, std::uint64_t last, std::vector<SeqRange>& newly);
  std::uint32_t unsettled() const { return count() - settled_count_; }
  /// The lowest seq that is not settled; last_seq() + 1 when all are.
  std::uint64_t first_unsettled() const;

 private:
  std::uint64_t start_of(std::uint32_t message) const {
    return message == 0 ? 0 : ends_[message - 1];
  }
  std::uint32_t number_of(const HeaderPtr& header);
  void add(const HeaderPtr& header, std::uint64_t body_size);

  std::shared_ptr<BufferPool> buffers_;
  std::uint64_t first_seq_;
  std::vector<HeaderPtr> headers_;
  std::vector<std::uint32_t> header_index_;
  std::vector<std::uint64_t> ends_;  // where each body ends
  std::size_t header_bytes_ = 0;
  std::uint32_t last_header_ = 0;
  std::string open_;    // the bodies, until sealed
  SharedBytes bodies_;  // then
  std::uint32_t sent_ = 0;
  std::uint32_t settled_count_ = 0;
  // Places [begin, end) that are settled: sorted, apart from each other. Nearly always one.
  struct Settled {
    std::uint32_t begin;
    std::uint32_t end;
  };
  std::vector<Settled> settled_;
};

}  // namespace segue::client
