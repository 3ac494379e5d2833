#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"

namespace segue::cli {

/// A program that runs for us: in a process group of its own (Ctrl-C on the terminal reaches us
/// only), and killed when we die, whatever we die of. Killed and waited for when the object goes.
/// The thread that starts it must live as long. One thread.
class ChildProcess {
 public:
  struct Options {
    std::string program;  // a path
    std::vector<std::string> arguments;
    std::string log;  // its output is appended to this file; empty: ours
  };

  static Result<ChildProcess> start(const Options& options);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0 && !ended_; }
  /// Sends a signal, if it runs.
  void signal(int number);

  /// How a process ended.
  struct End {
    int exit_code = -1;  // when it exited by itself
    int signal = 0;      // when a signal ended it
    /// "exit code 1", "signal 9 (Killed)".
    std::string text() const;
  };
  /// Whether it ended; looks without waiting. The same answer ever after.
  std::optional<End> poll();
  /// As poll(), but waits up to so many milliseconds.
  std::optional<End> wait(int timeout_ms);
  /// Seconds of processor time that it has used so far; 0 once it was waited for.
  double cpu_seconds() const;

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;
  std::optional<End> ended_;
};

/// Seconds of processor time, user and system, of a process by its /proc/<pid>/stat; nothing when
/// there is no such process.
std::optional<double> process_cpu_seconds(pid_t pid);

}  // namespace segue::cli
