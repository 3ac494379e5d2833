#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "segue/client.h"

namespace segue::cli {

/// What a command waits for, told once for each change and only when it lasts: routers that do not
/// answer, shards that take no publishes, a queue whose node is away. The connection's thread says
/// what happens, the command's asks for the lines to show. Any thread.
class WaitNotes {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// Shorter waits are not worth a line.
  static constexpr std::chrono::milliseconds kWorthTelling{500};

  /// All that are tried in turn; before anything happens.
  void set_routers(std::vector<std::string> routers) { routers_ = std::move(routers); }
  /// The only queue that matters, for the lines; before anything happens.
  void set_queue(std::string queue) { queue_ = std::move(queue); }

  void on_attempt_failed(const std::string& router, const std::string& why, TimePoint now);
  void on_connected();
  void on_lost();
  void on_blocked(const client::BlockedState& blocked, TimePoint now);
  /// Of the queue; known only while its shard's node answers the router.
  void on_queue(const client::QueueDescription& queue, TimePoint now);

  /// Why no router answers: of the last attempt at each. Empty: none has failed.
  std::string why_none_answers();
  /// The lines that are due, in order, each once.
  std::vector<std::string> take(TimePoint now);

 private:
  /// One thing to wait for.
  struct Wait {
    std::optional<TimePoint> since;
    std::string waiting;  // the line that says so
    std::string over;     // the line that says that it goes on
    std::string told;     // the line that was told last
  };
  static void begin(Wait& wait, std::string line, TimePoint now);
  static void end(Wait& wait, std::string line);
  static void take(Wait& wait, TimePoint now, std::vector<std::string>& lines);

  std::vector<std::string> routers_;
  std::string queue_;
  std::mutex mutex_;
  std::map<std::string, std::string> failed_;  // why, since a router answered last
  Wait router_;
  Wait blocked_;
  Wait away_;
};

}  // namespace segue::cli
