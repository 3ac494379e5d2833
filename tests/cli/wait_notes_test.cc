#include "cli/wait_notes.h"

#include <gtest/gtest.h>

namespace segue::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

class WaitNotesTest : public testing::Test {
 protected:
  WaitNotesTest() { notes_.set_routers({"tcp://a:1", "tcp://b:1"}); }
  Lines after(milliseconds time) { return notes_.take(now_ += time); }
  client::BlockedState blocked() const {
    return {.blocked = true, .shards = {7}, .reason = "node n2 is down", .timeout = seconds(30)};
  }

  WaitNotes::TimePoint now_{seconds(1000)};
  WaitNotes notes_;
};

TEST_F(WaitNotesTest, SaysOnceThatNoRouterAnswersAndOnceThatOneDoes) {
  notes_.on_attempt_failed("tcp://a:1", "refused", now_);
  EXPECT_EQ(after(seconds(1)), Lines{});
  notes_.on_attempt_failed("tcp://b:1", "refused", now_);
  EXPECT_EQ(after(milliseconds(100)), Lines{});
  notes_.on_attempt_failed("tcp://a:1", "silent", now_);
  EXPECT_EQ(after(milliseconds(400)),
            Lines{"segue: waiting: no router answers at tcp://a:1, tcp://b:1 (refused), trying "
                  "again"});
  EXPECT_EQ(after(seconds(5)), Lines{});
  notes_.on_connected();
  EXPECT_EQ(after(milliseconds(0)), Lines{"segue: going on: a router answers"});
  EXPECT_EQ(after(seconds(5)), Lines{});
}

TEST_F(WaitNotesTest, SaysWhatPublishesWaitForAndHowLong) {
  notes_.set_queue("orders");
  notes_.on_blocked(blocked(), now_);
  EXPECT_EQ(after(milliseconds(500)),
            Lines{"segue: waiting: node n2 is down (shard 7, queue orders); publishes are kept "
                  "until it takes them, at most 30s"});
  notes_.on_blocked({}, now_);
  EXPECT_EQ(after(milliseconds(0)), Lines{"segue: going on: publishes are taken again"});
  notes_.on_blocked(blocked(), now_);
  EXPECT_EQ(after(seconds(1)).size(), 1u);
}

TEST_F(WaitNotesTest, IsSilentAboutWhatDoesNotLast) {
  for (int i = 0; i < 10; ++i) {
    notes_.on_blocked(blocked(), now_);
    EXPECT_EQ(after(milliseconds(400)), Lines{});
    notes_.on_blocked({}, now_);
    EXPECT_EQ(after(milliseconds(400)), Lines{});
  }
}

TEST_F(WaitNotesTest, SaysThatTheQueuesNodeIsAwayAndBack) {
  client::QueueDescription queue;
  queue.name = "orders";
  queue.node = "n2";
  queue.shard = 7;
  notes_.on_queue(queue, now_);
  notes_.on_queue(queue, now_ + milliseconds(400));
  EXPECT_EQ(after(milliseconds(500)),
            Lines{"segue: waiting: node n2 is down (shard 7, queue orders); its messages are there "
                  "again when it is back"});
  queue.available = true;
  notes_.on_queue(queue, now_);
  EXPECT_EQ(after(milliseconds(0)), Lines{"segue: going on: node n2 is back"});
}

TEST_F(WaitNotesTest, KnowsWhyNoRouterAnswers) {
  EXPECT_EQ(notes_.why_none_answers(), "");
  notes_.on_attempt_failed("tcp://a:1", "silent", now_);
  notes_.on_attempt_failed("tcp://a:1", "refused", now_);
  EXPECT_EQ(notes_.why_none_answers(), "refused");
  notes_.on_attempt_failed("tcp://b:1", "refused", now_);
  EXPECT_EQ(notes_.why_none_answers(), "refused");
  notes_.on_attempt_failed("tcp://b:1", "silent", now_);
  EXPECT_EQ(notes_.why_none_answers(), "tcp://a:1: refused; tcp://b:1: silent");
  notes_.on_connected();
  EXPECT_EQ(notes_.why_none_answers(), "");
}

}  // namespace
}  // namespace segue::cli
