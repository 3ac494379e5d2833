#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "common/routing/hash_exchange.h"

namespace segue {
namespace {

using testing::HasSubstr;

constexpr int kKeys = 20'000;

class Hash : public testing::Test {
 protected:
  void bind(std::uint64_t queue, const std::string& weight) {
    const Status bound = exchange_.bind(
        {BindingNumber(queue), QueueId(queue), "q" + std::to_string(queue), weight, {}});
    EXPECT_TRUE(bound.is_ok()) << bound.message();
  }
  std::uint64_t queue_of(const std::string& key) {
    std::vector<RouteTarget> targets;
    exchange_.match({key, v1::Properties::default_instance()}, targets);
    EXPECT_EQ(targets.size(), 1u);
    return targets.empty() ? 0 : targets[0].queue().value;
  }
  std::vector<std::uint64_t> queues_of_all_keys() {
    std::vector<std::uint64_t> queues;
    for (int i = 0; i < kKeys; ++i) queues.push_back(queue_of("key " + std::to_string(i)));
    return queues;
  }

  HashExchange exchange_{FieldValues()};
};

TEST_F(Hash, WithoutBindingsAMessageGoesNowhere) {
  std::vector<RouteTarget> targets{QueueId(9)};
  exchange_.match({"a", v1::Properties::default_instance()}, targets);
  EXPECT_TRUE(targets.empty());
}

TEST_F(Hash, SpreadsKeysByWeight) {
  for (std::uint64_t queue = 1; queue <= 9; ++queue) bind(queue, "1");
  bind(10, "3");
  std::map<std::uint64_t, int> counts;
  for (const std::uint64_t queue : queues_of_all_keys()) ++counts[queue];
  EXPECT_EQ(counts.size(), 10u);
  for (std::uint64_t queue = 1; queue <= 9; ++queue) {
    EXPECT_NEAR(counts[queue], kKeys / 12.0, kKeys / 12.0 * 0.25) << queue;
  }
  EXPECT_NEAR(counts[10], kKeys / 4.0, kKeys / 4.0 * 0.25);
}

TEST_F(Hash, WhenBindingsComeAndGoOnlyTheirKeysMove) {
  for (std::uint64_t queue = 1; queue <= 9; ++queue) bind(queue, "2");
  const auto before = queues_of_all_keys();
  bind(10, "2");
  const auto more = queues_of_all_keys();
  int moved = 0;
  for (int i = 0; i < kKeys; ++i) {
    if (more[i] == before[i]) continue;
    EXPECT_EQ(more[i], 10u);
    ++moved;
  }
  EXPECT_NEAR(moved, kKeys / 10.0, kKeys / 10.0 * 0.4);
  exchange_.unbind(BindingNumber(10));
  EXPECT_EQ(queues_of_all_keys(), before);
  exchange_.unbind(BindingNumber(3));
  const auto fewer = queues_of_all_keys();
  for (int i = 0; i < kKeys; ++i) {
    if (before[i] != 3) {
      EXPECT_EQ(fewer[i], before[i]);
    } else {
      EXPECT_NE(fewer[i], 3u);
    }
  }
}

TEST_F(Hash, DoesNotDependOnNumbersOrTheOrderOfBindings) {
  for (std::uint64_t queue = 1; queue <= 5; ++queue) bind(queue, "1");
  HashExchange other{FieldValues()};
  for (std::uint64_t queue = 5; queue >= 1; --queue) {
    ASSERT_TRUE(
        other
            .bind(
                {BindingNumber(100 + queue), QueueId(queue), "q" + std::to_string(queue), "1", {}})
            .is_ok());
  }
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    std::vector<RouteTarget> targets;
    other.match({key, v1::Properties::default_instance()}, targets);
    ASSERT_EQ(targets.at(0).queue().value, queue_of(key));
  }
}

TEST_F(Hash, AWeightIsAWholeNumberFromOneToAThousand) {
  for (const char* const weight :
       {"", "0", "01", "-1", "1001", "1.5", " 1", "1 ", "one", "99999999999999999999"}) {
    const Status refused = exchange_.bind({BindingNumber(1), QueueId(1), "q", weight, {}});
    EXPECT_EQ(refused.code(), Code::kPreconditionFailed) << weight;
    EXPECT_THAT(refused.message(), HasSubstr("between 1 and 1000"));
  }
  bind(1, "1000");
}

std::uint64_t target(HashExchange& exchange, const v1::Properties& properties) {
  std::vector<RouteTarget> targets;
  exchange.match({"the same", properties}, targets);
  return targets.at(0).queue().value;
}

TEST(HashOfProperties, AnArgumentSaysWhatIsHashed) {
  const auto make = [](const char* argument, const char* value) {
    FieldValues arguments;
    arguments[argument].set_string_value(value);
    EXPECT_TRUE(HashExchange::check_arguments(arguments).is_ok());
    auto exchange = std::make_unique<HashExchange>(arguments);
    for (std::uint64_t i = 1; i <= 8; ++i) {
      EXPECT_TRUE(
          exchange->bind({BindingNumber(i), QueueId(i), "q" + std::to_string(i), "1", {}}).is_ok());
    }
    return exchange;
  };
  const auto spread = [](HashExchange& exchange, auto set) {
    std::map<std::uint64_t, int> counts;
    for (int i = 0; i < 200; ++i) {
      v1::Properties properties;
      set(properties, i);
      const std::uint64_t queue = target(exchange, properties);
      EXPECT_EQ(target(exchange, properties), queue);
      ++counts[queue];
    }
    return counts.size();
  };
  EXPECT_EQ(
      spread(*make("hash-header", "user"),
             [](v1::Properties& to, int i) { (*to.mutable_headers())["user"].set_int_value(i); }),
      8u);
  EXPECT_EQ(spread(*make("hash-header", "user"),
                   [](v1::Properties& to, int i) {
                     (*to.mutable_headers())["user"].set_string_value(std::to_string(i));
                   }),
            8u);
  EXPECT_EQ(
      spread(*make("hash-header", "user"),
             [](v1::Properties& to, int i) { (*to.mutable_headers())["other"].set_int_value(i); }),
      1u);
  const auto by_id = make("hash-property", "message_id");
  EXPECT_TRUE(by_id->looks_beyond_key());
  EXPECT_EQ(spread(*by_id, [](v1::Properties& to, int i) { to.set_message_id(std::to_string(i)); }),
            8u);
  EXPECT_EQ(spread(*make("hash-property", "correlation_id"),
                   [](v1::Properties& to, int i) { to.set_correlation_id(std::to_string(i)); }),
            8u);
  EXPECT_EQ(spread(*make("hash-property", "timestamp"),
                   [](v1::Properties& to, int i) { to.set_timestamp_ms(i); }),
            8u);
  EXPECT_FALSE(HashExchange(FieldValues()).looks_beyond_key());
}

TEST(HashOfProperties, ArgumentsThatMakeNoSenseAreRefused) {
  FieldValues arguments;
  arguments["hash-property"].set_string_value("colour");
  EXPECT_THAT(HashExchange::check_arguments(arguments).message(), HasSubstr("correlation_id"));
  arguments["hash-header"].set_string_value("user");
  EXPECT_THAT(HashExchange::check_arguments(arguments).message(), HasSubstr("not both"));
  arguments.erase("hash-property");
  EXPECT_TRUE(HashExchange::check_arguments(arguments).is_ok());
  arguments["hash-header"].set_int_value(1);
  EXPECT_EQ(HashExchange::check_arguments(arguments).code(), Code::kPreconditionFailed);
}

}  // namespace
}  // namespace segue
