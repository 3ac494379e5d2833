#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ios>
#include <optional>
#include <string>
#include <vector>

#include "cli/child_process.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/status.h"

namespace segue::cli {

/// The routers and nodes of one configuration as child processes of this one: what `segue up` and
/// the benchmarks run. A child that dies is started again, after a pause that grows with each time.
/// When this object goes, or this process dies of whatever, they are all gone. One thread.
class LocalCluster {
 public:
  struct Options {
    std::string config_path;
    std::string binaries;       // where segue-router and segue-node are
    std::string log_directory;  // <id>.log of each process goes there
    bool restart = true;
    std::vector<std::string> node_arguments{};  // of each node, beside --config and --id
  };

  /// Something that a person would want to know.
  struct Event {
    enum class Kind { kDied, kRestarted, kGaveUp };
    Kind kind;
    std::string id;
    std::string text;    // a sentence
    int exit_code = -1;  // of a process that exited by itself
  };

  struct Member {
    std::string id;
    bool is_router = false;
    std::string log;
    pid_t pid = -1;  // -1: not running
    std::uint32_t restarts = 0;
  };

  /// `config` is what stands in options.config_path.
  LocalCluster(const ClusterConfig& config, Options options);
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  /// Starts all, nodes first. On failure those that were started are stopped.
  Status start();
  /// Looks for children that died, and starts them again when it is time. Call it every some
  /// hundred milliseconds.
  std::vector<Event> poll(TimePoint now);
  /// Sends a signal to one process and waits for its end, then leaves it alone: poll() says nothing
  /// of it. TIMEOUT when it did not end in time; PRECONDITION_FAILED when it does not run.
  Status end(const std::string& id, int signal, std::chrono::milliseconds timeout);
  /// Starts a process that does not run.
  Status start_again(const std::string& id);
  /// SIGTERM to the routers, then to the nodes, then SIGKILL to what is still there after
  /// `timeout`. True: all went by themselves. `hurry` is asked meanwhile whether to kill at once.
  bool stop(std::chrono::milliseconds timeout, const std::function<bool()>& hurry = {});

  std::vector<Member> members() const;
  bool none_running() const;
  /// The last lines of a process's log, of those that it wrote since it was started last.
  std::string log_tail(const std::string& id, std::size_t lines) const;

 private:
  struct Slot {
    Member member;
    ChildProcess::Options command;
    std::optional<ChildProcess> process;
    std::streamoff log_start = 0;  // what earlier runs wrote ends here
    TimePoint started;
    TimePoint restart_at;
    std::uint32_t failures = 0;  // in a row
    bool gave_up = false;
  };

  void add(const std::string& id, bool is_router);
  Slot* find(const std::string& id);
  Status launch(Slot& slot, TimePoint now);
  void on_death(Slot& slot, const ChildProcess::End& end, TimePoint now,
                std::vector<Event>& events);
  void signal_all(bool routers, int number);
  bool wait_all(bool routers, TimePoint deadline, const std::function<bool()>& hurry);

  Options options_;
  std::vector<Slot> slots_;  // nodes, then routers
};

/// The last reason that lines of a process's log (text or JSON) give for something; empty if none.
std::string last_reason(const std::string& log);

/// The directory of the running program: where its siblings are.
std::string own_directory();

}  // namespace segue::cli
