#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cli/demo/books.h"
#include "common/clock.h"
#include "segue/client.h"

namespace segue::cli::demo {

/// Consumes one queue with a connection and a thread of its own, tells the books what came, and
/// acks it. Its owner's thread.
class QueueConsumer {
 public:
  /// Connects, subscribes and begins. `index` is the queue's in the books, which outlive it.
  static client::Result<std::unique_ptr<QueueConsumer>> start(const std::string& router,
                                                              const std::string& queue,
                                                              std::size_t index, Books& books);
  /// As stop().
  ~QueueConsumer();
  QueueConsumer(const QueueConsumer&) = delete;
  QueueConsumer& operator=(const QueueConsumer&) = delete;

  /// Ends the thread; acks what it took, and gives the rest back.
  void stop();
  /// Deliveries that arrived and were not taken yet.
  std::size_t buffered() const { return consumer_.buffered(); }
  /// From the first to the last delivery; after stop().
  Duration active() const { return last_ - first_; }

 private:
  QueueConsumer(client::Connection connection, client::Consumer consumer, std::size_t index,
                Books& books);
  void run();
  void take(const client::Deliveries& deliveries);

  client::Connection connection_;
  client::Consumer consumer_;
  const std::size_t index_;
  Books& books_;
  TimePoint first_{};
  TimePoint last_{};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace segue::cli::demo
