#include "cli/demo/consumer.h"

#include "cli/demo/message_identity.h"

namespace segue::cli::demo {

namespace {

constexpr std::uint32_t kPrefetch = 500;
constexpr std::size_t kMostAtOnce = 500;
constexpr std::chrono::milliseconds kWait{100};

}  // namespace

client::Result<std::unique_ptr<QueueConsumer>> QueueConsumer::start(const std::string& router,
                                                                    const std::string& queue,
                                                                    std::size_t index,
                                                                    Books& books) {
  client::ConnectionOptions options;
  options.routers = {router};
  options.client_name = "demo consumer of " + queue;
  client::Result<client::Connection> connection = client::Connection::open(std::move(options));
  if (!connection) return connection.error();
  client::ConsumerOptions consuming;
  consuming.prefetch = kPrefetch;
  client::Result<client::Consumer> consumer = connection->subscribe(queue, consuming);
  if (!consumer) return consumer.error();
  return std::unique_ptr<QueueConsumer>(
      new QueueConsumer(std::move(connection).value(), std::move(consumer).value(), index, books));
}

QueueConsumer::QueueConsumer(client::Connection connection, client::Consumer consumer,
                             std::size_t index, Books& books)
    : connection_(std::move(connection)),
      consumer_(std::move(consumer)),
      index_(index),
      books_(books),
      thread_([this] { run(); }) {}

QueueConsumer::~QueueConsumer() {
  stop();
}

void QueueConsumer::stop() {
  stopping_ = true;
  if (!thread_.joinable()) return;
  thread_.join();
  consumer_.close();
  (void)connection_.close();
}

void QueueConsumer::run() {
  while (!stopping_) {
    const client::Result<client::Deliveries> deliveries = consumer_.next_batch(kMostAtOnce, kWait);
    if (deliveries) {
      take(deliveries.value());
    } else if (deliveries.error().code != client::ErrorCode::kTimeout) {
      return books_.with([&](Checker& checker) {
        checker.fail(Check::kProcesses, "the consumer of queue '" + consumer_.queue() +
                                            "' ended: " + deliveries.error().to_string());
      });
    }
  }
}

void QueueConsumer::take(const client::Deliveries& deliveries) {
  std::vector<Arrival> arrivals;
  std::vector<client::Delivery> kept;  // what the arrivals' keys belong to
  arrivals.reserve(deliveries.size());
  kept.reserve(deliveries.size());
  for (const client::Delivery& delivery : deliveries) {
    kept.push_back(delivery);
    arrivals.push_back(read_arrival(delivery));
  }
  last_ = SystemClock().now();
  if (first_ == TimePoint{}) first_ = last_;
  books_.with([&](Checker& checker) {
    for (const Arrival& arrival : arrivals) checker.on_arrival(index_, arrival);
  });
  deliveries.ack();
}

}  // namespace segue::cli::demo
