#include "cli/redrive.h"

#include <gtest/gtest.h>

namespace segue::cli {
namespace {

client::Table death(const std::string& queue, const std::string& key) {
  return {{"queue", queue}, {"reason", "rejected"}, {"routing-keys", client::Array{key}}};
}

// It died in "work" first, and in "retry" last.
client::MessageHeader letter() {
  client::MessageHeader made{"dlx", "dead", false, {}};
  made.properties.message_id = "id";
  made.properties.headers = {{"x-death", client::Array{death("retry", "k2"), death("work", "k1")}},
                             {"x-first-death-queue", "work"},
                             {"x-last-death-queue", "retry"},
                             {"mine", 1}};
  return made;
}

TEST(Redrive, GoesBackWithoutTheHeadersOfDeaths) {
  RedrivePlan plan;
  const auto last = redriven(plan, letter());
  ASSERT_TRUE(last);
  EXPECT_EQ(last->exchange, "");
  EXPECT_EQ(last->routing_key, "retry");
  EXPECT_TRUE(last->mandatory);
  EXPECT_EQ(last->properties.message_id, "id");
  EXPECT_EQ(last->properties.headers, (client::Table{{"mine", 1}}));
  plan.back_to_first = true;
  plan.keep_headers = true;
  const auto first = redriven(plan, letter());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->routing_key, "work");
  EXPECT_EQ(first->properties.headers.size(), 4u);
}

TEST(Redrive, NothingIsARepeatOfWhatIsRemembered) {
  RedrivePlan plan;
  client::MessageHeader message = letter();
  message.properties.headers["x-deduplication-id"] = "7";
  EXPECT_EQ(redriven(plan, message)->properties.headers, (client::Table{{"mine", 1}}));
  plan.keep_headers = true;
  EXPECT_FALSE(redriven(plan, message)->properties.headers.contains("x-deduplication-id"));
  plan.to_queue = "q";
  EXPECT_FALSE(redriven(plan, message)->properties.headers.contains("x-deduplication-id"));
  plan.to_queue.reset();
  plan.to_exchange = "x";
  EXPECT_FALSE(redriven(plan, message)->properties.headers.contains("x-deduplication-id"));
}

TEST(Redrive, FindsTheQueueInTheArrayToo) {
  client::Properties properties = letter().properties;
  properties.headers.erase("x-first-death-queue");
  properties.headers.erase("x-last-death-queue");
  EXPECT_EQ(death_queue(properties, true), "work");
  EXPECT_EQ(death_queue(properties, false), "retry");
}

TEST(Redrive, TakesTheFirstKeyToAnExchangeUnlessOneIsGiven) {
  RedrivePlan plan;
  plan.to_exchange = "x";
  EXPECT_EQ(redriven(plan, letter())->routing_key, "k1");
  EXPECT_EQ(redriven(plan, {"", "own", false, {}})->routing_key, "own");
  plan.routing_key = "";
  EXPECT_EQ(redriven(plan, letter())->routing_key, "");
  plan.to_exchange.reset();
  plan.to_queue = "q";
  plan.keep_headers = true;
  EXPECT_EQ(redriven(plan, letter())->routing_key, "q");
  EXPECT_EQ(redriven(plan, letter())->properties.headers.size(), 4u);
}

TEST(Redrive, KnowsNoWayBackWithoutADeath) {
  EXPECT_FALSE(redriven({}, {"", "q", false, {}}));
  client::MessageHeader odd = letter();
  odd.properties.headers = {{"x-death", client::Array{1}}, {"x-last-death-queue", 3}};
  EXPECT_FALSE(redriven({}, odd));
  odd.properties.headers = {{"x-death", "text"}};
  EXPECT_FALSE(redriven({}, odd));
  odd.properties.headers = {{"x-death", client::Array{}}};
  EXPECT_FALSE(redriven({}, odd));
}

}  // namespace
}  // namespace segue::cli
