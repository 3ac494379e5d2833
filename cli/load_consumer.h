#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "cli/latency_histogram.h"
#include "common/clock.h"
#include "segue/client.h"

namespace segue::cli {

/// Takes one queue's messages and acks them, on a thread of its own. Counters may be read by any
/// thread; the rest after stop().
class LoadConsumer {
 public:
  /// Subscribes and starts. `connection` outlives the consumer.
  static client::Result<std::unique_ptr<LoadConsumer>> start(client::Connection& connection,
                                                             const std::string& queue,
                                                             std::uint32_t prefetch);
  ~LoadConsumer();
  LoadConsumer(const LoadConsumer&) = delete;
  LoadConsumer& operator=(const LoadConsumer&) = delete;

  /// Ends the subscription and the thread.
  void stop();

  std::uint64_t consumed() const { return consumed_.load(std::memory_order_relaxed); }
  std::uint64_t redelivered() const { return redelivered_.load(std::memory_order_relaxed); }
  /// From the publish to here, in nanoseconds.
  const LatencyHistogram& latency() const { return latency_; }
  /// When the last message came.
  TimePoint last_message() const { return last_message_; }

 private:
  explicit LoadConsumer(client::Consumer consumer);
  void run();

  const SystemClock clock_;
  client::Consumer consumer_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> consumed_{0};
  std::atomic<std::uint64_t> redelivered_{0};
  LatencyHistogram latency_;
  TimePoint last_message_;
  std::thread thread_;
};

}  // namespace segue::cli
