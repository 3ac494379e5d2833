#include "common/json_output.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/utf8.h"

namespace segue {

namespace {

void append_character(std::string& out, std::string_view bytes, const Utf8Character& character) {
  if (!character.valid) {
    out += "\xEF\xBF\xBD";
    return;
  }
  switch (character.code_point) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (character.code_point < 0x20 || character.code_point == 0x7F) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", character.code_point);
    out += escape;
    return;
  }
  out += bytes.substr(0, character.size);
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  while (!text.empty()) {
    const Utf8Character character = next_utf8(text);
    append_character(out, text, character);
    text.remove_prefix(character.size);
  }
  out += '"';
  return out;
}

void JsonWriter::before_value() {
  if (comma_) out_ += ',';
  comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  before_value();
  out_ += '{';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  out_ += '[';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  out_ += json_quoted(name) + ":";
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  return raw(json_quoted(text));
}

JsonWriter& JsonWriter::value(bool truth) {
  return raw(truth ? "true" : "false");
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  return raw(std::to_string(number));
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  return raw(std::to_string(number));
}

JsonWriter& JsonWriter::value(double number, int decimals) {
  if (!std::isfinite(number)) return null();
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, number);
  return raw(text);
}

JsonWriter& JsonWriter::exact(double number) {
  if (!std::isfinite(number)) return null();
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  std::string out(text, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return raw(out);
}

JsonWriter& JsonWriter::null() {
  return raw("null");
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  out_ += json;
  return *this;
}

std::string JsonWriter::take() {
  comma_ = false;
  return std::exchange(out_, {});
}

}  // namespace segue
