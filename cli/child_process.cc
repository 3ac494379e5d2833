#include "cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace segue::cli {

namespace {

// Between fork and exec of a process with threads: nothing but system calls.
[[noreturn]] void become(pid_t parent, const char* program, char* const* arguments, int log) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before we could ask to be told
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
  }
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  ::execv(program, arguments);
  ::_exit(127);
}

Status failed(const std::string& what) {
  return Status(Code::kIoError, what + ": " + std::strerror(errno));
}

}  // namespace

std::string ChildProcess::End::text() const {
  if (signal == 0) return "exit code " + std::to_string(exit_code);
  return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

Result<ChildProcess> ChildProcess::start(const Options& options) {
  if (::access(options.program.c_str(), X_OK) != 0) return failed("cannot run " + options.program);
  int log = -1;
  if (!options.log.empty()) {
    log = ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return failed("cannot write " + options.log);
  }
  std::vector<char*> arguments = {const_cast<char*>(options.program.c_str())};
  for (const std::string& argument : options.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(self, options.program.c_str(), arguments.data(), log);
  if (log >= 0) ::close(log);
  if (pid < 0) return failed("cannot start " + options.program);
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(other.ended_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(ended_, other.ended_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (!running()) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ChildProcess::signal(int number) {
  if (running()) ::kill(pid_, number);
}

std::optional<ChildProcess::End> ChildProcess::poll() {
  if (!running()) return ended_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) {
    End end;
    if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    ended_ = end;
  }
  return ended_;
}

std::optional<ChildProcess::End> ChildProcess::wait(int timeout_ms) {
  if (running()) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (fd >= 0) {
      pollfd exit{fd, POLLIN, 0};
      ::poll(&exit, 1, timeout_ms);
      ::close(fd);
    }
  }
  return poll();
}

double ChildProcess::cpu_seconds() const {
  if (!running()) return 0;
  return process_cpu_seconds(pid_).value_or(0);
}

std::optional<double> process_cpu_seconds(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (!file) return std::nullopt;
  char text[1024];
  const std::size_t size = std::fread(text, 1, sizeof text - 1, file.get());
  text[size] = '\0';
  // The name in parentheses may have blanks and parentheses itself: count from the last one.
  const char* after_name = std::strrchr(text, ')');
  if (after_name == nullptr) return std::nullopt;
  unsigned long user = 0;
  unsigned long system = 0;
  if (std::sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                  &system) != 2) {
    return std::nullopt;
  }
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace segue::cli
