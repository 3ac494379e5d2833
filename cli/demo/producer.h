#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cli/demo/books.h"
#include "cli/demo/pace.h"
#include "segue/client.h"

namespace segue::cli::demo {

/// What the producers of a run share. All of it outlives them.
struct ProducerContext {
  const RecordFile& file;
  const PublishPlan& plan;
  Books& books;
  Pace& pace;
  std::string router;                     // an endpoint
  std::chrono::milliseconds patience{0};  // what publish() may wait for room at most
};

/// Publishes one producer's share of the records, with a connection and a thread of its own, and
/// tells the books of confirms. Its owner's thread.
class Producer {
 public:
  /// Connects and begins, at the pace.
  static client::Result<std::unique_ptr<Producer>> start(const ProducerContext& context,
                                                         std::size_t number);
  /// As stop().
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Everything is published; confirms may be open.
  bool finished() const { return finished_; }
  /// Sessions begun after the first one.
  std::uint64_t reconnects() const { return connection_.reconnects(); }
  /// Ends the thread and the session, whatever is still open. The pace was stopped before, or
  /// everything is published.
  void stop();

 private:
  Producer(const ProducerContext& context, std::size_t number, client::Connection connection);
  void run();
  void on_confirm(const client::ConfirmEvent& event);

  const ProducerContext context_;
  const std::size_t number_;
  client::Connection connection_;
  std::atomic<bool> finished_{false};
  std::thread thread_;
};

}  // namespace segue::cli::demo
