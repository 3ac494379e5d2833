#pragma once

#include <cstddef>
#include <string>

#include "cli/console.h"
#include "common/status.h"

namespace segue::cli {

/// Standard input or a file, read in blocks by one thread.
class InputFile {
 public:
  /// An empty path or "-": the console's standard input. IO_ERROR names the file and the reason.
  static Result<InputFile> open(Console& console, const std::string& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  /// Replaces `block` by the next bytes, up to 256 KiB; empty at the end, and when the run shall
  /// stop (the console knows). Waits for them.
  Status read(std::string& block);
  /// Bytes read so far, and the size of a regular file (0 otherwise): for progress.
  std::size_t bytes_read() const { return bytes_read_; }
  std::size_t total_bytes() const { return total_bytes_; }

 private:
  InputFile(Console& console, int fd, bool owned, std::string name);

  Console* console_;
  int fd_;
  bool owned_;
  std::string name_;
  std::size_t bytes_read_ = 0;
  std::size_t total_bytes_ = 0;
};

}  // namespace segue::cli
