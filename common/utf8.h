#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace segue {

/// A character at the beginning of some bytes.
struct Utf8Character {
  std::uint32_t code_point = 0;
  std::size_t size = 1;  // bytes; 1 for a byte that is not UTF-8
  bool valid = false;
};

/// The character that `bytes` begin with; `bytes` are not empty. Overlong forms, surrogates and
/// numbers above U+10FFFF are not valid.
Utf8Character next_utf8(std::string_view bytes);

/// Whether all of it is UTF-8.
bool is_utf8(std::string_view bytes);

/// False for control characters and for those that end a line or turn the direction of text in a
/// terminal or a log viewer.
bool is_printable(std::uint32_t code_point);

/// `text` with control characters and broken UTF-8 as \xNN or \u{N}.
std::string printable(std::string_view text);

}  // namespace segue
