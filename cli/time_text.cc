#include "cli/time_text.h"

#include <charconv>
#include <cstdint>
#include <string>

namespace segue::cli {

namespace {

using std::chrono::milliseconds;
using Moment = std::chrono::sys_time<milliseconds>;

/// Up to the year 9999, so that no sum of it and a delay is out of range.
constexpr std::int64_t kLatestMs = 253'402'300'799'999;

Status wrong(std::string_view text) {
  return Status(Code::kInvalidConfig, "'" + std::string(text) +
                                          "' is no time; write it as 2030-01-31T08:00:00Z, or as "
                                          "milliseconds since 1970 (UTC)");
}

bool read_number(std::string_view& text, std::size_t digits, int* number) {
  if (text.size() < digits) return false;
  const char* const end = text.data() + digits;
  const auto [stopped, error] = std::from_chars(text.data(), end, *number);
  if (error != std::errc() || stopped != end || *number < 0 || text.front() == '-') return false;
  text.remove_prefix(digits);
  return true;
}

bool skip(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

bool read_fraction(std::string_view& text, int* ms) {
  if (!skip(text, ".")) return true;
  int scale = 100;
  while (scale > 0 && !text.empty() && text.front() >= '0' && text.front() <= '9') {
    *ms += (text.front() - '0') * scale;
    scale /= 10;
    text.remove_prefix(1);
  }
  return scale < 100;
}

bool read_moment(std::string_view text, Moment* moment) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int ms = 0;
  const bool read = read_number(text, 4, &year) && skip(text, "-") &&
                    read_number(text, 2, &month) && skip(text, "-") && read_number(text, 2, &day) &&
                    skip(text, "Tt ") && read_number(text, 2, &hour) && skip(text, ":") &&
                    read_number(text, 2, &minute) && skip(text, ":") &&
                    read_number(text, 2, &second) && read_fraction(text, &ms);
  skip(text, "Zz");
  if (!read || !text.empty() || hour > 23 || minute > 59 || second > 59) return false;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  *moment = std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
            std::chrono::seconds(second) + milliseconds(ms);
  return true;
}

}  // namespace

Result<Moment> parse_time(std::string_view text) {
  Moment moment;
  std::int64_t ms = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, ms);
  if (error == std::errc() && stopped == end) {
    if (ms < 1 || ms > kLatestMs) return wrong(text);
    return Moment(milliseconds(ms));
  }
  if (!read_moment(text, &moment) || moment <= Moment()) return wrong(text);
  return moment;
}

}  // namespace segue::cli
