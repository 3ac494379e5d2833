// Line 31 of docs/semantics.md: retry back-off.

#include <optional>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Retries : public Semantics {
 protected:
  milliseconds time_to_next(const std::string& queue) {
    const auto begin = Clock::now();
    last_ = next_of(queue);
    return std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
  }
  std::optional<Delivery> last_;
};

TEST_F(Retries, Line31ARequeuedMessageRestsLongerEachTimeAndOthersDoNotWait) {
  queue("q", {{"x-retry-delay", 400}, {"x-retry-factor", 3}, {"x-retry-delay-max", 900}});
  publish_routed("", "q", "a");
  publish_routed("", "q", "b");
  time_to_next("q");
  for (const int rest : {400, 900, 900}) {
    last_->requeue();
    const auto status =
        wait_for("q", [](const QueueDescription& queue) { return queue.delayed == 1; });
    EXPECT_EQ(status.ready, 1u);
    const auto begin = Clock::now();
    const Delivery other = next_of("q");
    EXPECT_EQ(std::string(other.body()), "b");
    other.release();
    wait_for_ready("q", 2);  // both: what rested is back
    EXPECT_GE(Clock::now() - begin, milliseconds(rest - 150));
    time_to_next("q");
    EXPECT_EQ(std::string(last_->body()), "a");  // at its place, not at the end
  }
  EXPECT_EQ(last_->delivery_count(), 3u);
  last_->ack();
}

TEST_F(Retries, Line31ARequeueMayNameItsOwnDelayInAnyQueue) {
  queue("q");
  publish_routed("", "q", "m");
  time_to_next("q");
  last_->requeue(milliseconds(700));
  EXPECT_GE(time_to_next("q"), milliseconds(650));
  last_->requeue();
  wait_for_ready("q", 1);
}

TEST_F(Retries, Line31TheBackOffChangesInPlaceAndRejectsAreFinal) {
  queue("q", {{"x-retry-delay", 600'000}});
  update("q", {{"x-retry-delay", 100}});
  publish_routed("", "q", "m");
  {
    Connection other = cluster().connect("other");
    ASSERT_TRUE(other.get("q"));
  }
  // It was lost with its session, and comes back after its rest.
  time_to_next("q");
  EXPECT_EQ(std::string(last_->body()), "m");
  last_->reject();
  wait_for("q", [](const QueueDescription& status) {
    return status.ready + status.unacked + status.delayed == 0;
  });
}

TEST_F(Retries, Line31WithADeliveryLimitTheLastOneIsDeadWithoutARest) {
  queue("dead");
  queue("q", {{"x-retry-delay", 100},
              {"x-delivery-limit", 1},
              {"x-dead-letter-exchange", ""},
              {"x-dead-letter-routing-key", "dead"}});
  publish_routed("", "q", "m");
  for (int i = 0; i < 2; ++i) {
    time_to_next("q");
    last_->requeue();
  }
  wait_for_ready("dead", 1);
}

}  // namespace
}  // namespace segue::client
