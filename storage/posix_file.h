#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// Owns a file descriptor; -1 is none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();

  int get() const { return number_; }

 private:
  int number_;
};

/// "path: action: reason", as NO_SPACE for ENOSPC and EDQUOT, NOT_FOUND for a missing file, else
/// IO_ERROR.
Status system_error(const std::string& path, const std::string& action, int error_number);

/// A file of the operating system. One thread at a time.
class PosixFile final : public File {
 public:
  PosixFile(std::string path, FileDescriptor descriptor, bool direct)
      : File(std::move(path)), descriptor_(std::move(descriptor)), direct_(direct) {}

  Result<std::size_t> read(std::uint64_t offset, char* to, std::size_t size) override;
  Status write(std::uint64_t offset, std::span<const std::string_view> pieces) override;
  void begin_sync(std::uint64_t offset, std::uint64_t size) override;
  Status sync() override;
  Status truncate(std::uint64_t size) override;
  Result<std::uint64_t> size() override;

 private:
  FileDescriptor descriptor_;
  bool direct_;
};

}  // namespace segue::storage
