#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/table_output.h"
#include "common/base64.h"
#include "common/json_input.h"
#include "common/json_output.h"

namespace segue::cli {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
  Table table({{"QUEUE"}, {"READY", Table::Align::kRight}, {"NODE"}});
  table.add({"orders", "1,234", "n1"});
  table.add({"a", "0", ""});
  EXPECT_EQ(table.text(),
            "QUEUE   READY  NODE\n"
            "orders  1,234  n1\n"
            "a           0\n");
}

TEST(Table, ShowsControlCharactersAsEscapes) {
  Table table({{"NAME"}});
  table.add({"a\x1b[31m\n\xFF"});
  EXPECT_EQ(table.text(), "NAME\na\\x1b[31m\\x0a\\xff\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({{"N"}, {"X"}});
  table.add({"äö", "1"});
  table.add({"ab", "2"});
  EXPECT_EQ(table.text(), "N   X\näö  1\nab  2\n");
}

TEST(Human, CountsInTheSingularAndThePlural) {
  EXPECT_EQ(counted(0, "message"), "0 messages");
  EXPECT_EQ(counted(1, "message"), "1 message");
  EXPECT_EQ(counted(2000, "message"), "2,000 messages");
}

TEST(Human, WritesNumbersThatFollowEachOtherAsRanges) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({3}), "3");
  EXPECT_EQ(ranges({1, 4, 5, 6, 7, 9, 10}), "1, 4-7, 9, 10");
}

TEST(Human, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(Human, ShowsBytesAndDurations) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes((1u << 20) - 1), "1.0 MiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
  EXPECT_EQ(human_duration(850), "850ms");
  EXPECT_EQ(human_duration(59'999), "59s");
  EXPECT_EQ(human_duration(250'000), "4m 10s");
  EXPECT_EQ(human_duration(7'200'000), "2h");
  EXPECT_EQ(human_duration(183'600'000), "2d 3h");
}

TEST(JsonWriter, WritesNestedValues) {
  JsonWriter json;
  json.begin_object()
      .field("name", "a\"b\\\n\x01")
      .field("n", std::uint64_t{18446744073709551615u});
  json.key("list").begin_array().value(true).value(std::int64_t{-1}).null().end_array();
  json.key("empty").begin_object().end_object();
  json.key("real").value(1.5, 2).end_object();
  EXPECT_EQ(json.take(),
            "{\"name\":\"a\\\"b\\\\\\n\\u0001\",\"n\":18446744073709551615,"
            "\"list\":[true,-1,null],\"empty\":{},\"real\":1.50}");
}

TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_quoted("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(json_quoted("ä€😀"), "\"ä€😀\"");
}

TEST(JsonWriter, WritesNumbersThatReadBackTheSame) {
  for (const double number : {0.1, 1.0, -2.5e-300, 1e21, 123456789.123456789}) {
    JsonWriter json;
    const Result<JsonValue> back = parse_json(json.exact(number).take());
    ASSERT_TRUE(back.is_ok());
    ASSERT_NE(back->real(), nullptr);
    EXPECT_EQ(*back->real(), number);
  }
  JsonWriter json;
  EXPECT_EQ(json.exact(std::numeric_limits<double>::infinity()).take(), "null");
}

TEST(JsonInput, ReadsWhatTheWriterWrites) {
  JsonWriter json;
  json.begin_object().field("text", "x\ty").field("n", std::int64_t{-5});
  json.key("list").begin_array().value(false).null().end_array().end_object();
  const Result<JsonValue> value = parse_json(json.take());
  ASSERT_TRUE(value.is_ok());
  EXPECT_EQ(*value->find("text")->text(), "x\ty");
  EXPECT_EQ(*value->find("n")->whole(), -5);
  const auto* list = value->find("list")->array();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->size(), 2u);
  EXPECT_TRUE((*list)[1].is_null());
  EXPECT_EQ(value->find("absent"), nullptr);
}

TEST(JsonInput, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "{\"a\":}", "[1,]", "nul", "\"\xFF\"", "1 2", "{\"a\":1}}"}) {
    EXPECT_FALSE(parse_json(text).is_ok()) << text;
  }
}

TEST(JsonInput, RefusesBottomlessNesting) {
  const Result<JsonValue> value = parse_json(std::string(100'000, '['));
  ASSERT_FALSE(value.is_ok());
  EXPECT_NE(value.status().message().find("64 levels"), std::string::npos);
}

TEST(JsonInput, KeepsTheDigitsOfNumbersThatDoNotFit) {
  const Result<JsonValue> value = parse_json("18446744073709551615");
  ASSERT_TRUE(value.is_ok());
  EXPECT_EQ(value->whole(), nullptr);
  EXPECT_EQ(value->number(0), 18446744073709551615.0);
  ASSERT_NE(value->huge_digits(), nullptr);
  EXPECT_EQ(*value->huge_digits(), "18446744073709551615");
  const Result<JsonValue> longer = parse_json("-123456789012345678901234567890");
  ASSERT_TRUE(longer.is_ok());
  ASSERT_NE(longer->huge_digits(), nullptr);
  EXPECT_EQ(*longer->huge_digits(), "-123456789012345678901234567890");
  EXPECT_EQ(parse_json("1e30")->huge_digits(), nullptr);
}

TEST(Base64, EncodesAndDecodes) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foo"), "Zm9v");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
    EXPECT_EQ(base64_decode(base64_encode(all)), all);
  }
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Z===", "====", "Zm9v!mFy", "Zg==Zg=="}) {
    EXPECT_FALSE(base64_decode(text).has_value()) << text;
  }
}

TEST(TableOutput, WritesNamesSoThatNoTwoAreAlike) {
  EXPECT_EQ(name_line("plain name, ü"), "plain name, ü");
  EXPECT_EQ(name_line("a\nb"), "a\\x0ab");
  EXPECT_EQ(name_line("a\\x0ab"), "a\\\\x0ab");
  EXPECT_EQ(name_line("\u0085"), "\\xc2\\x85");
  EXPECT_EQ(name_line(std::string(1, '\0')), "\\x00");
}

}  // namespace
}  // namespace segue::cli
