#include "cli/load_consumer.h"

#include <algorithm>

#include "cli/load_producer.h"

namespace segue::cli {

namespace {

constexpr std::size_t kBatch = 4096;
constexpr std::chrono::milliseconds kWait{100};

}  // namespace

client::Result<std::unique_ptr<LoadConsumer>> LoadConsumer::start(client::Connection& connection,
                                                                  const std::string& queue,
                                                                  std::uint32_t prefetch) {
  client::ConsumerOptions options;
  options.prefetch = prefetch;
  auto consumer = connection.subscribe(queue, options);
  if (!consumer) return consumer.error();
  return std::unique_ptr<LoadConsumer>(new LoadConsumer(std::move(consumer).value()));
}

LoadConsumer::LoadConsumer(client::Consumer consumer) : consumer_(std::move(consumer)) {
  thread_ = std::thread([this] { run(); });
}

LoadConsumer::~LoadConsumer() {
  stop();
}

void LoadConsumer::stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
  consumer_.close();
}

void LoadConsumer::run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    const auto batch = consumer_.next_batch(kBatch, kWait);
    if (!batch) {
      if (batch.error().code == client::ErrorCode::kTimeout) continue;
      return;
    }
    const TimePoint now = clock_.now();
    for (std::size_t i = 0; i < batch->size(); ++i) {
      const std::string_view body = batch->body(i);
      if (body.size() < kStampBytes) continue;
      const Duration latency = now - read_stamp(body);
      latency_.record(static_cast<std::uint64_t>(std::max<std::int64_t>(0, latency.count())));
    }
    if ((*batch)[0].redelivered()) redelivered_.fetch_add(batch->size(), std::memory_order_relaxed);
    batch->ack();
    last_message_ = now;
    consumed_.fetch_add(batch->size(), std::memory_order_relaxed);
  }
}

}  // namespace segue::cli
