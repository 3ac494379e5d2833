// What a repair says, to people, to scripts and by its exit code.
#include "node/data_repair_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace segue::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

DataRepairResult result(std::uint64_t repairs, std::uint64_t left, storage::RepairLoss loss = {}) {
  DataRepairResult result{"d", "repair-now", false, {}, {}};
  result.totals.nodes = 1;
  result.totals.repairs = repairs;
  result.totals.left = left;
  result.totals.loss = loss;
  return result;
}

storage::RepairLoss lost(std::uint64_t messages) {
  storage::RepairLoss loss;
  loss.messages = messages;
  return loss;
}

DataCheckResult with_problems(std::uint64_t problems) {
  DataCheckResult check;
  check.totals.problems = problems;
  storage::CheckFinding finding;
  finding.what = "is a note";
  finding.kind = storage::CheckFinding::Kind::kNote;
  check.findings.push_back(finding);
  finding.kind = storage::CheckFinding::Kind::kProblem;
  finding.what = "fails its checksum";
  for (std::uint64_t i = 0; i < problems; ++i) check.findings.push_back(finding);
  return check;
}

TEST(DataRepairText, TheExitCodeTellsNothingRepairedLossAndLeftApart) {
  EXPECT_EQ(data_repair_exit_code(result(0, 0)), 0);
  EXPECT_EQ(data_repair_exit_code(result(2, 0)), 2);
  EXPECT_EQ(data_repair_exit_code(result(2, 0, lost(1))), 4);
  EXPECT_EQ(data_repair_exit_code(result(2, 1, lost(1))), 1);
  storage::RepairLoss unknown;
  unknown.more = true;
  EXPECT_EQ(data_repair_exit_code(result(1, 0, unknown)), 4);
}

TEST(DataRepairText, ProblemsThatNoRepairMakesGoodAreToldAndCount) {
  DataRepairResult done = result(0, 0);
  done.after = with_problems(1);
  EXPECT_EQ(data_repair_exit_code(done), 4);
  EXPECT_THAT(data_repair_summary(done),
              AllOf(HasSubstr("still wrong"), HasSubstr("1 problem"),
                    HasSubstr("fails its checksum"), Not(HasSubstr("is a note"))));
  EXPECT_THAT(data_repair_json(done, ""),
              AllOf(HasSubstr("\"outcome\":\"loss\""), HasSubstr("\"problems_after\":1")));
}

TEST(DataRepairText, AFolderIsNamedOnlyIfSomethingIsInIt) {
  DataRepairResult done = result(1, 0);
  EXPECT_THAT(data_repair_summary(done), Not(HasSubstr("repair-now")));
  EXPECT_THAT(data_repair_json(done, ""), HasSubstr("\"folder\":\"\""));
  done.totals.kept = true;
  EXPECT_THAT(data_repair_summary(done), HasSubstr("in the folder repair-now"));
  EXPECT_THAT(data_repair_json(done, ""), HasSubstr("\"folder\":\"repair-now\""));
}

TEST(DataRepairText, LossesAreNumbers) {
  storage::RepairLoss loss = lost(3);
  loss.log_records = 1;
  loss.untraced = 7;
  loss.returned = 2;
  EXPECT_THAT(data_repair_summary(result(1, 0, loss)),
              AllOf(HasSubstr("Lost: 1 record of the log, 3 messages."),
                    HasSubstr("7 messages without a trace"), HasSubstr("2 settled messages"),
                    Not(HasSubstr("More messages"))));
  storage::RepairStep step;
  step.loss = loss;
  EXPECT_THAT(data_repair_step_json(step),
              HasSubstr("\"lost_log_records\":1,\"lost_messages\":3,\"untraced_messages\":7,"
                        "\"returned_messages\":2,\"more_may_be_lost\":false"));
  EXPECT_THAT(data_repair_summary(result(1, 0)), HasSubstr("No message is lost"));
}

}  // namespace
}  // namespace segue::node
