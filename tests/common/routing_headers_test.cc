#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "common/routing/headers_exchange.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::FieldValue text(const std::string& value) {
  v1::FieldValue field;
  field.set_string_value(value);
  return field;
}
v1::FieldValue number(std::int64_t value) {
  v1::FieldValue field;
  field.set_int_value(value);
  return field;
}
using Table = std::map<std::string, v1::FieldValue>;

FieldValues fields(const Table& table) {
  return {table.begin(), table.end()};
}

class Headers : public testing::Test {
 protected:
  Status try_bind(std::uint64_t binding, std::uint64_t queue, const Table& arguments) {
    return exchange_.bind({BindingNumber(binding), QueueId(queue), "", "", fields(arguments)});
  }
  void bind(std::uint64_t binding, std::uint64_t queue, const Table& arguments) {
    const Status bound = try_bind(binding, queue, arguments);
    EXPECT_TRUE(bound.is_ok()) << bound.message();
  }
  std::vector<std::uint64_t> match(const Table& headers) {
    v1::Properties properties;
    *properties.mutable_headers() = fields(headers);
    std::vector<RouteTarget> targets{QueueId(999)};
    exchange_.match({"key", properties}, targets);
    std::vector<std::uint64_t> queues;
    for (const RouteTarget target : targets) queues.push_back(target.queue().value);
    return queues;
  }

  HeadersExchange exchange_;
};

TEST_F(Headers, AllOfThemIsTheDefault) {
  bind(1, 1, {{"format", text("pdf")}, {"pages", number(3)}});
  bind(2, 2, {{"x-match", text("all")}, {"format", text("pdf")}});
  EXPECT_THAT(match({{"format", text("pdf")}}), ElementsAre(2));
  EXPECT_THAT(match({{"format", text("pdf")}, {"pages", number(3)}, {"more", number(1)}}),
              ElementsAre(1, 2));
  EXPECT_THAT(match({{"format", text("zip")}, {"pages", number(3)}}), IsEmpty());
  EXPECT_THAT(match({}), IsEmpty());
}

TEST_F(Headers, AnyOfThem) {
  bind(1, 1, {{"x-match", text("any")}, {"format", text("pdf")}, {"pages", number(3)}});
  EXPECT_THAT(match({{"format", text("zip")}, {"pages", number(3)}}), ElementsAre(1));
  EXPECT_THAT(match({{"format", text("pdf")}, {"pages", number(3)}}), ElementsAre(1));
  EXPECT_THAT(match({{"format", text("zip")}}), IsEmpty());
}

TEST_F(Headers, ValuesAreEqualWithTheirTypes) {
  bind(1, 1, {{"pages", number(3)}});
  EXPECT_THAT(match({{"pages", text("3")}}), IsEmpty());
  v1::FieldValue real;
  real.set_double_value(3);
  EXPECT_THAT(match({{"pages", real}}), IsEmpty());
  v1::FieldValue table;
  (*table.mutable_table_value()->mutable_fields())["a"] = number(1);
  (*table.mutable_table_value()->mutable_fields())["b"] = number(2);
  bind(2, 2, {{"deep", table}});
  EXPECT_THAT(match({{"deep", table}}), ElementsAre(2));
}

TEST_F(Headers, AVoidValueAsksForPresence) {
  bind(1, 1, {{"traced", v1::FieldValue()}});
  EXPECT_THAT(match({{"traced", number(0)}}), ElementsAre(1));
  EXPECT_THAT(match({{"traced", v1::FieldValue()}}), ElementsAre(1));
  EXPECT_THAT(match({{"other", number(0)}}), IsEmpty());
  bind(2, 2, {{"level", number(0)}, {"x-match", text("any")}});
  EXPECT_THAT(match({{"level", v1::FieldValue()}}), IsEmpty());
}

TEST_F(Headers, NamesThatBeginWithXCountWhenAskedFor) {
  bind(1, 1, {{"x-match", text("all")}, {"x-kind", text("a")}, {"b", number(1)}});
  bind(2, 2, {{"x-match", text("all-with-x")}, {"x-kind", text("a")}, {"b", number(1)}});
  bind(3, 3, {{"x-match", text("any")}, {"x-kind", text("a")}});
  bind(4, 4, {{"x-match", text("any-with-x")}, {"x-kind", text("a")}});
  EXPECT_THAT(match({{"b", number(1)}}), ElementsAre(1));
  EXPECT_THAT(match({{"b", number(1)}, {"x-kind", text("a")}}), ElementsAre(1, 2, 4));
}

TEST_F(Headers, WithoutConditionsAllHoldAndNoneDoes) {
  bind(1, 1, {});
  bind(2, 2, {{"x-match", text("any")}});
  EXPECT_THAT(match({}), ElementsAre(1));
  EXPECT_THAT(match({{"a", number(1)}}), ElementsAre(1));
  exchange_.unbind(BindingNumber(1));
  EXPECT_THAT(match({}), IsEmpty());
}

TEST_F(Headers, AModeThatThereIsNotIsRefused) {
  EXPECT_EQ(try_bind(1, 1, {{"x-match", text("some")}}).code(), Code::kPreconditionFailed);
  EXPECT_THAT(try_bind(1, 1, {{"x-match", number(1)}}).message(), HasSubstr("any-with-x"));
  EXPECT_EQ(exchange_.binding_count(), 0u);
}

TEST_F(Headers, ManyThatShareAConditionAreFoundByAnother) {
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    bind(i, i, {{"format", text("pdf")}, {"customer", number(static_cast<std::int64_t>(i))}});
  }
  // Each of these would be a look at 20,000 bindings; the test's time limit would notice.
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_THAT(match({{"format", text("pdf")}, {"customer", number(77)}}), ElementsAre(77));
  }
}

// ---- against a matcher that is too simple to be wrong

bool naive_match(const Table& arguments, const Table& headers) {
  const auto mode = arguments.find("x-match");
  const std::string how = mode == arguments.end() ? "all" : mode->second.string_value();
  const bool any = how.starts_with("any");
  const bool with_x = how.ends_with("with-x");
  for (const auto& [name, value] : arguments) {
    if (name == "x-match" || (!with_x && name.starts_with("x-"))) continue;
    const auto header = headers.find(name);
    const bool holds = header != headers.end() &&
                       (value.kind_case() == v1::FieldValue::KIND_NOT_SET ||
                        value.SerializeAsString() == header->second.SerializeAsString());
    if (holds == any) return any;
  }
  return !any;
}

rc::Gen<Table> some_table() {
  const auto name = rc::gen::element<std::string>("a", "b", "x-c", "x-d");
  const auto value =
      rc::gen::element<v1::FieldValue>(number(1), number(2), text("1"), v1::FieldValue());
  return rc::gen::resize(4, rc::gen::container<Table>(name, value));
}

RC_GTEST_PROP(HeadersProperty, AgreesWithANaiveMatcherWhileBindingsComeAndGo, ()) {
  HeadersExchange exchange;
  std::map<std::uint64_t, std::pair<std::uint64_t, Table>> bound;  // number: queue, arguments
  const int steps = *rc::gen::inRange(1, 40);
  for (std::uint64_t step = 1; step <= static_cast<std::uint64_t>(steps); ++step) {
    if (!bound.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto at = std::next(bound.begin(), *rc::gen::inRange<std::ptrdiff_t>(
                                                   0, static_cast<std::ptrdiff_t>(bound.size())));
      exchange.unbind(BindingNumber(at->first));
      bound.erase(at);
    } else {
      Table arguments = *some_table();
      const auto mode =
          *rc::gen::element<std::string>("", "all", "any", "all-with-x", "any-with-x");
      if (!mode.empty()) arguments["x-match"] = text(mode);
      const auto queue = *rc::gen::inRange<std::uint64_t>(1, 6);
      RC_ASSERT(
          exchange.bind({BindingNumber(step), QueueId(queue), "", "", fields(arguments)}).is_ok());
      bound[step] = {queue, arguments};
    }
    const Table headers = *some_table();
    std::vector<RouteTarget> expected;
    for (const auto& [number, binding] : bound) {
      if (naive_match(binding.second, headers)) expected.emplace_back(QueueId(binding.first));
    }
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    v1::Properties properties;
    *properties.mutable_headers() = fields(headers);
    std::vector<RouteTarget> found;
    exchange.match({"", properties}, found);
    RC_ASSERT(found == expected);
  }
}

}  // namespace
}  // namespace segue
