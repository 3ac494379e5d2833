#include <cstdlib>

#include "common/config_problems.h"
#include "common/config_values.h"

namespace segue {
namespace {

// More than any value of a configuration needs; bounds what variables can make of one.
constexpr std::size_t kMaxExpandedBytes = 64 << 10;

bool is_variable_name(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  for (const char letter : name) {
    const bool good = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                      (letter >= '0' && letter <= '9') || letter == '_';
    if (!good) return false;
  }
  return true;
}

Status invalid(std::string message) {
  return {Code::kInvalidConfig, std::move(message)};
}

/// What `${reference}` stands for.
Result<std::string> lookup(std::string_view reference, const EnvironmentLookup& environment) {
  const std::size_t mark = reference.find(":-");
  const std::string_view name = reference.substr(0, mark);
  if (!is_variable_name(name)) {
    return invalid(
        "expected ${NAME} or ${NAME:-default} with a NAME of letters, digits and _, found " +
        in_quotes("${" + std::string(reference) + "}"));
  }
  std::optional<std::string> value = environment(name);
  if (mark == std::string_view::npos) {
    if (value) return *std::move(value);
    return invalid("the environment variable " + std::string(name) +
                   " is not set; set it, or give a default with ${" + std::string(name) +
                   ":-default}");
  }
  if (value && !value->empty()) return *std::move(value);
  return std::string(reference.substr(mark + 2));
}

}  // namespace

EnvironmentLookup process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

Result<std::string> expand_environment(std::string_view text,
                                       const EnvironmentLookup& environment) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    if (text.starts_with('$')) {
      out += '$';
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = text.find('}');
    if (!text.starts_with('{') || end == std::string_view::npos) {
      return invalid("expected ${NAME}, ${NAME:-default} or $$ for a dollar sign, found " +
                     in_quotes("$" + std::string(text)));
    }
    Result<std::string> value = lookup(text.substr(1, end - 1), environment);
    if (!value) return value.status();
    out += *value;
    text.remove_prefix(end + 1);
    if (out.size() > kMaxExpandedBytes) {
      return invalid("expected at most " + std::to_string(kMaxExpandedBytes) +
                     " bytes with the environment's variables filled in");
    }
  }
  return out;
}

}  // namespace segue
