#include "cli/table_output.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "common/check.h"

namespace segue::cli {

namespace {

constexpr std::string_view kGap = "  ";

void append_cell(std::string& line, const std::string& cell, std::size_t width,
                 Table::Align align) {
  const std::string fill(width - std::min(width, display_width(cell)), ' ');
  if (align == Table::Align::kRight)
    line.append(fill).append(cell);
  else
    line.append(cell).append(fill);
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  SEGUE_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  std::string out;
  const auto append_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += kGap;
      append_cell(line, cell_of(i), widths[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  append_line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    append_line([&](std::size_t i) -> const std::string& { return row[i]; });
  }
  return out;
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return grouped(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string ranges(const std::vector<std::uint32_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out += (out.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) out += (last == i + 1 ? ", " : "-") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string human_duration(std::uint64_t milliseconds) {
  const std::uint64_t seconds = milliseconds / 1000;
  const auto two = [](std::uint64_t large, const char* unit, std::uint64_t small,
                      const char* small_unit) {
    std::string text = std::to_string(large);
    text.append(unit);
    if (small > 0) text.append(" ").append(std::to_string(small)).append(small_unit);
    return text;
  };
  if (seconds == 0) return std::to_string(milliseconds) + "ms";
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return two(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86400) return two(seconds / 3600, "h", seconds % 3600 / 60, "m");
  return two(seconds / 86400, "d", seconds % 86400 / 3600, "h");
}

std::string name_line(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const Utf8Character character = next_utf8(name);
    const std::string_view bytes = name.substr(0, character.size);
    name.remove_prefix(character.size);
    if (bytes == "\\") {
      out += "\\\\";
    } else if (character.valid && is_printable(character.code_point)) {
      out += bytes;
    } else {
      for (const char byte : bytes) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(byte));
        out += escape;
      }
    }
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    text.remove_prefix(next_utf8(text).size);
    ++width;
  }
  return width;
}

}  // namespace segue::cli
