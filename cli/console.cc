#include "cli/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace segue::cli {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

// 0, or the errno that stopped it.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
      continue;
    }
    if (errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Console::Console(Streams streams)
    : streams_(std::move(streams)),
      output_is_terminal_(::isatty(streams_.out) == 1),
      error_is_terminal_(::isatty(streams_.error) == 1) {}

Console::~Console() {
  end_progress();
  flush();
}

bool Console::write(std::string_view bytes) {
  if (output_errno_ != 0) return false;
  if (buffer_.size() + bytes.size() >= kBufferBytes) {
    if (!flush()) return false;
    if (bytes.size() >= kBufferBytes) {
      output_errno_ = write_all(streams_.out, bytes);
      return output_errno_ == 0;
    }
  }
  buffer_ += bytes;
  return true;
}

bool Console::flush() {
  if (output_errno_ == 0 && !buffer_.empty()) {
    end_progress();
    output_errno_ = write_all(streams_.out, buffer_);
    buffer_.clear();
  }
  return output_errno_ == 0;
}

bool Console::sync() {
  if (!flush()) return false;
  // A pipe cannot be synced, and need not be.
  if (::fsync(streams_.out) != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT)) {
    output_errno_ = errno;
  }
  return output_errno_ == 0;
}

void Console::note(std::string_view line) {
  const std::lock_guard lock(error_mutex_);
  wipe_progress();
  std::string text(line);
  text += '\n';
  (void)write_all(streams_.error, text);
}

void Console::progress(std::string_view line) {
  if (!error_is_terminal_) return;
  const std::lock_guard lock(error_mutex_);
  std::string text = "\r\x1b[K";
  text += line;
  (void)write_all(streams_.error, text);
  progress_shown_ = true;
}

void Console::end_progress() {
  const std::lock_guard lock(error_mutex_);
  wipe_progress();
}

void Console::wipe_progress() {
  if (!progress_shown_) return;
  (void)write_all(streams_.error, "\r\x1b[K");
  progress_shown_ = false;
}

std::size_t Console::columns() const {
  winsize size{};
  if (!output_is_terminal_ || ::ioctl(streams_.out, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

void Console::take_stop() {
  if (streams_.stop < 0) return;
  pollfd stop{streams_.stop, POLLIN, 0};
  if (::poll(&stop, 1, 0) <= 0) return;
  stopped_again_ = stopped_;
  stopped_ = true;
  if (streams_.take_signal) (void)streams_.take_signal();
}

bool Console::stop_requested() {
  if (!stopped_) take_stop();
  return stopped_;
}

bool Console::stop_again() {
  if (!stopped_again_) take_stop();
  return stopped_again_;
}

bool Console::wait_readable(int fd, int timeout_ms) {
  if (stopped_) return false;
  pollfd both[2] = {{fd, POLLIN, 0}, {streams_.stop, POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(both, streams_.stop >= 0 ? 2 : 1, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    if (both[1].revents != 0 && streams_.stop >= 0) {
      take_stop();
      return false;
    }
    return true;
  }
}

}  // namespace segue::cli
