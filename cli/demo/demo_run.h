#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/demo/consumer.h"
#include "cli/demo/demo_cluster.h"
#include "cli/demo/producer.h"
#include "cli/demo/report.h"

namespace segue::cli::demo {

struct DemoOptions {
  std::string file_name;        // for the story
  std::string binaries;         // where segue-router and segue-node are
  std::uint64_t messages = 0;   // publish at least so many, in whole passes over the file
  std::uint64_t producers = 0;  // at least 1
  std::uint64_t rate = 0;       // messages/s of all producers; 0: total in some ten seconds
  std::string victim;           // the node to kill; empty: one with busy queues
  std::chrono::milliseconds deadline{0};  // for everything
};

/// One demo from the first process to the report: starts a cluster, publishes a file's records into
/// queues on all nodes while consumers run, kills a node with SIGKILL in the middle and starts it
/// again, restarts the router, and checks what came. Tells the story on the console. Made for one
/// run; one thread, beside those of producers and consumers.
class DemoRun {
 public:
  DemoRun(Console& console, const RecordFile& file, DemoOptions options);

  /// The exit code: kExitOk when every check passed.
  int run(DemoDirectory& directory);

 private:
  struct PlacedQueue {
    QueuePlan plan;
    std::uint32_t shard = 0;
    std::string node;
  };

  // The steps, in order; each false when the run cannot go on, which was told.
  bool start_cluster(const std::string& directory);
  bool declare_queues();
  bool declare_queue(std::size_t index);
  bool start_clients();
  bool lose_a_node();
  bool restart_the_router();
  bool finish_publishing();
  bool wait_for_empty_queues();

  void stop_clients();
  void stop_cluster();
  int report();

  std::string choose_victim();
  std::string queues_of(const std::string& node) const;
  bool queues_are_empty();
  std::uint64_t confirmed();
  void tell_progress(const std::string& waiting_for);
  // Waits until `done`; false when the run is interrupted, out of time, or a process died.
  bool wait_until(const std::string& waiting_for, const std::function<bool()>& done);
  bool give_up(int exit_code, const std::string& why);
  // What the queues are waiting for, when the time is up.
  void tell_queues();
  bool fail(Check check, const std::string& what);
  void say(const std::string& line);

  Console& console_;
  const RecordFile& file_;
  const DemoOptions options_;
  const SystemClock clock_;
  const TimePoint start_;
  PublishPlan plan_;
  std::vector<PlacedQueue> queues_;
  Books books_;
  std::uint64_t rate_;
  std::unique_ptr<DemoCluster> cluster_;
  std::optional<client::Connection> connection_;  // the run's own
  std::optional<Pace> pace_;
  std::vector<std::unique_ptr<QueueConsumer>> consumers_;
  std::vector<std::unique_ptr<Producer>> producers_;
  TimePoint publishing_since_{};
  Duration publishing_time_{0};
  int exit_code_ = 0;
};

}  // namespace segue::cli::demo
