#include "cli/demo/topic_key.h"

#include <algorithm>
#include <span>

namespace segue::cli::demo {

namespace {

using Words = std::vector<std::string_view>;

Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::size_t dot = text.find('.');
    words.push_back(text.substr(0, dot));
    if (dot == text.npos) break;
    text.remove_prefix(dot + 1);
    if (text.empty()) words.emplace_back();
  }
  return words;
}

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '+' || c == '-';
}

}  // namespace

std::string topic_word(std::string_view text) {
  constexpr std::size_t kMostBytes = 100;
  if (text.empty()) return "unknown";
  std::string word(text.substr(0, kMostBytes));
  for (char& c : word) {
    if (!is_word_byte(c)) c = '-';
  }
  return word;
}

std::string topic_key(std::string_view section, std::string_view priority) {
  return topic_word(section) + "." + topic_word(priority);
}

bool topic_matches(std::string_view pattern, std::string_view key) {
  const Words key_words = words_of(key);
  // reached[i]: the pattern's words so far match the key's first i words.
  std::vector<bool> reached(key_words.size() + 1);
  reached[0] = true;
  for (const std::string_view word : words_of(pattern)) {
    std::vector<bool> next(reached.size());
    for (std::size_t i = 0; i < reached.size(); ++i) {
      if (word == "#") {
        next[i] = reached[i] || (i > 0 && next[i - 1]);
      } else {
        next[i] = i > 0 && reached[i - 1] && (word == "*" || word == key_words[i - 1]);
      }
    }
    reached = std::move(next);
  }
  return reached.back();
}

bool any_topic_matches(const std::vector<std::string>& patterns, std::string_view key) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return topic_matches(pattern, key); });
}

}  // namespace segue::cli::demo
