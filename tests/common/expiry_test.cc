#include "common/expiry.h"

#include <gtest/gtest.h>

#include <string>

#include "common/message_batch.h"
#include "segue/v1/types.pb.h"

namespace segue {
namespace {

TEST(Expiration, IsAWholeNumberOfMillisecondsUpToTenYears) {
  EXPECT_EQ(parse_expiration("0"), 0);
  EXPECT_EQ(parse_expiration("60000"), 60'000);
  EXPECT_EQ(parse_expiration("007"), 7);
  EXPECT_EQ(parse_expiration(std::to_string(kMaxExpirationMs)), kMaxExpirationMs);
  for (const char* bad : {"", "-1", "+1", "1.5", "1s", " 1", "1 ", "soon", "0x10", "315360000001",
                          "99999999999999999999"}) {
    EXPECT_EQ(parse_expiration(bad), std::nullopt) << bad;
  }
}

v1::MessageHeader header_with(const std::string& expiration) {
  v1::MessageHeader header;
  header.set_exchange("e");
  header.set_routing_key("a.b");
  header.set_mandatory(true);
  v1::Properties& properties = *header.mutable_properties();
  properties.set_content_type("text/plain");
  (*properties.mutable_headers())["expiration"].set_string_value("12");
  (*properties.mutable_headers())["n"].set_double_value(1.5);
  properties.set_priority(8);
  properties.set_timestamp_ms(-5);
  if (!expiration.empty()) properties.set_expiration(expiration);
  return header;
}

TEST(Expiration, IsFoundInASerializedHeader) {
  EXPECT_EQ(find_expiration(header_with("4711").SerializeAsString()), 4711);
  EXPECT_EQ(find_expiration(header_with("0").SerializeAsString()), 0);
  EXPECT_EQ(find_expiration(header_with("").SerializeAsString()), kNoExpiration);
  EXPECT_EQ(find_expiration(header_with("soon").SerializeAsString()), kNoExpiration);
  EXPECT_EQ(find_expiration(""), kNoExpiration);
  // Of two the last one counts, as protobuf reads it.
  const std::string twice =
      header_with("1").SerializeAsString() + header_with("2").SerializeAsString();
  v1::MessageHeader read;
  ASSERT_TRUE(read.ParseFromString(twice));
  EXPECT_EQ(read.properties().expiration(), "2");
  EXPECT_EQ(find_expiration(twice), 2);
}

TEST(Expiration, OfBytesThatAreCutAnywhereOrChangedIsNoTrouble) {
  const std::string whole = header_with("4711").SerializeAsString();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    (void)find_expiration(std::string_view(whole).substr(0, size));
  }
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const std::int64_t found = find_expiration(changed);
    v1::MessageHeader header;
    // What protobuf reads has the expiration that protobuf finds.
    if (!header.ParseFromString(changed)) continue;
    EXPECT_EQ(found, parse_expiration(header.properties().expiration()).value_or(kNoExpiration))
        << bit;
  }
  EXPECT_EQ(find_expiration(std::string(1000, '\xFF')), kNoExpiration);
}

TEST(ExpiryRule, TakesTheLesserOfBothFromArrival) {
  const ExpiryRule none;
  EXPECT_EQ(none.due(1000, kNoExpiration), kNever);
  EXPECT_EQ(none.due(1000, 5), 1005);
  const ExpiryRule queue{100, 50};
  EXPECT_EQ(queue.due(1000, kNoExpiration), 1100);
  EXPECT_EQ(queue.due(1000, 5), 1005);
  EXPECT_EQ(queue.due(1000, 500), 1100);
  EXPECT_EQ(queue.due(0, kNoExpiration), 150);  // its arrival is not known
  EXPECT_EQ(queue.due(kNever - 1, kNoExpiration), kNever);
}

TEST(MessageBatch, KnowsTheExpirationsOfItsMessages) {
  MessageBatchBuilder builder;
  const std::string timed = header_with("30").SerializeAsString();
  builder.add(header_with("").SerializeAsString(), SharedBytes::from(std::string("a")));
  builder.add(timed, SharedBytes::from(std::string("b")));
  builder.add(header_with("20").SerializeAsString(), SharedBytes::from(std::string("c")));
  const auto batch = MessageBatch::parse(SharedBytes::from(builder.take().batch),
                                         SharedBytes::from(std::string("abc")));
  ASSERT_TRUE(batch.is_ok());
  EXPECT_TRUE((*batch)->can_expire());
  EXPECT_EQ((*batch)->least_expiration(), 20);
  EXPECT_EQ((*batch)->expiration(0), kNoExpiration);
  EXPECT_EQ((*batch)->expiration(1), 30);
  EXPECT_EQ((*batch)->expiration(2), 20);
}

TEST(MessageTimes, AreFoundInAHeaderAndCountWhenTheyMakeSense) {
  v1::MessageHeader header = header_with("4711");
  header.mutable_properties()->set_delay_ms(1500);
  header.mutable_properties()->set_deliver_at_ms(1'700'000'000'000);
  const MessageTimes times = find_times(header.SerializeAsString());
  EXPECT_EQ(times.expiration, 4711);
  EXPECT_EQ(times.delay_ms, 1500);
  EXPECT_EQ(times.deliver_at_ms, 1'700'000'000'000);
  EXPECT_EQ(times.due(0), 1'700'000'000'000);
  EXPECT_EQ(times.due(1'700'000'000'000), 1'700'000'001'500);
  for (const std::int64_t wrong : {std::int64_t{-1}, kLatestDeliverAtMs + 1}) {
    header.mutable_properties()->set_delay_ms(wrong);
    header.mutable_properties()->set_deliver_at_ms(wrong);
    EXPECT_EQ(find_times(header.SerializeAsString()).due(7), 7) << wrong;
  }
  EXPECT_EQ(find_times("\x22\xFF").due(7), 7);
}

TEST(MessageTimes, ABatchTellsWhenEachOfItsMessagesIsDue) {
  v1::MessageBatch batch;
  batch.add_headers()->mutable_properties()->set_delay_ms(100);
  *batch.add_headers() = header_with("");
  for (const std::uint32_t header : {0u, 1u}) {
    batch.add_header_index(header);
    batch.add_sizes(1);
  }
  const auto parsed = MessageBatch::parse(SharedBytes::from(batch.SerializeAsString()),
                                          SharedBytes::from(std::string("ab")));
  ASSERT_TRUE(parsed.is_ok());
  EXPECT_TRUE((*parsed)->any_delayed());
  EXPECT_EQ((*parsed)->due(0, 1000), 1100);
  EXPECT_EQ((*parsed)->due(1, 1000), 1000);
  MessageRun run{Sequence{1}, *parsed, 0, 2, 1000};
  EXPECT_EQ(run.own_expiration(0), kNoExpiration);
  run.delayed = true;
  EXPECT_EQ(run.own_expiration(0), 100);
  EXPECT_EQ(run.least_own_expiration(0, 1), 100);
  EXPECT_EQ(run.least_own_expiration(0, 2), 0);
}

}  // namespace
}  // namespace segue
