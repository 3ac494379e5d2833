#include "bench/ceiling/sync_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/check.h"

namespace segue::bench {

namespace {

constexpr std::size_t kBlock = 4096;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kBlock - 1) / kBlock * kBlock;
}

Status failed(const std::string& action, const std::string& path) {
  return Status(Code::kIoError, "cannot " + action + " " + path + ": " + std::strerror(errno));
}

Status write_all(int fd, const char* from, std::size_t size, std::uint64_t offset,
                 const std::string& path) {
  while (size > 0) {
    const ssize_t done = ::pwrite(fd, from, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return failed("write", path);
    from += done;
    size -= static_cast<std::size_t>(done);
    offset += static_cast<std::uint64_t>(done);
  }
  return Status::ok();
}

}  // namespace

SyncFile::SyncFile(std::string path, int fd, std::uint64_t bytes, Mode mode, char* buffer)
    : path_(std::move(path)), fd_(fd), bytes_(bytes), mode_(mode), buffer_(buffer) {}

SyncFile::SyncFile(SyncFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(other.bytes_),
      mode_(other.mode_),
      buffer_(std::exchange(other.buffer_, nullptr)),
      at_(other.at_) {}

SyncFile::~SyncFile() {
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  std::free(buffer_);
}

Result<SyncFile> SyncFile::create(const std::string& path, std::uint64_t bytes, Mode mode) {
  bytes = std::max<std::uint64_t>(round_up(bytes), 2 * kMaxGroup);
  auto* buffer = static_cast<char*>(std::aligned_alloc(kBlock, kMaxGroup + kBlock));
  if (buffer == nullptr) return Status(Code::kResourceError, "no memory for a write buffer");
  std::memset(buffer, 'w', kMaxGroup + kBlock);
  const int direct = mode == Mode::kDirect ? O_DIRECT : 0;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | direct, 0644);
  if (fd < 0) {
    std::free(buffer);
    return failed("open", path);
  }
  SyncFile file(path, fd, bytes, mode, buffer);
  for (std::uint64_t at = 0; at < bytes; at += kMaxGroup) {
    const std::size_t size = std::min<std::uint64_t>(kMaxGroup, bytes - at);
    SEGUE_RETURN_IF_ERROR(write_all(fd, buffer, size, at, path));
  }
  if (::fsync(fd) != 0) return failed("sync", path);
  return file;
}

Status SyncFile::write_group(const std::vector<std::string_view>& pieces) {
  std::size_t bytes = 0;
  for (const std::string_view piece : pieces) bytes += piece.size();
  SEGUE_CHECK(bytes <= kMaxGroup);
  if (at_ + round_up(bytes) > bytes_) at_ = 0;
  SEGUE_RETURN_IF_ERROR(mode_ == Mode::kDirect ? write_direct(pieces, bytes)
                                               : write_buffered(pieces, bytes));
  if (::fdatasync(fd_) != 0) return failed("sync", path_);
  return Status::ok();
}

Status SyncFile::write_direct(const std::vector<std::string_view>& pieces, std::size_t bytes) {
  char* to = buffer_;
  for (const std::string_view piece : pieces) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  const std::size_t size = round_up(bytes);
  SEGUE_RETURN_IF_ERROR(write_all(fd_, buffer_, size, at_, path_));
  at_ += size;
  return Status::ok();
}

Status SyncFile::write_buffered(const std::vector<std::string_view>& pieces, std::size_t bytes) {
  constexpr std::size_t kPieces = 512;
  std::vector<iovec> vectors;
  for (std::size_t from = 0; from < pieces.size(); from += kPieces) {
    vectors.clear();
    std::size_t expected = 0;
    for (std::size_t i = from; i < std::min(pieces.size(), from + kPieces); ++i) {
      vectors.push_back({const_cast<char*>(pieces[i].data()), pieces[i].size()});
      expected += pieces[i].size();
    }
    const ssize_t done =
        ::pwritev(fd_, vectors.data(), static_cast<int>(vectors.size()), static_cast<off_t>(at_));
    if (done != static_cast<ssize_t>(expected)) return failed("write", path_);
    at_ += expected;
  }
  (void)bytes;
  return Status::ok();
}

}  // namespace segue::bench
