#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

#include "common/json_string.h"
#include "common/logging.h"
#include "common/utf8.h"

namespace segue {
namespace {

constexpr std::array<std::string_view, 6> kUpperNames = {"TRACE", "DEBUG", "INFO",
                                                         "WARN",  "ERROR", "OFF"};
constexpr std::string_view kHex = "0123456789abcdef";

void append_padded(std::string& out, std::int64_t number, int width) {
  const std::string digits = std::to_string(number);
  for (int i = static_cast<int>(digits.size()); i < width; ++i) out += '0';
  out += digits;
}

void append_time(std::string& out, std::int64_t wall_ms) {
  std::int64_t seconds = wall_ms / 1000;
  std::int64_t ms = wall_ms % 1000;
  if (ms < 0) {
    ms += 1000;
    --seconds;
  }
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  append_padded(out, parts.tm_year + 1900, 4);
  out += '-';
  append_padded(out, parts.tm_mon + 1, 2);
  out += '-';
  append_padded(out, parts.tm_mday, 2);
  out += 'T';
  append_padded(out, parts.tm_hour, 2);
  out += ':';
  append_padded(out, parts.tm_min, 2);
  out += ':';
  append_padded(out, parts.tm_sec, 2);
  out += '.';
  append_padded(out, ms, 3);
  out += 'Z';
}

void append_number(std::string& out, double number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  out.append(buffer.data(), end.ptr);
}

/// Appends one byte as both formats escape it; true if it needed that.
bool append_escape(std::string& out, unsigned char byte) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return true;
    case '\\':
      out += "\\\\";
      return true;
    case '\n':
      out += "\\n";
      return true;
    case '\r':
      out += "\\r";
      return true;
    case '\t':
      out += "\\t";
      return true;
    default:
      return false;
  }
}

/// Every character that is not printed as itself (control characters, also those above U+007F; the
/// line and paragraph separators) and each byte that is not UTF-8 becomes an escape.
void append_text_quoted(std::string& out, std::string_view value) {
  out += '"';
  for (std::size_t at = 0; at < value.size();) {
    const Utf8Character character = next_utf8(value.substr(at));
    const auto byte = static_cast<unsigned char>(value[at]);
    if (character.valid && is_printable(character.code_point)) {
      if (!append_escape(out, byte)) out += value.substr(at, character.size);
    } else if (!append_escape(out, byte)) {
      for (const char raw : value.substr(at, character.size)) {
        out += "\\x";
        out += kHex[static_cast<unsigned char>(raw) >> 4];
        out += kHex[static_cast<unsigned char>(raw) & 0xF];
      }
    }
    at += character.size;
  }
  out += '"';
}

bool needs_quotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char raw : value) {
    const auto byte = static_cast<unsigned char>(raw);
    if (byte <= ' ' || byte >= 0x7F || byte == '"' || byte == '=' || byte == '\\') return true;
  }
  return false;
}

struct TextValue {
  std::string& out;
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { out += std::to_string(value); }
  void operator()(std::uint64_t value) const { out += std::to_string(value); }
  void operator()(double value) const { append_number(out, value); }
  void operator()(std::string_view value) const {
    if (needs_quotes(value)) {
      append_text_quoted(out, value);
    } else {
      out += value;
    }
  }
};

struct JsonValue {
  std::string& out;
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { out += std::to_string(value); }
  void operator()(std::uint64_t value) const { out += std::to_string(value); }
  void operator()(double value) const {
    std::isfinite(value) ? append_number(out, value) : void(out += "null");
  }
  void operator()(std::string_view value) const { append_json_string(out, value); }
};

}  // namespace

void append_json_string(std::string& out, std::string_view value) {
  out += '"';
  for (std::size_t at = 0; at < value.size();) {
    const Utf8Character character = next_utf8(value.substr(at));
    const auto byte = static_cast<unsigned char>(value[at]);
    if (!character.valid) {
      out += "\xEF\xBF\xBD";
    } else if (append_escape(out, byte)) {
      // written
    } else if (is_printable(character.code_point)) {
      out += value.substr(at, character.size);
    } else {
      out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4)
        out += kHex[(character.code_point >> shift) & 0xF];
    }
    at += character.size;
  }
  out += '"';
}

std::string format_text(const LogEvent& event) {
  std::string line;
  append_time(line, event.wall_ms);
  line += ' ';
  line += kUpperNames.at(static_cast<std::size_t>(event.level));
  line += " event=";
  TextValue{line}(event.name);
  for (const LogField& field : event.fields) {
    line += ' ';
    TextValue{line}(field.name);
    line += '=';
    std::visit(TextValue{line}, field.value.variant());
  }
  return line;
}

std::string format_json(const LogEvent& event) {
  std::string line = "{\"time\":\"";
  append_time(line, event.wall_ms);
  line += "\",\"level\":\"";
  line += log_level_name(event.level);
  line += "\",\"event\":";
  append_json_string(line, event.name);
  for (const LogField& field : event.fields) {
    line += ',';
    append_json_string(line, field.name);
    line += ':';
    std::visit(JsonValue{line}, field.value.variant());
  }
  line += '}';
  return line;
}

}  // namespace segue
