#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "router/ids.h"
#include "segue/v1/client.pb.h"

namespace segue::router {

/// What publishing costs of a session's credit, beside the body's bytes.
inline constexpr std::uint64_t kMessageCost = 64;

/// The books of one session's publishes: which seqs may come next, the credit that is left, and the
/// answers that go out with the next Confirm. Lives on (closed) until the last publish of the
/// session is done with. No I/O, one thread.
class PublishLedger {
 public:
  struct Options {
    SessionId session;
    /// Empty: no dedupe.
    std::string producer_id;
    std::uint64_t producer_session = 0;
    std::uint64_t credit_bytes = 0;
    std::uint32_t max_unconfirmed = 0;
    /// Serialized batches (headers and sizes) of unanswered publishes may hold so much memory.
    std::uint64_t max_batch_bytes = 0;
  };

  explicit PublishLedger(Options options)
      : options_(std::move(options)), granted_bytes_(options_.credit_bytes) {}

  const Options& options() const { return options_; }

  /// Takes in a batch of `count` messages from `first_seq` that costs `cost` bytes of credit and
  /// whose headers and sizes take `batch_bytes`. Not OK: the session has broken a rule and is to be
  /// closed with this.
  Status admit(std::uint64_t first_seq, std::uint32_t count, std::uint64_t cost,
               std::uint64_t batch_bytes);

  /// The client's answers. Each seq is answered once; `cost` is given back as credit.
  void confirm(std::uint64_t first_seq, std::uint64_t last_seq, std::uint64_t cost,
               v1::Durability durability);
  void confirm_unroutable(std::uint64_t seq, std::uint64_t cost);
  void reject(std::uint64_t first_seq, std::uint64_t last_seq, std::uint64_t cost,
              const v1::Error& error, const std::vector<std::string>& queues);

  /// Memory that serialized batches take until they are answered.
  void hold_batch_bytes(std::uint64_t bytes) { batch_bytes_ += bytes; }
  void release_batch_bytes(std::uint64_t bytes) { batch_bytes_ -= bytes; }

  bool has_answers() const {
    return !confirmed_.empty() || !unroutable_.empty() || !rejected_.empty();
  }
  /// Moves the answers into `confirm`, ranges joined, with the credit granted so far.
  void take_answers(v1::Confirm& confirm);

  std::uint64_t unconfirmed() const { return unconfirmed_; }
  std::uint64_t granted_bytes() const { return granted_bytes_; }

  /// The session is gone: nobody waits for answers, and what was not sent need not be.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

  /// Whether the owner has it on its list of ledgers with answers.
  bool listed = false;
  /// Publishes of this session that a node has not answered, sent or not.
  std::size_t pending = 0;

 private:
  struct SeqRange {
    std::uint64_t first;
    std::uint64_t last;
  };

  void answered(std::uint64_t first_seq, std::uint64_t last_seq, std::uint64_t cost);
  static void append(std::vector<SeqRange>& ranges, std::uint64_t first, std::uint64_t last);
  static void write(std::vector<SeqRange>& ranges,
                    google::protobuf::RepeatedPtrField<v1::Range>& to);

  Options options_;
  std::uint64_t next_seq_ = 1;
  std::uint64_t unconfirmed_ = 0;
  std::uint64_t published_bytes_ = 0;
  std::uint64_t granted_bytes_;
  std::uint64_t batch_bytes_ = 0;
  bool closed_ = false;
  std::vector<SeqRange> confirmed_;
  std::vector<SeqRange> unroutable_;
  std::vector<v1::Rejected> rejected_;
  v1::Durability durability_ = v1::DURABILITY_UNSPECIFIED;
};

}  // namespace segue::router
