#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace segue::cli {

/// A header on the last message of a file that does not end with a newline; `segue consume` then
/// writes none either. So that a file comes back byte for byte.
inline constexpr std::string_view kNoNewlineHeader = "x-segue-no-newline";

/// Cuts a stream of bytes into lines at '\n' and nothing else: a line may have any other bytes,
/// NUL and CR included, or none. Give it what was read, then take lines until there is none, and so
/// on. One thread.
class LineSplitter {
 public:
  /// Lines longer than `max_line` bytes are refused.
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}

  struct Line {
    std::string_view text;  // without its '\n'; valid until the next call
    bool ended = true;      // false: the last line, with no '\n' after it
  };

  /// Bytes that were read.
  void add(std::string_view bytes);
  /// Nothing more will come: what is left is the last line.
  void finish() { finished_ = true; }
  /// The next line; nothing when more bytes are needed, or all is taken.
  std::optional<Line> next();
  /// A line is longer than allowed: its number from 1. next() gives nothing more.
  std::optional<std::size_t> too_long() const;
  /// Lines taken.
  std::size_t count() const { return count_; }

 private:
  const std::size_t max_line_;
  std::string buffer_;
  std::size_t begin_ = 0;    // first byte not taken
  std::size_t scanned_ = 0;  // no '\n' in [begin_, scanned_)
  std::size_t count_ = 0;
  bool finished_ = false;
  bool too_long_ = false;
};

}  // namespace segue::cli
