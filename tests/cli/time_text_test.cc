#include "cli/time_text.h"

#include <gtest/gtest.h>

namespace segue::cli {
namespace {

std::int64_t ms_of(std::string_view text) {
  const auto time = parse_time(text);
  return time ? time->time_since_epoch().count() : -1;
}

TEST(TimeText, ReadsDatesAndMilliseconds) {
  EXPECT_EQ(ms_of("1970-01-02T00:00:01Z"), 86'401'000);
  EXPECT_EQ(ms_of("2026-12-01 08:30:00.25"), 1'796'113'800'250);
  EXPECT_EQ(ms_of("2028-02-29t23:59:59z"), 1'835'481'599'000);
  EXPECT_EQ(ms_of("1700000000123"), 1'700'000'000'123);
}

TEST(TimeText, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "0", "-5", "tomorrow", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-12-01T24:00:00Z", "2026-12-01", "2026-12-01T08:00:00+01:00", "2026-12-01T08:00:00.Z",
        "2026-12-01T08:00:00.1234Z", "1950-01-01T00:00:00Z", "99999999999999999999", "+1-1-1"}) {
    EXPECT_EQ(ms_of(text), -1) << text;
    EXPECT_NE(parse_time(text).status().message().find("2030-01-31T08:00:00Z"), std::string::npos);
  }
}

}  // namespace
}  // namespace segue::cli
