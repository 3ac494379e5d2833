#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace segue::cli {

/// The streams of one run of the tool, and what the environment says. Descriptors, not FILEs: bytes
/// pass as they are, and a closed output is noticed. One thread, but for note().
class Console {
 public:
  struct Streams {
    int in = 0;
    int out = 1;
    int error = 2;
    /// Becomes readable when the run shall end (ShutdownSignals); -1: never.
    int stop = -1;
    /// Takes one signal off `stop`: its number, 0 when there is none.
    std::function<int()> take_signal;
  };

  explicit Console(Streams streams);
  /// Writes what is buffered, as far as that is possible.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// Buffers output for standard output; sends it when there is much. False: it cannot be written
  /// (any more), see output_closed().
  bool write(std::string_view bytes);
  bool flush();
  /// Sends it, and waits until it is on the disk if standard output is a file.
  bool sync();
  /// The reader of standard output went away.
  bool output_closed() const { return output_errno_ != 0; }
  /// Why nothing can be written: an errno, 0 while all is well. EPIPE: nobody reads it.
  int output_error() const { return output_errno_; }

  /// A line for people, to standard error: "segue: ..." is up to the caller. From any thread.
  void note(std::string_view line);
  /// Shows how far a long piece of work is, in place, on a terminal; nothing elsewhere.
  void progress(std::string_view line);
  /// Wipes the progress line.
  void end_progress();
  bool output_is_terminal() const { return output_is_terminal_; }
  bool error_is_terminal() const { return error_is_terminal_; }
  /// Columns of the terminal; 0 when the output is none.
  std::size_t columns() const;

  int input() const { return streams_.in; }
  /// Whether the run shall end; looks without waiting.
  bool stop_requested();
  /// Whether it was asked to end again since stop_requested() first said so.
  bool stop_again();
  /// Waits until `fd` (-1: none) is readable: true; false when the run shall end or `timeout_ms` is
  /// over (negative: never).
  bool wait_readable(int fd, int timeout_ms);

 private:
  void take_stop();
  void wipe_progress();

  Streams streams_;
  std::string buffer_;
  int output_errno_ = 0;
  bool output_is_terminal_;
  bool error_is_terminal_;
  std::mutex error_mutex_;  // standard error, and the progress line on it
  bool progress_shown_ = false;
  bool stopped_ = false;
  bool stopped_again_ = false;
};

/// An environment variable; nothing when it is not set or empty.
std::optional<std::string> environment(const char* name);

}  // namespace segue::cli
