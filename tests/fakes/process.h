#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace segue {

/// A directory of a test's own under the system's temporary one; removed with all in it.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "segue-test.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      std::perror("mkdtemp");
      std::abort();
    }
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  /// Writes a file of the directory and gives its path.
  std::string write(const std::string& name, std::string_view text) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::string path_;
};

/// A program of ours that a test runs: started from SEGUE_BIN_DIR, its output collected, waited for
/// by conditions with deadlines. Killed (SIGKILL) when the object goes, or when the thread that
/// made it ends. A sanitizer's report on its standard error fails the test. Output is read while a
/// call waits, so a child that writes much should be waited for. One thread.
class Process {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// `program` is a name in SEGUE_BIN_DIR or a path; `environment` ("NAME=value") comes on top of
  /// ours.
  explicit Process(const std::string& program, const std::vector<std::string>& arguments = {},
                   const std::vector<std::string>& environment = {}) {
    int out[2];
    int err[2];
    int in[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(in, O_CLOEXEC) != 0) {
      std::perror("pipe2");
      std::abort();
    }
    pid_ = fork();
    if (pid_ == 0) exec(program, arguments, environment, in[0], out[1], err[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    input_ = in[1];
    stdout_.fd = out[0];
    stderr_.fd = err[0];
  }
  ~Process() {
    if (running()) {
      kill(SIGKILL);
      wait(Milliseconds(10'000));
    }
    expect_no_report();
    close_input();
    if (stdout_.fd >= 0) close(stdout_.fd);
    if (stderr_.fd >= 0) close(stderr_.fd);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  /// Not yet ended, or ended and not yet noticed by wait().
  bool running() const { return pid_ > 0 && !exit_.has_value(); }

  /// Sends a signal to this process alone.
  void kill(int signal) const {
    if (running()) ::kill(pid_, signal);
  }
  /// SIGKILL, and waits for the end.
  void kill_now() {
    kill(SIGKILL);
    wait(Milliseconds(10'000));
  }
  /// SIGTERM, and waits for the end; the exit code as wait() gives it.
  std::optional<int> terminate(Milliseconds timeout = Milliseconds(20'000)) {
    kill(SIGTERM);
    return wait(timeout);
  }

  /// Waits for the end: the exit code, or 128 + the signal that ended it; nothing after `timeout`.
  std::optional<int> wait(Milliseconds timeout = Milliseconds(20'000)) {
    if (exit_.has_value()) return exit_;
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        while (read_some(Milliseconds(0))) {
        }
        return exit_;
      }
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      read_some(Milliseconds(10));
    }
  }

  /// Waits until standard output, or standard error, has `text` in it (in what came since the last
  /// find by the same call). False when the process ends or the time is up before.
  bool wait_for_stdout(std::string_view text, Milliseconds timeout = Milliseconds(20'000)) {
    return wait_for(stdout_, text, timeout);
  }
  bool wait_for_stderr(std::string_view text, Milliseconds timeout = Milliseconds(20'000)) {
    return wait_for(stderr_, text, timeout);
  }

  /// What came so far.
  const std::string& stdout_text() {
    read_some(Milliseconds(0));
    return stdout_.text;
  }
  const std::string& stderr_text() {
    read_some(Milliseconds(0));
    return stderr_.text;
  }

  /// Writes to standard input; waits while the pipe is full. False when the process does not read.
  bool write_input(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(input_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }
  void close_input() {
    if (input_ >= 0) close(input_);
    input_ = -1;
  }

 private:
  struct Output {
    int fd = -1;
    std::string text;
    std::size_t found = 0;  // where the next search starts
  };

  [[noreturn]] static void exec(const std::string& program,
                                const std::vector<std::string>& arguments,
                                const std::vector<std::string>& environment, int in, int out,
                                int err) {
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Signals that the test blocks must not stay blocked in the child.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
    std::string path = program;
#ifdef SEGUE_BIN_DIR
    if (program.find('/') == std::string::npos) path = std::string(SEGUE_BIN_DIR) + "/" + program;
#endif
    std::vector<char*> argv{path.data()};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    execv(path.c_str(), argv.data());
    std::fprintf(stderr, "cannot run %s: %s\n", path.c_str(), std::strerror(errno));
    _exit(127);
  }

  // The exit code does not tell: a killed process has none of its own, and many go unread.
  void expect_no_report() const {
    for (const std::string_view mark : {"Sanitizer: ", "runtime error: "}) {
      const std::size_t at = stderr_.text.find(mark);
      if (at == std::string::npos) continue;
      const std::size_t from = stderr_.text.rfind('\n', at) + 1;  // npos + 1 is the beginning
      ADD_FAILURE() << "process " << pid_ << ": " << stderr_.text.substr(from, 8000);
      return;
    }
  }

  bool wait_for(Output& output, std::string_view text, Milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    bool ended = false;
    for (;;) {
      const std::size_t at = output.text.find(text, output.found);
      if (at != std::string::npos) {
        output.found = at + text.size();
        return true;
      }
      if (ended || std::chrono::steady_clock::now() >= deadline) return false;
      if (!read_some(Milliseconds(50))) ended = wait(Milliseconds(0)).has_value();
    }
  }

  /// Waits for output for at most `timeout` and takes what is there. True when something came.
  bool read_some(Milliseconds timeout) {
    pollfd fds[2] = {{stdout_.fd, POLLIN, 0}, {stderr_.fd, POLLIN, 0}};
    if (poll(fds, 2, static_cast<int>(timeout.count())) <= 0) return false;
    bool some = false;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].revents == 0) continue;
      Output& output = i == 0 ? stdout_ : stderr_;
      char buffer[65536];
      const ssize_t count = read(output.fd, buffer, sizeof buffer);
      if (count > 0) {
        output.text.append(buffer, static_cast<std::size_t>(count));
        some = true;
      } else if (count == 0) {
        close(output.fd);
        output.fd = -1;  // poll() skips it from here on
      }
    }
    return some;
  }

  pid_t pid_ = -1;
  int input_ = -1;
  Output stdout_;
  Output stderr_;
  std::optional<int> exit_;
};

}  // namespace segue
