#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tests/fakes/test_cluster.h"

namespace segue {

/// A producer and a consumer of one queue that go on while a test does its worst: each message is
/// published, confirmed, consumed and acked before a few later ones are. Starts at once, ends with
/// the object.
class SteadyTraffic {
 public:
  explicit SteadyTraffic(const TestCluster& cluster, const std::string& queue = "steady")
      : queue_(queue), connection_(cluster.connect("steady traffic")) {
    const auto declared = connection_.admin().declare_queue(queue_);
    if (!declared) {
      fail("declare: " + declared.error().to_string());
      return;
    }
    auto consumer = connection_.subscribe(queue_, {.prefetch = 16},
                                          [this](const client::Delivery& one) { take(one); });
    if (!consumer) {
      fail("subscribe: " + consumer.error().to_string());
      return;
    }
    consumer_.emplace(std::move(consumer.value()));
    producer_ = std::thread([this] { produce(); });
  }
  ~SteadyTraffic() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (producer_.joinable()) producer_.join();
    if (consumer_) consumer_->close();
  }

  /// Waits until `messages` more have gone all the way; false when that takes longer.
  bool goes_on(std::uint64_t messages = 50,
               std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex_);
    const std::uint64_t target = consumed_ + messages;
    return changed_.wait_for(lock, timeout, [&] {
      return consumed_ >= target || !failure_.empty();
    }) && failure_.empty();
  }
  std::string failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  std::uint64_t reconnects() const { return connection_.reconnects(); }

 private:
  static constexpr std::uint64_t kAhead = 8;

  void produce() {
    for (std::uint64_t number = 1;; ++number) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(
            lock, [&] { return stopping_ || !failure_.empty() || number <= consumed_ + kAhead; });
        if (stopping_ || !failure_.empty()) return;
      }
      const auto published = connection_.publisher().publish(
          client::Message::to_queue(queue_, std::to_string(number)));
      if (!published) return fail("publish: " + published.error().to_string());
    }
  }
  void take(const client::Delivery& delivery) {
    const std::uint64_t number = std::stoull(std::string(delivery.body()));
    {
      const std::lock_guard lock(mutex_);
      if (number == consumed_ + 1) {
        consumed_ = number;
      } else if (!delivery.redelivered()) {
        failure_ = std::to_string(number) + " came after " + std::to_string(consumed_);
      }
    }
    changed_.notify_all();
    delivery.ack();
  }
  void fail(const std::string& what) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = what;
    }
    changed_.notify_all();
  }

  const std::string queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t consumed_ = 0;
  bool stopping_ = false;
  std::string failure_;
  client::Connection connection_;
  std::optional<client::Consumer> consumer_;
  std::thread producer_;
};

}  // namespace segue
