#pragma once

#include <algorithm>
#include <cstdint>

#include "common/clock.h"

namespace segue {

/// One end of a link in one epoch: numbers the frames that go out, checks those that come in, and
/// watches whether both ends are alive. The same on every hop (client and router, router and node,
/// node and node); handshakes and what a reset means differ and are their owners'. No I/O.
class Link {
 public:
  enum class Verdict {
    kAccept,      // the next frame of this epoch
    kOtherEpoch,  // of an earlier or later life of the link
    kGap,         // frames were lost: this epoch is over
  };

  /// `epoch` is not 0. Each end should send at least every `heartbeat`; silent for two is gone.
  Link(std::uint64_t epoch, Duration heartbeat, TimePoint now)
      : epoch_(epoch), heartbeat_(heartbeat), last_sent_(now), last_received_(now) {}

  std::uint64_t epoch() const { return epoch_; }
  Duration heartbeat() const { return heartbeat_; }
  /// What the handshake agreed on.
  void set_heartbeat(Duration heartbeat) { heartbeat_ = heartbeat; }

  /// The sequence for the frame that is sent now.
  std::uint64_t stamp(TimePoint now) {
    last_sent_ = now;
    return ++sent_;
  }

  Verdict on_frame(std::uint64_t epoch, std::uint64_t sequence, TimePoint now) {
    if (epoch != epoch_) return Verdict::kOtherEpoch;
    if (sequence != received_ + 1) return Verdict::kGap;
    ++received_;
    last_received_ = now;
    return Verdict::kAccept;
  }

  /// Nothing was sent for half an interval: send a heartbeat.
  bool heartbeat_due(TimePoint now) const { return now - last_sent_ >= heartbeat_ / 2; }
  /// The other end was silent for two intervals.
  bool expired(TimePoint now) const { return now - last_received_ >= 2 * heartbeat_; }
  /// When heartbeat_due() or expired() turns true, if nothing happens before.
  TimePoint next_timer() const {
    return std::min(last_sent_ + heartbeat_ / 2, last_received_ + 2 * heartbeat_);
  }

 private:
  std::uint64_t epoch_;
  Duration heartbeat_;
  TimePoint last_sent_;
  TimePoint last_received_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace segue
