#include "cli/demo/checker.h"

#include <gtest/gtest.h>

#include <map>

namespace segue::cli::demo {
namespace {

// Three packages in two passes by two producers: producer 0 has records 0 and 2 (seqs 1, 3 and 2,
// 4), producer 1 has record 1 (seqs 1, 2).
class DemoChecker : public testing::Test {
 protected:
  static constexpr std::size_t kAll = 0;
  static constexpr std::size_t kLibs = 1;

  Arrival arrival(std::uint64_t producer, std::uint64_t seq, bool redelivered = false) const {
    const PublishPlan::Item item = plan_.item(producer, seq);
    const RecordFile::Record& record = file_.records()[item.record];
    return {producer, seq, item.pass, item.record, record.key, record.hash, redelivered};
  }

  void confirm_all() {
    checker_.on_confirmed(0, 1, 4);
    checker_.on_confirmed(1, 1, 2);
  }
  void deliver_all() {
    for (std::uint64_t seq = 1; seq <= 4; ++seq) checker_.on_arrival(kAll, arrival(0, seq));
    for (std::uint64_t seq = 1; seq <= 2; ++seq) {
      checker_.on_arrival(kAll, arrival(1, seq));
      checker_.on_arrival(kLibs, arrival(1, seq));
    }
  }

  // The checks that failed, each with the number of its failures.
  std::map<Check, std::uint64_t> failed() {
    std::map<Check, std::uint64_t> failures;
    for (const Finding& finding : checker_.finish()) {
      EXPECT_EQ(finding.examples.empty(), finding.failures == 0);
      if (finding.failures > 0) failures[finding.check] = finding.failures;
    }
    return failures;
  }
  using Failures = std::map<Check, std::uint64_t>;

  const RecordFile file_{RecordFile::parse("Package: a\nSection: net\nPriority: x\n\n"
                                           "Package: b\nSection: libs\nPriority: x\n\n"
                                           "Package: c\nSection: net\nPriority: y\n",
                                           "test")
                             .value()};
  const PublishPlan plan_{3, 2, 6};
  Checker checker_{file_, plan_, {{"all", {"#"}}, {"libs", {"libs.*", "libs.x"}}}};
};

TEST_F(DemoChecker, FindsNothingInAGoodRun) {
  EXPECT_FALSE(checker_.complete());
  deliver_all();
  EXPECT_FALSE(checker_.complete());
  confirm_all();
  EXPECT_TRUE(checker_.complete());
  EXPECT_EQ(checker_.confirmed(), 6u);
  EXPECT_EQ(checker_.counts(kAll), (QueueCounts{6, 6, 0, 0}));
  EXPECT_EQ(checker_.counts(kLibs), (QueueCounts{2, 2, 0, 0}));
  EXPECT_EQ(checker_.expected(kAll), 6u);
  EXPECT_EQ(checker_.expected(kLibs), 2u);
  EXPECT_EQ(failed(), Failures{});
}

TEST_F(DemoChecker, ItDoesNotMatterWhetherConfirmOrDeliveryComesFirst) {
  confirm_all();
  EXPECT_FALSE(checker_.complete());
  deliver_all();
  EXPECT_TRUE(checker_.complete());
  EXPECT_EQ(failed(), Failures{});
}

TEST_F(DemoChecker, RedeliveredDuplicatesAreCountedAndAllowed) {
  confirm_all();
  deliver_all();
  checker_.on_arrival(kAll, arrival(0, 2, true));
  checker_.on_arrival(kAll, arrival(0, 3, true));
  EXPECT_EQ(checker_.counts(kAll), (QueueCounts{6, 6, 2, 2}));
  EXPECT_EQ(failed(), Failures{});
}

TEST_F(DemoChecker, ARedeliveredMessageMayComeForTheFirstTimeOutOfOrder) {
  confirm_all();
  checker_.on_arrival(kAll, arrival(0, 3));
  checker_.on_arrival(kAll, arrival(0, 1, true));
  checker_.on_arrival(kAll, arrival(0, 2, true));
  checker_.on_arrival(kAll, arrival(0, 4));
  for (std::uint64_t seq = 1; seq <= 2; ++seq) {
    checker_.on_arrival(kAll, arrival(1, seq));
    checker_.on_arrival(kLibs, arrival(1, seq));
  }
  EXPECT_EQ(checker_.counts(kAll), (QueueCounts{6, 6, 2, 0}));
  EXPECT_EQ(failed(), Failures{});
}

TEST_F(DemoChecker, TellsALostMessage) {
  confirm_all();
  for (std::uint64_t seq = 1; seq <= 4; ++seq) checker_.on_arrival(kAll, arrival(0, seq));
  checker_.on_arrival(kAll, arrival(1, 1));
  checker_.on_arrival(kAll, arrival(1, 2));
  checker_.on_arrival(kLibs, arrival(1, 2));
  EXPECT_FALSE(checker_.complete());
  EXPECT_EQ(failed(), (Failures{{Check::kNoneLost, 1}}));
}

TEST_F(DemoChecker, TellsAConfirmWithoutAQueue) {
  confirm_all();
  deliver_all();
  checker_.on_unroutable(0, 2, 3);
  EXPECT_EQ(failed(), (Failures{{Check::kNoneLost, 2}}));
}

TEST_F(DemoChecker, TellsWhatWasNotConfirmed) {
  checker_.on_confirmed(0, 1, 4);
  checker_.on_confirmed(1, 2, 2);
  deliver_all();
  EXPECT_FALSE(checker_.complete());
  EXPECT_EQ(failed(), (Failures{{Check::kConfirmed, 1}}));
}

TEST_F(DemoChecker, TellsWhatWasRejected) {
  checker_.on_confirmed(0, 1, 4);
  checker_.on_confirmed(1, 2, 2);
  checker_.on_rejected(1, 1, 1, "QUEUE_FULL");
  deliver_all();
  EXPECT_TRUE(checker_.complete());
  EXPECT_EQ(checker_.settled(), 6u);
  EXPECT_EQ(failed(), (Failures{{Check::kConfirmed, 1}}));
}

TEST_F(DemoChecker, TellsASecondConfirm) {
  confirm_all();
  deliver_all();
  checker_.on_confirmed(0, 2, 3);
  EXPECT_EQ(checker_.confirmed(), 6u);
  EXPECT_EQ(failed(), (Failures{{Check::kConfirmed, 2}}));
}

TEST_F(DemoChecker, TellsAConfirmOfWhatWasNeverPublished) {
  confirm_all();
  deliver_all();
  checker_.on_confirmed(0, 4, 5);
  checker_.on_confirmed(2, 1, 1);
  checker_.on_rejected(0, 0, 1, "why");
  EXPECT_EQ(failed(), (Failures{{Check::kConfirmed, 3}}));
}

TEST_F(DemoChecker, TellsAMessageInAQueueWhoseNoPatternMatches) {
  confirm_all();
  deliver_all();
  checker_.on_arrival(kLibs, arrival(0, 1));
  EXPECT_EQ(failed(), (Failures{{Check::kRouting, 1}}));
}

TEST_F(DemoChecker, TellsAWrongBody) {
  confirm_all();
  deliver_all();
  Arrival wrong = arrival(0, 1, true);
  wrong.hash ^= 1;
  checker_.on_arrival(kAll, wrong);
  EXPECT_EQ(failed(), (Failures{{Check::kContent, 1}}));
}

TEST_F(DemoChecker, TellsAWrongKey) {
  confirm_all();
  deliver_all();
  Arrival wrong = arrival(0, 1, true);
  wrong.routing_key = "net.other";
  checker_.on_arrival(kAll, wrong);
  EXPECT_EQ(failed(), (Failures{{Check::kContent, 1}}));
}

TEST_F(DemoChecker, TellsAWrongRecordOrPass) {
  confirm_all();
  deliver_all();
  Arrival wrong = arrival(0, 1, true);
  wrong.pass = 2;
  checker_.on_arrival(kAll, wrong);
  wrong = arrival(0, 1, true);
  wrong.record = 1;
  checker_.on_arrival(kAll, wrong);
  EXPECT_EQ(failed(), (Failures{{Check::kContent, 2}}));
}

TEST_F(DemoChecker, TellsAMessageThatNobodyPublished) {
  confirm_all();
  deliver_all();
  Arrival wrong = arrival(0, 1);
  for (const auto& [producer, seq] : {std::pair(0, 0), std::pair(0, 5), std::pair(2, 1)}) {
    wrong.producer = static_cast<std::uint64_t>(producer);
    wrong.seq = static_cast<std::uint64_t>(seq);
    checker_.on_arrival(kAll, wrong);
  }
  EXPECT_EQ(checker_.counts(kAll).consumed, 6u);
  EXPECT_EQ(failed(), (Failures{{Check::kContent, 3}}));
}

TEST_F(DemoChecker, TellsMessagesOutOfOrder) {
  confirm_all();
  checker_.on_arrival(kAll, arrival(0, 1));
  checker_.on_arrival(kAll, arrival(0, 3));
  checker_.on_arrival(kAll, arrival(0, 2));
  checker_.on_arrival(kAll, arrival(0, 4));
  for (std::uint64_t seq = 1; seq <= 2; ++seq) {
    checker_.on_arrival(kAll, arrival(1, seq));
    checker_.on_arrival(kLibs, arrival(1, seq));
  }
  EXPECT_EQ(failed(), (Failures{{Check::kOrder, 1}}));
}

TEST_F(DemoChecker, ProducersMayOvertakeEachOther) {
  confirm_all();
  checker_.on_arrival(kAll, arrival(1, 2));
  checker_.on_arrival(kLibs, arrival(1, 2));
  EXPECT_EQ(checker_.counts(kAll).consumed, 1u);
  for (std::uint64_t seq = 1; seq <= 4; ++seq) checker_.on_arrival(kAll, arrival(0, seq));
  checker_.on_arrival(kAll, arrival(1, 1, true));
  checker_.on_arrival(kLibs, arrival(1, 1, true));
  EXPECT_EQ(failed(), Failures{});
}

TEST_F(DemoChecker, TellsADuplicateWithoutTheFlag) {
  confirm_all();
  deliver_all();
  checker_.on_arrival(kAll, arrival(0, 4));
  EXPECT_EQ(checker_.counts(kAll).duplicates, 1u);
  EXPECT_EQ(failed(), (Failures{{Check::kDuplicates, 1}}));
}

TEST_F(DemoChecker, TakesFindingsOfOthersAndKeepsTheFirstExamples) {
  confirm_all();
  deliver_all();
  for (int i = 0; i < 20; ++i) checker_.fail(Check::kProcesses, "died " + std::to_string(i));
  checker_.fail(Check::kPlacement, "all on one");
  checker_.fail(Check::kLeftOver, "3 ready");
  const std::vector<Finding> findings = checker_.finish();
  ASSERT_EQ(findings.size(), kCheckCount);
  const Finding& processes = findings[static_cast<std::size_t>(Check::kProcesses)];
  EXPECT_EQ(processes.failures, 20u);
  ASSERT_EQ(processes.examples.size(), 5u);
  EXPECT_EQ(processes.examples[0], "died 0");
  for (const Finding& finding : findings) EXPECT_FALSE(check_text(finding.check).empty());
}

}  // namespace
}  // namespace segue::cli::demo
