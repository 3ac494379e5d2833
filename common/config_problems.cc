#include "common/config_problems.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/utf8.h"

namespace segue {

void ConfigProblems::add(ConfigPosition position, std::string text) {
  // Kept up to a bound that leaves enough to put into order.
  if (problems_.size() < kMaxShown * 20) {
    problems_.push_back({position, std::move(text)});
  } else {
    ++left_out_;
  }
}

void ConfigProblems::add(ConfigPosition position, std::string_view path, std::string_view text) {
  add(position, "key " + in_quotes(path) + ": " + std::string(text));
}

Status ConfigProblems::to_status() const {
  if (problems_.empty()) return Status::ok();
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.position.line, a.position.column) <
           std::tie(b.position.line, b.position.column);
  });
  std::string message;
  const std::size_t shown = std::min(sorted.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) message += '\n';
    if (!file_name_.empty()) message += file_name_ + ':';
    message += std::to_string(sorted[i].position.line) + ':' +
               std::to_string(sorted[i].position.column) + ": " + sorted[i].text;
  }
  const std::size_t more = sorted.size() - shown + left_out_;
  if (more > 0) message += "\nand " + std::to_string(more) + " more problems";
  return {Code::kInvalidConfig, std::move(message)};
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShownBytes = 80;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "'";
  while (!text.empty()) {
    const Utf8Character character = next_utf8(text);
    const std::string_view bytes = text.substr(0, character.size);
    if (out.size() + bytes.size() > kMaxShownBytes) {
      out += "...";
      break;
    }
    if (character.valid && is_printable(character.code_point)) {
      out += bytes;
    } else {
      for (const char raw : bytes) {
        out += "\\x";
        out += kHex[static_cast<unsigned char>(raw) >> 4];
        out += kHex[static_cast<unsigned char>(raw) & 0xF];
      }
    }
    text.remove_prefix(character.size);
  }
  return out + "'";
}

}  // namespace segue
