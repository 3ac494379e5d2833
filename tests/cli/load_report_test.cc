#include "cli/load_report.h"

#include <gtest/gtest.h>

#include "common/json_input.h"

namespace segue::cli {
namespace {

LoadReport some_report() {
  LoadReport report;
  report.published = 1000;
  report.confirmed = 990;
  report.rejected = 10;
  report.consumed = 500;
  report.publish_seconds = 2;
  report.consume_seconds = 0.5;
  report.confirm_ns.record(200'000, 990);
  report.cpu_seconds = 0.25;
  report.cluster_seconds = {{"n1", 0.5}, {"r1", 0.125}};
  report.rejection = "QUEUE_FULL: full";
  return report;
}

double number_at(const JsonValue& json, const char* name) {
  const JsonValue* value = json.find(name);
  return value == nullptr ? -1 : value->number(-1);
}

TEST(LoadReport, IsJsonWithTheFieldsThatScriptsRelyOn) {
  LoadOptions options;
  options.consumers = 2;
  const Result<JsonValue> json = parse_json(load_report_json(options, some_report()));
  ASSERT_TRUE(json.is_ok());
  EXPECT_EQ(number_at(*json, "published"), 1000);
  EXPECT_EQ(number_at(*json, "confirmed"), 990);
  EXPECT_EQ(number_at(*json, "rejected"), 10);
  EXPECT_EQ(number_at(*json, "consumed"), 500);
  EXPECT_EQ(number_at(*json, "publish_per_s"), 495);
  EXPECT_EQ(number_at(*json, "consume_per_s"), 1000);
  EXPECT_EQ(number_at(*json, "cpu_seconds"), 0.25);
  const JsonValue* latency = json->find("confirm_latency_us");
  ASSERT_NE(latency, nullptr);
  for (const char* quantile : {"p50", "p99", "p999", "max"}) {
    EXPECT_NEAR(number_at(*latency, quantile), 200, 2) << quantile;
  }
  // Nothing was measured.
  ASSERT_NE(json->find("end_to_end_latency_us"), nullptr);
  EXPECT_TRUE(json->find("end_to_end_latency_us")->is_null());
  EXPECT_EQ(number_at(*json->find("cluster_cpu_seconds"), "r1"), 0.125);
  EXPECT_EQ(number_at(*json->find("options"), "consumers"), 2);
}

TEST(LoadReport, TellsPeopleRatesLatenciesAndProblems) {
  LoadReport report = some_report();
  report.problem = "10 messages never got a confirm";
  const std::string text = load_report_text({}, report);
  for (const char* part : {"confirmed 990, refused 10", "495/s, 0.5 MB/s", "200 us", "n1",
                           "0.50 s, 505.05 us a message", "QUEUE_FULL: full",
                           "PROBLEM: 10 messages never got a confirm"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(LoadReport, IsWholeWhenNothingHappened) {
  const Result<JsonValue> json = parse_json(load_report_json({}, LoadReport()));
  ASSERT_TRUE(json.is_ok());
  EXPECT_EQ(number_at(*json, "publish_per_s"), 0);
  EXPECT_FALSE(load_report_text({}, LoadReport()).empty());
}

}  // namespace
}  // namespace segue::cli
