#include "common/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace segue {

namespace {

Status failed() {
  return Status(Code::kIoError, std::generic_category().message(errno));
}

Status check_regular(const struct stat& file) {
  if (S_ISREG(file.st_mode)) return Status::ok();
  const char* kind = "Is a device";
  if (S_ISDIR(file.st_mode)) kind = "Is a directory";
  if (S_ISFIFO(file.st_mode)) kind = "Is a pipe";
  if (S_ISSOCK(file.st_mode)) kind = "Is a socket";
  return Status(Code::kInvalidConfig,
                std::string(kind) + "; what is read at the start must be a regular file");
}

Status too_large(const std::string& bytes, std::size_t most_bytes) {
  return Status(Code::kInvalidConfig,
                "has " + bytes + " bytes; at most " + std::to_string(most_bytes) + " are read");
}

Result<std::string> read_open(int fd, std::size_t most_bytes) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return failed();
  SEGUE_RETURN_IF_ERROR(check_regular(file));
  const auto size = static_cast<std::size_t>(file.st_size);
  if (size > most_bytes) return too_large(std::to_string(size), most_bytes);
  constexpr std::size_t kBlock = std::size_t{64} << 10;
  std::string text;
  // Some files are longer than they say, as those of /proc.
  for (std::size_t end = 0;;) {
    text.resize(end + std::max(kBlock, size > end ? size - end : 0));
    const ssize_t got = ::read(fd, text.data() + end, text.size() - end);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed();
    end += static_cast<std::size_t>(got);
    text.resize(end);
    if (end > most_bytes) return too_large("at least " + std::to_string(end), most_bytes);
    if (got == 0) return text;
  }
}

}  // namespace

Result<std::string> read_regular_file(const std::string& path, std::size_t most_bytes) {
  // Looked at before it is opened, which alone does something to some devices.
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return failed();
  SEGUE_RETURN_IF_ERROR(check_regular(file));
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return failed();
  Result<std::string> text = read_open(fd, most_bytes);
  ::close(fd);
  return text;
}

}  // namespace segue
