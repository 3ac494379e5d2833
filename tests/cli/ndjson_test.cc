#include "cli/ndjson.h"

#include <gtest/gtest.h>

#include "cli/field_values.h"

namespace segue::cli {
namespace {

std::string error_of(std::string_view line) {
  const Result<client::Message> message = parse_message(line, {});
  EXPECT_FALSE(message.is_ok()) << line;
  return message.is_ok() ? "" : message.status().message();
}

TEST(Ndjson, ReadsAMessage) {
  client::MessageHeader defaults;
  defaults.exchange = "ex";
  defaults.routing_key = "default";
  const Result<client::Message> message = parse_message(
      R"({"body": "text", "routing_key": "a.b", "mandatory": true,
          "properties": {"content_type": "text/plain", "priority": 3, "expiration_ms": 60000,
                         "timestamp_ms": 1700000000000, "headers": {"n": 1, "x": [1.5, null]}}})",
      defaults);
  ASSERT_TRUE(message.is_ok()) << message.status().message();
  EXPECT_EQ(message->body, "text");
  EXPECT_EQ(message->header.exchange, "ex");
  EXPECT_EQ(message->header.routing_key, "a.b");
  EXPECT_TRUE(message->header.mandatory);
  EXPECT_EQ(message->header.properties.content_type, "text/plain");
  EXPECT_EQ(message->header.properties.priority, 3u);
  EXPECT_EQ(message->header.properties.expiration, std::chrono::milliseconds(60'000));
  EXPECT_EQ(message->header.properties.headers.at("n"), client::Value(1));
}

TEST(Ndjson, ReadsWhatItWrites) {
  client::Properties properties;
  properties.message_id = "m1";
  properties.delivery_mode = 2;
  properties.timestamp = client::Timestamp(std::chrono::milliseconds(-5));
  properties.group_id = "customer 7";
  properties.headers = {{"bytes", client::Bytes{std::string("\0\xFF", 2)}},
                        {"time", client::Timestamp(std::chrono::milliseconds(7))},
                        {"table", client::Table{{"deep", client::Array{1, "two", 3.5, true}}}},
                        {"void", client::Value()}};
  const std::string body("\0binary\xFF\n", 9);
  const std::string line = message_line("q", {"ex", "key", body, true, 4}, properties);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const Result<client::Message> message = parse_message(line, {});
  ASSERT_TRUE(message.is_ok()) << message.status().message();
  EXPECT_EQ(message->body, body);
  EXPECT_EQ(message->header.exchange, "ex");
  EXPECT_EQ(message->header.routing_key, "key");
  EXPECT_EQ(message->header.properties, properties);
}

TEST(Ndjson, TheDelayOfWhatWasDeliveredIsOver) {
  client::Properties properties;
  properties.delay = std::chrono::milliseconds(1500);
  properties.deliver_at = client::Timestamp(std::chrono::milliseconds(1'700'000'000'000));
  properties.group_id = "customer 7";
  const auto delivered = parse_message(message_line("q", {"", "q", "b", false, 0}, properties), {});
  ASSERT_TRUE(delivered.is_ok()) << delivered.status().message();
  EXPECT_EQ(delivered->header.properties.delay.count(), 0);
  EXPECT_FALSE(delivered->header.properties.deliver_at);
  EXPECT_EQ(delivered->header.properties.group_id, "customer 7");
  // Looked at while it waits, it has one.
  const auto browsed = parse_message(browsed_line("q", {1, "", "q", "b", 1}, properties), {});
  ASSERT_TRUE(browsed.is_ok()) << browsed.status().message();
  EXPECT_EQ(browsed->header.properties, properties);
}

TEST(Ndjson, WritesTextBodiesAsText) {
  EXPECT_EQ(message_line("q", {"", "q", "hi \"you\"", false, 0}, {}),
            "{\"queue\":\"q\",\"exchange\":\"\",\"routing_key\":\"q\",\"redelivered\":false,"
            "\"delivery_count\":0,\"body\":\"hi \\\"you\\\"\"}\n");
}

TEST(Ndjson, SaysWhichMemberIsWrong) {
  EXPECT_NE(error_of("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(error_of("{}").find("\"body\""), std::string::npos);
  EXPECT_NE(error_of(R"({"body": "a", "body_base64": "YQ=="})").find("one of"), std::string::npos);
  EXPECT_NE(error_of(R"({"body": 1})").find("\"body\" must be a string"), std::string::npos);
  EXPECT_NE(error_of(R"({"body_base64": "?"})").find("base64"), std::string::npos);
  EXPECT_NE(error_of(R"({"body": "", "key": "x"})").find("no member \"key\""), std::string::npos);
  EXPECT_NE(error_of(R"({"body": "", "mandatory": 1})").find("true or false"), std::string::npos);
  EXPECT_NE(error_of(R"({"body": "", "properties": {"priority": 256}})").find("0 to 255"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"body": "", "properties": {"expiration_ms": -1}})").find("expiration_ms"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"body": "", "properties": {"delay_ms": -1}})").find("delay_ms"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"body": "", "properties": {"deliver_at_ms": 0}})").find("deliver_at_ms"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"body": "", "properties": {"headers": {"a": {"$bytes": 1}}}})")
                .find("\"a\": \"$bytes\" must be base64"),
            std::string::npos);
}

TEST(Assignment, TypesValues) {
  client::Table table;
  ASSERT_TRUE(add_assignment(table, "n=12"));
  ASSERT_TRUE(add_assignment(table, "b=true"));
  ASSERT_TRUE(add_assignment(table, "t=a=b"));
  ASSERT_TRUE(add_assignment(table, "q=\"12\""));
  ASSERT_TRUE(add_assignment(table, "e="));
  EXPECT_EQ(table.at("n"), client::Value(12));
  EXPECT_EQ(table.at("b"), client::Value(true));
  EXPECT_EQ(table.at("t"), client::Value("a=b"));
  EXPECT_EQ(table.at("q"), client::Value("12"));
  EXPECT_EQ(table.at("e"), client::Value(""));
  ASSERT_TRUE(add_assignment(table, "void"));
  EXPECT_EQ(table.at("void"), client::Value());
  EXPECT_FALSE(add_assignment(table, ""));
  EXPECT_FALSE(add_assignment(table, "n=13"));
  EXPECT_EQ(table.at("n"), client::Value(12));
  EXPECT_FALSE(add_assignment(table, "=x"));
}

}  // namespace
}  // namespace segue::cli
