#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "cli/console.h"
#include "segue/client.h"

namespace segue::cli {

/// Publishes messages one after the other for a command: waits while the window is full (and stops
/// waiting on Ctrl-C), counts what becomes of them, shows progress. Used by one thread; the counts
/// come from the connection's.
class PublishFeed {
 public:
  /// Both outlive the feed.
  PublishFeed(Console& console, client::Connection& connection);
  ~PublishFeed();
  PublishFeed(const PublishFeed&) = delete;
  PublishFeed& operator=(const PublishFeed&) = delete;

  /// Nothing: published. Otherwise why not; CLOSED when the run shall stop.
  client::Status publish(const client::PreparedHeader& header, std::string_view body);
  client::Status publish(client::Message message);

  /// Waits until all that was published is settled, as long as there is any progress within a
  /// minute. False: it is not, because of that or of Ctrl-C.
  bool wait_for_confirms();

  struct Counts {
    std::uint64_t published = 0;
    std::uint64_t confirmed = 0;
    std::uint64_t rejected = 0;
    std::uint64_t unroutable = 0;
    /// The first rejection.
    std::string reason;
    std::string queues;
    client::ErrorCode code = client::ErrorCode::kInternalError;
    bool any_reason = false;

    std::uint64_t open() const { return published - confirmed - rejected; }
  };
  Counts counts() const;
  /// Shows how far it is, at most ten times a second. `share` of the input in percent, or negative.
  void show_progress(int share);

 private:
  template <typename Attempt>
  client::Status retry_while_full(const Attempt& attempt);
  void on_confirm(const client::ConfirmEvent& event);

  Console& console_;
  client::Connection& connection_;
  mutable std::mutex mutex_;  // the counts: told on the connection's thread
  Counts counts_;
  std::chrono::steady_clock::time_point last_shown_;
};

}  // namespace segue::cli
