#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace segue::bench {

/// A file whose every block was written once and synced, and which is then written round and round:
/// a sync has only data to wait for, no metadata. What a write-ahead log can hope for at best.
/// Removed when closed. One thread.
class SyncFile {
 public:
  enum class Mode {
    kBuffered,  // pwritev through the page cache, fdatasync
    kDirect,    // O_DIRECT from an aligned buffer, fdatasync
  };

  /// Largest number of bytes that one write_group() takes.
  static constexpr std::size_t kMaxGroup = 4u << 20;

  /// Makes and fills the file.
  static Result<SyncFile> create(const std::string& path, std::uint64_t bytes, Mode mode);
  ~SyncFile();
  SyncFile(SyncFile&& other) noexcept;
  SyncFile& operator=(SyncFile&&) = delete;

  /// Writes the pieces back to back and syncs. Together at most kMaxGroup.
  Status write_group(const std::vector<std::string_view>& pieces);

 private:
  SyncFile(std::string path, int fd, std::uint64_t bytes, Mode mode, char* buffer);
  Status write_direct(const std::vector<std::string_view>& pieces, std::size_t bytes);
  Status write_buffered(const std::vector<std::string_view>& pieces, std::size_t bytes);

  std::string path_;
  int fd_;
  std::uint64_t bytes_;
  Mode mode_;
  char* buffer_;  // kMaxGroup + a block, aligned
  std::uint64_t at_ = 0;
};

}  // namespace segue::bench
