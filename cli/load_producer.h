#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/latency_histogram.h"
#include "common/clock.h"
#include "segue/client.h"

namespace segue::cli {

/// Publishes over a connection of its own: as fast as the window lets, or at a rate. run() is one
/// thread's; counters may be read by any; the rest when run() has returned.
class LoadProducer {
 public:
  struct Options {
    client::ConnectionOptions connection;
    std::vector<std::string> queues;
    std::size_t first_queue = 0;  // which of them comes first
    std::uint64_t size = 0;
    std::uint64_t window = 1000;
    double interval_ns = 0;   // between two messages; 0: no rate
    double offset_ns = 0;     // of the first message after the start
    std::uint64_t count = 0;  // 0: until `end`
    TimePoint start;
    TimePoint end;
  };

  explicit LoadProducer(Options options);

  /// Publishes everything and waits for the confirms, unless `stop` becomes true.
  client::Status run(const std::atomic<bool>& stop);

  std::uint64_t published() const { return published_.load(std::memory_order_relaxed); }
  std::uint64_t confirmed() const { return confirmed_.load(std::memory_order_relaxed); }
  std::uint64_t rejected() const { return rejected_.load(std::memory_order_relaxed); }
  /// From the publish, or with a rate from when it should have been, to the confirm; nanoseconds.
  const LatencyHistogram& latency() const { return latency_; }
  TimePoint last_confirm() const { return last_confirm_; }
  /// The first rejection's reason; empty without one.
  const std::string& rejection() const { return rejection_; }

 private:
  void on_confirm(const client::ConfirmEvent& event);
  client::Status publish_all(client::Publisher& publisher, const std::atomic<bool>& stop);
  bool wait_for_window(const std::atomic<bool>& stop);
  TimePoint wait_for_time(const std::atomic<bool>& stop);
  bool finished(TimePoint now) const;

  const Options options_;
  const SystemClock clock_;
  // When each unconfirmed message was sent, by seq; written before it is published, read at its
  // confirm: the client's lock lies between.
  std::vector<TimePoint> sent_at_;
  std::atomic<std::uint64_t> published_{0};
  std::atomic<std::uint64_t> settled_{0};  // wakes the producer
  std::atomic<std::uint64_t> confirmed_{0};
  std::atomic<std::uint64_t> rejected_{0};
  LatencyHistogram latency_;
  TimePoint last_confirm_;
  std::string rejection_;
};

/// Where a message carries the time it was sent, and how that is read back. Smaller messages carry
/// none.
inline constexpr std::size_t kStampBytes = 8;
void write_stamp(std::string& body, TimePoint time);
TimePoint read_stamp(std::string_view body);

}  // namespace segue::cli
