#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/utf8.h"

namespace segue::cli {

/// A table for people: columns as wide as their widest cell, numbers to the right. Control
/// characters and bytes that are not UTF-8 are shown as escapes, so that a name cannot play with
/// the terminal. One thread.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Title line and rows, each ended by a newline, no blanks at the ends of lines.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "12,345,678".
std::string grouped(std::uint64_t number);
/// "1 message", "2,000 messages".
std::string counted(std::uint64_t number, std::string_view noun);
/// "1, 4-7" of rising numbers.
std::string ranges(const std::vector<std::uint32_t>& numbers);
/// "1.5 GiB", "0 B".
std::string human_bytes(std::uint64_t bytes);
/// "2d 3h", "4m 10s", "850ms".
std::string human_duration(std::uint64_t milliseconds);
/// `name` for scripts, which tell any two names apart: as it is, but a backslash as two, and each
/// byte of a character that does not show as \xNN. The shell's `printf %b` undoes it.
std::string name_line(std::string_view name);
/// Columns that `text` takes on a terminal: its characters.
std::size_t display_width(std::string_view text);

}  // namespace segue::cli
