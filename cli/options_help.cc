#include "cli/options.h"

namespace segue::cli {

namespace {

constexpr std::size_t kHelpColumn = 28;
constexpr std::size_t kWidth = 96;

// Appends `text` after `head`, wrapped, its lines starting at kHelpColumn.
void append_entry(std::string& out, std::string head, const std::string& text) {
  if (head.size() + 2 > kHelpColumn) {
    out += head + "\n" + std::string(kHelpColumn, ' ');
  } else {
    head.resize(kHelpColumn, ' ');
    out += head;
  }
  std::size_t column = kHelpColumn;
  std::size_t from = 0;
  while (from < text.size()) {
    std::size_t end = text.find(' ', from);
    if (end == std::string::npos) end = text.size();
    const std::size_t length = end - from;
    if (column > kHelpColumn && column + 1 + length > kWidth) {
      out += "\n" + std::string(kHelpColumn, ' ');
      column = kHelpColumn;
    }
    if (column > kHelpColumn) {
      out += ' ';
      ++column;
    }
    out.append(text, from, length);
    column += length;
    from = end + 1;
  }
  out += '\n';
}

}  // namespace

std::string OptionTable::usage() const {
  std::string out;
  if (!entries_.empty()) out += " [OPTIONS]";
  for (const PositionalEntry& entry : positionals_) {
    const std::string name = entry.positional.name + (entry.rest ? "..." : "");
    out += entry.positional.required ? " " + name : " [" + name + "]";
  }
  return out;
}

std::string OptionTable::help() const {
  std::string out;
  if (!positionals_.empty()) {
    out += "Arguments:\n";
    for (const PositionalEntry& entry : positionals_) {
      append_entry(out, "  " + entry.positional.name, entry.positional.help);
    }
  }
  if (!entries_.empty()) {
    if (!out.empty()) out += '\n';
    out += "Options:\n";
    for (const Entry& entry : entries_) {
      std::string head = entry.option.letter != 0 ? std::string("  -") + entry.option.letter + ", "
                                                  : std::string("      ");
      head += "--" + entry.option.name;
      if (!entry.option.value.empty()) head += " " + entry.option.value;
      append_entry(out, std::move(head), entry.option.help);
    }
  }
  return out;
}

}  // namespace segue::cli
