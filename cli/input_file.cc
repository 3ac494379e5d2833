#include "cli/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace segue::cli {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

}  // namespace

InputFile::InputFile(Console& console, int fd, bool owned, std::string name)
    : console_(&console), fd_(fd), owned_(owned), name_(std::move(name)) {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    total_bytes_ = static_cast<std::size_t>(status.st_size);
  }
}

InputFile::InputFile(InputFile&& other) noexcept
    : console_(other.console_),
      fd_(std::exchange(other.fd_, -1)),
      owned_(other.owned_),
      name_(std::move(other.name_)),
      bytes_read_(other.bytes_read_),
      total_bytes_(other.total_bytes_) {}

InputFile::~InputFile() {
  if (owned_ && fd_ >= 0) ::close(fd_);
}

Result<InputFile> InputFile::open(Console& console, const std::string& path) {
  if (path.empty() || path == "-") return InputFile(console, console.input(), false, "the input");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status(Code::kIoError, "cannot read " + path + ": " + std::strerror(errno));
  return InputFile(console, fd, true, path);
}

Status InputFile::read(std::string& block) {
  block.clear();
  // A regular file is always ready; what is waited for is a pipe or a terminal.
  if (!console_->wait_readable(fd_, -1)) return Status::ok();
  block.resize(kBlockBytes);
  ssize_t size = 0;
  do {
    size = ::read(fd_, block.data(), block.size());
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    block.clear();
    return Status(Code::kIoError, "cannot read " + name_ + ": " + std::strerror(errno));
  }
  block.resize(static_cast<std::size_t>(size));
  bytes_read_ += block.size();
  return Status::ok();
}

}  // namespace segue::cli
