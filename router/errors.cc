#include "router/errors.h"

#include "common/utf8.h"

namespace segue::router {

namespace {

constexpr std::size_t kMaxQuotedBytes = 80;

}  // namespace

v1::Error make_error(Code code, std::string_view entity, std::string text) {
  v1::Error error;
  error.set_code(static_cast<std::uint32_t>(code));
  error.set_name(std::string(code_name(code)));
  if (is_utf8(entity)) error.set_entity(std::string(entity));
  error.set_text(std::move(text));
  return error;
}

v1::Error make_error(const Status& status, std::string_view entity) {
  return make_error(status.code(), entity, status.message());
}

std::string in_quotes(std::string_view name) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "'";
  std::string_view rest = name;
  while (!rest.empty() && name.size() - rest.size() < kMaxQuotedBytes) {
    const Utf8Character character = next_utf8(rest);
    if (character.valid && is_printable(character.code_point)) {
      text += rest.substr(0, character.size);
    } else {
      for (const char byte : rest.substr(0, character.size)) {
        const auto number = static_cast<unsigned char>(byte);
        text += "\\x";
        text += kDigits[number >> 4];
        text += kDigits[number & 15];
      }
    }
    rest.remove_prefix(character.size);
  }
  if (!rest.empty()) text += "...";
  return text + "'";
}

}  // namespace segue::router
