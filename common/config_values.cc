#include "common/config_values.h"

#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "common/config_problems.h"

namespace segue {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 9> kSizeUnits = {{{"TiB", 1ull << 40},
                                             {"GiB", 1ull << 30},
                                             {"MiB", 1ull << 20},
                                             {"KiB", 1ull << 10},
                                             {"TB", 1'000'000'000'000},
                                             {"GB", 1'000'000'000},
                                             {"MB", 1'000'000},
                                             {"KB", 1000},
                                             {"B", 1}}};
constexpr std::array<Unit, 4> kDurationUnits = {
    {{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

constexpr std::string_view kSizeExpected = "a size such as 64MiB, 1GB or 4096 (bytes)";
constexpr std::string_view kDurationExpected = "a duration such as 500ms, 30s, 5m or 2h";
constexpr std::string_view kCountExpected = "a whole number";

Status unexpected(std::string_view expected, std::string_view found) {
  return {Code::kInvalidConfig,
          "expected " + std::string(expected) + ", found " + in_quotes(found)};
}

/// Digits, then perhaps a blank, then a unit. `unitless` is the factor of a number without a unit;
/// 0: only the number 0 may be without.
Result<std::uint64_t> parse_with_unit(std::string_view text, std::span<const Unit> units,
                                      std::uint64_t unitless, std::string_view expected) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) {
    return unexpected(std::string(expected) + " below 2^64", text);
  }
  if (error != std::errc()) return unexpected(expected, text);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (rest.empty()) {
    if (unitless == 0 && number != 0)
      return unexpected(std::string(expected) + " with a unit", text);
    return number * unitless;
  }
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const Unit& unit : units) {
    if (rest != unit.name) continue;
    if (number > std::numeric_limits<std::uint64_t>::max() / unit.factor) {
      return unexpected(std::string(expected) + " below 2^64", text);
    }
    return number * unit.factor;
  }
  return unexpected(expected, text);
}

std::string format_with_unit(std::uint64_t number, std::span<const Unit> units) {
  if (number == 0) return "0";
  for (const Unit& unit : units) {
    if (number % unit.factor == 0)
      return std::to_string(number / unit.factor) + std::string(unit.name);
  }
  return std::to_string(number);
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  return parse_with_unit(text, kSizeUnits, 1, kSizeExpected);
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const Result<std::uint64_t> ms = parse_with_unit(text, kDurationUnits, 0, kDurationExpected);
  if (!ms) return ms.status();
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (*ms > kMost) return unexpected(kDurationExpected, text);
  return std::chrono::milliseconds(static_cast<std::int64_t>(*ms));
}

Result<std::uint64_t> parse_count(std::string_view text) {
  return parse_with_unit(text, {}, 1, kCountExpected);
}

std::string format_size(std::uint64_t bytes) {
  // Plain below 1 KiB, and wherever only "B" would fit.
  std::string text = format_with_unit(bytes, std::span(kSizeUnits).first(8));
  return text;
}

std::string format_duration(std::chrono::milliseconds duration) {
  const auto ms = static_cast<std::uint64_t>(duration.count());
  return format_with_unit(ms, kDurationUnits);
}

Status check_id(std::string_view text) {
  constexpr std::size_t kMaxId = 64;
  bool good = !text.empty() && text.size() <= kMaxId;
  for (const char letter : text) {
    good = good && ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                    (letter >= '0' && letter <= '9') || letter == '_' || letter == '-');
  }
  if (good) return Status::ok();
  return unexpected("1 to 64 of the characters a-z A-Z 0-9 _ -", text);
}

}  // namespace segue
