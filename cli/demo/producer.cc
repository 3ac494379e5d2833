#include "cli/demo/producer.h"

#include "cli/demo/message_identity.h"

namespace segue::cli::demo {

client::Result<std::unique_ptr<Producer>> Producer::start(const ProducerContext& context,
                                                          std::size_t number) {
  client::ConnectionOptions options;
  options.routers = {context.router};
  options.client_name = "demo producer " + std::to_string(number + 1);
  options.full_timeout = context.patience;
  client::Result<client::Connection> connection = client::Connection::open(std::move(options));
  if (!connection) return connection.error();
  return std::unique_ptr<Producer>(new Producer(context, number, std::move(connection).value()));
}

Producer::Producer(const ProducerContext& context, std::size_t number,
                   client::Connection connection)
    : context_(context), number_(number), connection_(std::move(connection)) {
  connection_.publisher().on_confirm(
      [this](const client::ConfirmEvent& event) { on_confirm(event); });
  thread_ = std::thread([this] { run(); });
}

Producer::~Producer() {
  stop();
}

void Producer::stop() {
  // A publish() that waits for room ends with the connection.
  (void)connection_.close(std::chrono::milliseconds(0));
  if (thread_.joinable()) thread_.join();
}

void Producer::run() {
  client::Publisher& publisher = connection_.publisher();
  const std::uint64_t count = context_.plan.count(number_);
  std::uint64_t granted = 0;
  for (std::uint64_t seq = 1; seq <= count; ++seq) {
    if (granted == 0) granted = context_.pace.take(count - seq + 1);
    if (granted == 0) return;
    --granted;
    const std::size_t record = context_.plan.item(number_, seq).record;
    const client::Result<std::uint64_t> published =
        publisher.publish(message_header(context_.file, context_.plan, number_, seq),
                          context_.file.records()[record].body);
    if (published && published.value() == seq) continue;
    const std::string what = published ? "got the seq " + std::to_string(published.value())
                                       : "could not be published: " + published.error().to_string();
    return context_.books.with([&](Checker& checker) {
      checker.fail(Check::kConfirmed, "message " + std::to_string(seq) + " of producer " +
                                          std::to_string(number_ + 1) + " " + what);
    });
  }
  finished_ = true;
}

void Producer::on_confirm(const client::ConfirmEvent& event) {
  context_.books.with([&](Checker& checker) {
    for (const client::SeqRange& range : event.confirmed) {
      checker.on_confirmed(number_, range.first, range.last);
    }
    for (const client::SeqRange& range : event.unroutable) {
      checker.on_unroutable(number_, range.first, range.last);
    }
    for (const client::Rejection& rejection : event.rejected) {
      checker.on_rejected(number_, rejection.seqs.first, rejection.seqs.last,
                          rejection.error.to_string());
    }
  });
}

}  // namespace segue::cli::demo
