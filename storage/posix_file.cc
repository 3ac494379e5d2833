#include "storage/posix_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace segue::storage {

namespace {

/// Pieces per pwritev: below every system's IOV_MAX (1024), and small enough for the stack.
constexpr std::size_t kMaxPieces = 512;
constexpr std::size_t kDirectAlignment = 4096;

std::string bytes_at(const char* action, std::size_t size, std::uint64_t offset) {
  return std::string(action) + " " + std::to_string(size) + " bytes at offset " +
         std::to_string(offset);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  // Nothing to do about an error: what had to be durable was synced before.
  if (number_ >= 0) ::close(number_);
}

Status system_error(const std::string& path, const std::string& action, int error_number) {
  Code code = Code::kIoError;
  if (error_number == ENOSPC || error_number == EDQUOT) code = Code::kNoSpace;
  if (error_number == ENOENT) code = Code::kNotFound;
  return Status(code, path + ": " + action + ": " + std::generic_category().message(error_number));
}

Result<std::size_t> PosixFile::read(std::uint64_t offset, char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(descriptor_.get(), to + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path(), bytes_at("read", size - done, offset + done), errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    // The end of the file; to ask again from here would be an unaligned transfer.
    if (direct_ && done % kDirectAlignment != 0) break;
  }
  return done;
}

Status PosixFile::write(std::uint64_t offset, std::span<const std::string_view> pieces) {
  std::array<iovec, kMaxPieces> vectors;
  std::size_t next = 0;  // the first piece that is not wholly written
  std::size_t skip = 0;  // bytes of it that are
  while (next < pieces.size()) {
    std::size_t count = 0;
    std::size_t wanted = 0;
    for (std::size_t i = next; i < pieces.size() && count < kMaxPieces; ++i) {
      const std::string_view piece = pieces[i].substr(i == next ? skip : 0);
      if (piece.empty()) continue;
      vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
      wanted += piece.size();
    }
    if (count == 0) break;  // only empty pieces are left
    const ssize_t put = ::pwritev(descriptor_.get(), vectors.data(), static_cast<int>(count),
                                  static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error(path(), bytes_at("write", wanted, offset), errno);
    if (put == 0) return system_error(path(), bytes_at("write", wanted, offset), EIO);
    offset += static_cast<std::uint64_t>(put);
    std::size_t left = static_cast<std::size_t>(put);
    while (next < pieces.size() && left >= pieces[next].size() - skip) {
      left -= pieces[next].size() - skip;
      skip = 0;
      ++next;
    }
    skip += left;
  }
  return Status::ok();
}

void PosixFile::begin_sync(std::uint64_t offset, std::uint64_t size) {
  static_cast<void>(::sync_file_range(descriptor_.get(), static_cast<off_t>(offset),
                                      static_cast<off_t>(size), SYNC_FILE_RANGE_WRITE));
}

Status PosixFile::sync() {
  // Not repeated on EINTR: whether a sync that failed once may be believed later is unknown.
  if (::fdatasync(descriptor_.get()) == 0) return Status::ok();
  return system_error(path(), "sync", errno);
}

Status PosixFile::truncate(std::uint64_t size) {
  int result = 0;
  do {
    result = ::ftruncate(descriptor_.get(), static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return Status::ok();
  return system_error(path(), "cut to " + std::to_string(size) + " bytes", errno);
}

Result<std::uint64_t> PosixFile::size() {
  struct stat about {};
  if (::fstat(descriptor_.get(), &about) != 0)
    return system_error(path(), "ask for the size", errno);
  return static_cast<std::uint64_t>(about.st_size);
}

}  // namespace segue::storage
