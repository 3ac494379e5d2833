#include "common/utf8.h"

#include <cstdio>

namespace segue {

Utf8Character next_utf8(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes.front());
  if (first < 0x80) return {first, 1, true};
  std::size_t size = 0;
  std::uint32_t smallest = 0;
  std::uint32_t code_point = 0;
  if ((first & 0xE0) == 0xC0) {
    size = 2, smallest = 0x80, code_point = first & 0x1F;
  } else if ((first & 0xF0) == 0xE0) {
    size = 3, smallest = 0x800, code_point = first & 0x0F;
  } else if ((first & 0xF8) == 0xF0) {
    size = 4, smallest = 0x10000, code_point = first & 0x07;
  } else {
    return {};
  }
  if (bytes.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if ((byte & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte & 0x3F);
  }
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest || code_point > 0x10FFFF || surrogate) return {};
  return {code_point, size, true};
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Character character = next_utf8(bytes);
    if (!character.valid) return false;
    bytes.remove_prefix(character.size);
  }
  return true;
}

bool is_printable(std::uint32_t code_point) {
  if (code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0)) return false;
  const bool separator = code_point == 0x2028 || code_point == 0x2029;
  const bool direction = code_point == 0x200E || code_point == 0x200F || code_point == 0x061C ||
                         (code_point >= 0x202A && code_point <= 0x202E) ||
                         (code_point >= 0x2066 && code_point <= 0x2069);
  return !separator && !direction && code_point != 0xFEFF;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character character = next_utf8(text);
    if (character.valid && is_printable(character.code_point)) {
      out += text.substr(0, character.size);
    } else {
      char escape[16];
      if (character.valid && character.code_point > 0xFF) {
        std::snprintf(escape, sizeof escape, "\\u{%x}", character.code_point);
      } else {
        const unsigned byte =
            character.valid ? character.code_point : static_cast<unsigned char>(text.front());
        std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      }
      out += escape;
    }
    text.remove_prefix(character.size);
  }
  return out;
}

}  // namespace segue
