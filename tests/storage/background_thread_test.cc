#include "storage/background_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace segue::storage {
namespace {

BackgroundJob job(std::string& log, char name, int steps) {
  auto left = std::make_shared<int>(steps);
  return {[&log, name, left] {
            log += name;
            return --*left == 0;
          },
          [&log, name] { log += static_cast<char>(name - 'a' + 'A'); }};
}

TEST(InlineExecutor, RunsBulkJobsInOrderAndUrgentOnesBetweenTheirSteps) {
  InlineExecutor executor;
  std::string log;
  executor.post(job(log, 'a', 2));
  executor.post(job(log, 'b', 1));
  ASSERT_TRUE(executor.step());
  executor.post_urgent(job(log, 'u', 2));
  executor.poll();
  EXPECT_EQ(log, "auuabUAB");
}

TEST(InlineExecutor, RunsIdleJobsWhenThereIsNothingElse) {
  InlineExecutor executor;
  std::string log;
  executor.post_idle(job(log, 'i', 3));
  executor.post(job(log, 'a', 1));
  ASSERT_TRUE(executor.step());
  ASSERT_TRUE(executor.step());
  executor.post(job(log, 'b', 2));
  executor.poll();
  EXPECT_EQ(log, "aibbiiABI");
}

TEST(BackgroundThread, OtherJobsOvertakeALongIdleJob) {
  std::atomic<bool> bulk_done{false};
  BackgroundThread thread({});
  // Never ends by itself.
  thread.post_idle({[&] { return bulk_done.load(); }, {}});
  thread.post({[&] {
                 bulk_done = true;
                 return true;
               },
               {}});
  thread.stop();
  EXPECT_TRUE(bulk_done);
}

TEST(BackgroundThread, RunsJobsInOrder) {
  std::string log;
  BackgroundThread thread({});
  for (char name = 'a'; name <= 'z'; ++name) thread.post(job(log, name, 1));
  thread.stop();
  std::string bulk;
  for (const char c : log) {
    if (c >= 'a') bulk += c;
  }
  EXPECT_EQ(bulk, "abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(log.size(), 52u);
}

TEST(BackgroundThread, UrgentJobsOvertakeALongBulkJob) {
  std::atomic<bool> urgent_done{false};
  BackgroundThread thread({});
  // Never ends by itself.
  thread.post({[&] { return urgent_done.load(); }, {}});
  thread.post_urgent({[&] {
                        urgent_done = true;
                        return true;
                      },
                      {}});
  thread.stop();
  EXPECT_TRUE(urgent_done);
}

TEST(BackgroundThread, WakesTheReactorAndRunsDoneInPoll) {
  std::atomic<int> wakeups{0};
  bool done = false;
  BackgroundThread thread([&] {
    ++wakeups;
    wakeups.notify_all();
  });
  thread.post({[] { return true; }, [&] { done = true; }});
  wakeups.wait(0);
  EXPECT_FALSE(done);
  thread.poll();
  EXPECT_TRUE(done);
  thread.stop();
}

TEST(BackgroundThread, StopFinishesWhatCallbacksPost) {
  int runs = 0;
  BackgroundThread thread({});
  thread.post({[] { return true; },
               [&] {
                 thread.post({[&] {
                                ++runs;
                                return true;
                              },
                              [&] { thread.post_done([&] { ++runs; }); }});
               }});
  thread.stop();
  EXPECT_EQ(runs, 2);
}

TEST(BackgroundThread, AbandonEndsAJobBetweenItsStepsAndForgetsTheRest) {
  std::atomic<bool> begun{false};
  bool other_ran = false;
  BackgroundThread thread({});
  thread.post({[&] {
                 begun = true;
                 begun.notify_all();
                 return false;  // never finished
               },
               {}});
  thread.post({[&] { return other_ran = true; }, {}});
  begun.wait(false);
  thread.abandon();
  EXPECT_FALSE(other_ran);
}

}  // namespace
}  // namespace segue::storage
