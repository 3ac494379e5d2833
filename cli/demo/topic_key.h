#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace segue::cli::demo {

/// The key of what is just a line.
inline constexpr const char* kLineKey = "lines.plain";

/// `text` as one word of a topic key: letters, digits, `_`, `+` and `-` stay, any other byte
/// becomes a `-` ("contrib/net" is "contrib-net"), at most 100 bytes are taken, and nothing is
/// "unknown".
std::string topic_word(std::string_view text);

/// "<section>.<priority>", each as a word.
std::string topic_key(std::string_view section, std::string_view priority);

/// Whether a topic pattern matches a key: words separated by dots, `*` for exactly one word, `#`
/// for any number. Written for the demo's checks, apart from the broker's own, so that it can tell
/// when that is wrong.
bool topic_matches(std::string_view pattern, std::string_view key);

/// Whether one of the patterns matches.
bool any_topic_matches(const std::vector<std::string>& patterns, std::string_view key);

}  // namespace segue::cli::demo
