#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "client/link_writer.h"
#include "client/publish_window.h"
#include "common/clock.h"

namespace segue::client {

/// The I/O thread's side of publishing: sends batches within the router's credit, keeps them until
/// every message is settled, and sends what is not settled again in the next session, before
/// anything new. No I/O of its own, one thread.
class PublishSender {
 public:
  explicit PublishSender(PublishWindow& window, std::uint64_t first_seq)
      : window_(window), next_unseen_seq_(first_seq) {}

  /// A session starts with these limits; everything unsettled counts as not sent.
  void begin_session(const v1::HelloOk& limits);
  /// No session: nothing is sent.
  void end_session() { in_session_ = false; }
  /// All bytes granted since the session began.
  void grant(std::uint64_t total_bytes);

  /// Sends what may be sent now.
  void turn(TimePoint now, LinkWriter& writer);
  /// When turn() should be called again although nothing happens.
  std::optional<TimePoint> deadline() const { return deadline_; }

  void on_confirm(const v1::Confirm& confirm);
  void on_return(const v1::Return& returned, const SharedBytes& body);

  /// Every seq below is settled.
  std::uint64_t settled_below() const;

 private:
  using Run = PublishBatch::Run;

  void take_batches(TimePoint now);
  void hold_publishers(TimePoint now);
  /// False: credit or window are used up.
  bool send_batch(PublishBatch& batch, LinkWriter& writer);
  Run within_limits(const PublishBatch& batch, Run run) const;
  bool fits(const PublishBatch& batch, Run run) const;
  bool too_large(const PublishBatch& batch, std::uint32_t message) const;
  void reject_too_large(PublishBatch& batch, std::uint32_t message);
  /// Settles a range as far as it was sent; what is new goes into `newly`.
  void settle_range(std::uint64_t first, std::uint64_t last, std::vector<SeqRange>& newly,
                    Settlement& settlement);
  void settle_in(PublishBatch& batch, SeqRange range, std::vector<SeqRange>& newly,
                 Settlement& settlement);

  PublishWindow& window_;
  bool in_session_ = false;
  std::map<std::uint64_t, std::unique_ptr<PublishBatch>> batches_;  // unsettled, by first seq
  std::uint64_t next_unseen_seq_;                                   // follows the last batch taken
  std::uint64_t send_from_ = 0;     // batches before this seq are sent
  std::uint64_t sent_through_ = 0;  // highest seq ever sent
  std::uint64_t granted_ = 0;       // bytes, in this session
  std::uint64_t spent_ = 0;
  std::uint64_t outstanding_ = 0;  // messages sent in this session and not settled
  std::uint64_t max_outstanding_ = 0;
  std::uint64_t max_frame_bytes_ = 0;
  std::uint64_t max_message_bytes_ = 0;
  std::optional<TimePoint> open_since_;  // when the open batch was first left waiting
  std::optional<TimePoint> held_since_;  // when publishers were first left waiting
  std::optional<TimePoint> deadline_;
};

}  // namespace segue::client
