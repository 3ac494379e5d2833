#include "cli/message_filter.h"

#include <gtest/gtest.h>

#include <string>

namespace segue::cli {
namespace {

client::MessageHeader header() {
  client::MessageHeader made;
  made.exchange = "shop";
  made.routing_key = "order.eu";
  made.properties.content_type = "text/plain";
  made.properties.priority = 4;
  made.properties.headers = {{"n", 3},        {"s", "3"},   {"yes", true},
                             {"a=b", "q\"t"}, {"a.b", "x"}, {"x-first-death-reason", "expired"}};
  return made;
}

bool matches(const std::string& expression) {
  MessageFilter filter;
  const Status added = filter.add(expression);
  EXPECT_TRUE(added.is_ok()) << added.message();
  return filter.matches(header());
}

TEST(MessageFilter, ComparesHeadersFieldsAndProperties) {
  for (const char* const holds :
       {"header.n", "header.n=3", "header.s=3", "header.yes=true", "header.a.b=x", "!header.none",
        "header.none!=1", "header.n!=4", "exchange=shop", "routing-key=order.eu",
        "exchange!=", "reason=expired", "reason!=rejected", "content-type=text/plain", "priority=4",
        "app-id=", "header.s=\"3\"", "header.\"a=b\"=\"q\\\"t\"", "header.\"a=b\""}) {
    EXPECT_TRUE(matches(holds)) << holds;
  }
  for (const char* const fails :
       {"header.none", "!header.n", "header.n=4", "header.n!=3", "header.n=\"3\"", "header.none=",
        "exchange=", "routing-key!=order.eu", "reason=rejected", "priority=3", "header.yes=yes"}) {
    EXPECT_FALSE(matches(fails)) << fails;
  }
}

TEST(MessageFilter, NeedsAllConditions) {
  MessageFilter filter;
  EXPECT_TRUE(filter.matches(header()));
  ASSERT_TRUE(filter.add("header.n=3").is_ok());
  ASSERT_TRUE(filter.add("exchange=shop").is_ok());
  EXPECT_TRUE(filter.matches(header()));
  ASSERT_TRUE(filter.add("header.n=4").is_ok());
  EXPECT_FALSE(filter.matches(header()));
}

TEST(MessageFilter, SaysWhereAnExpressionIsWrong) {
  const auto error_of = [](const std::string& expression) {
    MessageFilter filter;
    return filter.add(expression).message();
  };
  EXPECT_EQ(error_of("routing-key"),
            "filter 'routing-key', position 12: expected =VALUE or !=VALUE");
  EXPECT_EQ(error_of("header.=1"), "filter 'header.=1', position 8: expected a header's name");
  EXPECT_EQ(error_of("header.\"a"),
            "filter 'header.\"a', position 10: expected the quote that ends the one at position 8");
  EXPECT_EQ(error_of("header.a=\"b\"c"),
            "filter 'header.a=\"b\"c', position 13: expected the end behind the quotes");
  EXPECT_NE(error_of("size=3").find("position 1: expected one of header.NAME, exchange"),
            std::string::npos);
  EXPECT_NE(error_of("!exchange=a").find("write != in it"), std::string::npos);
  EXPECT_NE(error_of("").find("position 1"), std::string::npos);
  EXPECT_NE(error_of("exchanges=1").find("position 1"), std::string::npos);
}

}  // namespace
}  // namespace segue::cli
