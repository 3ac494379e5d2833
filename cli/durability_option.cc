#include "cli/durability_option.h"

namespace segue::cli {

namespace {

constexpr std::uint64_t kLongestMs = 60'000;  // a node's limit, and the configuration's

}  // namespace

Result<client::Value> parse_durability(std::string_view text) {
  if (text == "sync") return client::Value("sync");
  const Result<std::uint64_t> number = parse_number(text, 1, kLongestMs);
  if (number) return client::Value(*number);
  return Status(Code::kInvalidConfig, "expected sync, or milliseconds from 1 to " +
                                          std::to_string(kLongestMs) + ", got '" +
                                          std::string(text) + "'");
}

}  // namespace segue::cli
