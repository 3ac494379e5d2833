#include "cli/demo/report.h"

#include <gtest/gtest.h>

namespace segue::cli::demo {
namespace {

using std::chrono::seconds;

TEST(DemoReport, TableHasCountsAndRates) {
  const std::string text = report_table({
      {"everything", {"#"}, 23, "n2", {21000, 21000, 700, 12}, seconds(10)},
      {"none", {"a.*", "b.#"}, 4, "n1", {}, seconds(0)},
  });
  EXPECT_NE(text.find("everything"), std::string::npos);
  EXPECT_NE(text.find("21,000"), std::string::npos);
  EXPECT_NE(text.find("700"), std::string::npos);
  EXPECT_NE(text.find("2,100"), std::string::npos);
  EXPECT_NE(text.find("a.* b.#"), std::string::npos);
}

TEST(DemoReport, EndsWithOkWhenAllChecksPassed) {
  const std::vector<Finding> findings = {{Check::kConfirmed, 0, {}}, {Check::kOrder, 0, {}}};
  EXPECT_TRUE(all_passed(findings));
  const std::string text = report_findings(findings);
  EXPECT_EQ(text.find("FAILED"), std::string::npos);
  EXPECT_EQ(text.substr(text.rfind('\n', text.size() - 2) + 1), "OK\n");
}

TEST(DemoReport, TellsFailedChecksWithExamples) {
  const std::vector<Finding> findings = {{Check::kConfirmed, 0, {}},
                                         {Check::kNoneLost, 7, {"message 3\x1b", "message 4"}}};
  EXPECT_FALSE(all_passed(findings));
  const std::string text = report_findings(findings);
  EXPECT_NE(text.find("message 3\\x1b"), std::string::npos) << text;
  EXPECT_NE(text.find("and 5 more"), std::string::npos) << text;
  EXPECT_NE(text.find("FAILED: 1 of 2 checks\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("OK"), std::string::npos);
}

}  // namespace
}  // namespace segue::cli::demo
