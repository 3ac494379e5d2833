#include "storage/posix_file_system.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "storage/posix_file.h"

namespace segue::storage {

namespace {

/// Names made by the process are its own: readable by the owner and the group.
constexpr mode_t kFilePermissions = 0640;

/// Files with as many bytes on the disk are let go of on the releaser's thread.
constexpr std::int64_t kSlowToRelease = 64 << 10;

class PosixLock final : public FileLock {
 public:
  explicit PosixLock(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  FileDescriptor descriptor_;  // flock ends with the descriptor
};

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead:
    case OpenMode::kReadFresh:
      return O_RDONLY;
    case OpenMode::kReadDirect:
      return O_RDONLY | O_DIRECT;
    case OpenMode::kReadWrite:
      return O_RDWR | O_CREAT;
    case OpenMode::kReadWriteDirect:
      return O_RDWR | O_CREAT | O_DIRECT;
  }
  return O_RDONLY;
}

int open_retrying(const std::string& path, int flags) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, kFilePermissions);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

/// Who has the flock of the file, for people, as far as the system tells it.
std::string lock_holder(int descriptor) {
  constexpr const char* kSomebody = "another process";
  struct stat about {};
  std::ifstream locks("/proc/locks");
  if (::fstat(descriptor, &about) != 0) return kSomebody;
  // "3: FLOCK  ADVISORY  WRITE 25750 fe:00:10993745 0 EOF": who, and major:minor:inode.
  std::string number, kind, advisory, access, process, file;
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    words >> number >> kind >> advisory >> access >> process >> file;
    if (kind != "FLOCK" || !file.ends_with(":" + std::to_string(about.st_ino))) continue;
    std::ifstream command("/proc/" + process + "/comm");
    std::string name;
    if (process != "0" && std::getline(command, name)) return "process " + process + ", " + name;
  }
  return kSomebody;
}

}  // namespace

Result<std::unique_ptr<File>> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  const bool direct = mode == OpenMode::kReadDirect || mode == OpenMode::kReadWriteDirect;
  const int descriptor = open_retrying(path, flags_of(mode));
  if (descriptor < 0) {
    // The name may have been made by the refused call; it stays, empty, for the fallback.
    if (direct && errno == EINVAL) {
      return Status(Code::kNotImplemented, path + ": open: the file system refuses O_DIRECT");
    }
    return system_error(path, "open", errno);
  }
  // Only advice: a file system that keeps everything in memory has no other truth.
  if (mode == OpenMode::kReadFresh) {
    static_cast<void>(::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED));
  }
  return std::unique_ptr<File>(
      std::make_unique<PosixFile>(path, FileDescriptor(descriptor), direct));
}

Status PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return Status::ok();
  return system_error(from, "rename to " + to, errno);
}

Status PosixFileSystem::link(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return Status::ok();
  if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) {
    return Status(Code::kNotImplemented,
                  from + ": link to " + to + ": the file system has no hard links");
  }
  return system_error(from, "link to " + to, errno);
}

Status PosixFileSystem::remove(const std::string& path) {
  // While it is open the file goes only by name, which is quick.
  FileDescriptor kept(open_retrying(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK));
  if (::unlink(path.c_str()) != 0) {
    return errno == ENOENT ? Status::ok() : system_error(path, "remove", errno);
  }
  struct stat about {};
  if (kept.get() >= 0 && ::fstat(kept.get(), &about) == 0 &&
      about.st_blocks >= kSlowToRelease / S_BLKSIZE) {
    releaser_.release(std::move(kept));
  }
  return Status::ok();
}

Status PosixFileSystem::remove_directory(const std::string& path) {
  releaser_.drain();  // the system would wait for its files too, but busily
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return Status::ok();
  return system_error(path, "remove directory", errno);
}

Status PosixFileSystem::make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return Status::ok();
  return system_error(path, "make directory", error.value());
}

Status PosixFileSystem::sync_directory(const std::string& path) {
  const FileDescriptor descriptor(open_retrying(path, O_RDONLY | O_DIRECTORY));
  if (descriptor.get() < 0) return system_error(path, "open the directory to sync it", errno);
  if (::fsync(descriptor.get()) == 0) return Status::ok();
  return system_error(path, "sync the directory", errno);
}

Status PosixFileSystem::sync_all(const std::string& path) {
  const FileDescriptor descriptor(open_retrying(path, O_RDONLY));
  if (descriptor.get() < 0) return system_error(path, "open to sync the file system", errno);
  if (::syncfs(descriptor.get()) == 0) return Status::ok();
  return system_error(path, "sync the file system", errno);
}

Result<std::vector<std::string>> PosixFileSystem::list(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator at(path, error);
  const std::filesystem::directory_iterator end;
  while (!error && at != end) {
    names.push_back(at->path().filename().string());
    at.increment(error);
  }
  if (error) return system_error(path, "list", error.value());
  std::sort(names.begin(), names.end());
  return names;
}

bool PosixFileSystem::exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Result<std::uint64_t> PosixFileSystem::free_bytes(const std::string& path) {
  struct statvfs about {};
  int result = 0;
  do {
    result = ::statvfs(path.c_str(), &about);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return system_error(path, "ask for free space", errno);
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const std::string& path) {
  FileDescriptor descriptor(open_retrying(path, O_RDWR | O_CREAT));
  if (descriptor.get() < 0) return system_error(path, "open the lock file", errno);
  int result = 0;
  do {
    result = ::flock(descriptor.get(), LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0)
    return std::unique_ptr<FileLock>(std::make_unique<PosixLock>(std::move(descriptor)));
  if (errno == EWOULDBLOCK) {
    return Status(Code::kResourceLocked,
                  path + ": lock: " + lock_holder(descriptor.get()) + " holds it");
  }
  return system_error(path, "lock", errno);
}

std::string resolved_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, error);
  return error ? path : resolved.string();
}

Status make_empty_file(const std::string& path) {
  return PosixFileSystem().open(path, OpenMode::kReadWrite).status();
}

}  // namespace segue::storage
