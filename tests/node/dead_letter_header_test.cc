#include "node/dead_letter_header.h"

#include <gtest/gtest.h>

#include <limits>

namespace segue::node {
namespace {

const Death kRejected{"q", v1::DEAD_REASON_REJECTED, 1000};
const Death kExpired{"q", v1::DEAD_REASON_EXPIRED, 2000};

v1::MessageHeader header_of(const std::string& exchange, const std::string& key) {
  v1::MessageHeader header;
  header.set_exchange(exchange);
  header.set_routing_key(key);
  return header;
}

const v1::FieldValue& field(const v1::MessageHeader& header, const std::string& name) {
  return header.properties().headers().at(name);
}

const v1::FieldValue& in_death(const v1::MessageHeader& header, int at, const std::string& name) {
  return field(header, "x-death").array_value().values(at).table_value().fields().at(name);
}

int deaths(const v1::MessageHeader& header) {
  return field(header, "x-death").array_value().values_size();
}

TEST(DeadLetterHeader, TellsOfADeath) {
  v1::MessageHeader header = header_of("ex", "key");
  header.mutable_properties()->set_expiration("500");
  add_death(kExpired, header);
  ASSERT_EQ(deaths(header), 1);
  EXPECT_EQ(in_death(header, 0, "queue").string_value(), "q");
  EXPECT_EQ(in_death(header, 0, "reason").string_value(), "expired");
  EXPECT_EQ(in_death(header, 0, "count").int_value(), 1);
  EXPECT_EQ(in_death(header, 0, "time").timestamp_ms(), 2000);
  EXPECT_EQ(in_death(header, 0, "exchange").string_value(), "ex");
  EXPECT_EQ(in_death(header, 0, "routing-keys").array_value().values(0).string_value(), "key");
  EXPECT_EQ(in_death(header, 0, "original-expiration").string_value(), "500");
  EXPECT_EQ(header.properties().expiration(), "");
  EXPECT_EQ(field(header, "x-first-death-queue").string_value(), "q");
  EXPECT_EQ(field(header, "x-first-death-reason").string_value(), "expired");
  EXPECT_EQ(field(header, "x-first-death-exchange").string_value(), "ex");
  EXPECT_EQ(field(header, "x-last-death-reason").string_value(), "expired");
}

TEST(DeadLetterHeader, HasOneEntryForEachQueueAndReasonTheLatestFirst) {
  v1::MessageHeader header = header_of("ex", "key");
  add_death(kRejected, header);
  header.set_exchange("dlx");
  add_death(kExpired, header);
  add_death({"p", v1::DEAD_REASON_MAXLEN, 3000}, header);
  add_death({"q", v1::DEAD_REASON_REJECTED, 4000}, header);
  ASSERT_EQ(deaths(header), 3);
  EXPECT_EQ(in_death(header, 0, "reason").string_value(), "rejected");
  EXPECT_EQ(in_death(header, 0, "count").int_value(), 2);
  EXPECT_EQ(in_death(header, 0, "time").timestamp_ms(), 1000);
  EXPECT_EQ(in_death(header, 0, "exchange").string_value(), "ex");
  EXPECT_EQ(in_death(header, 1, "queue").string_value(), "p");
  EXPECT_EQ(in_death(header, 2, "reason").string_value(), "expired");
  EXPECT_EQ(field(header, "x-first-death-reason").string_value(), "rejected");
  EXPECT_EQ(field(header, "x-first-death-exchange").string_value(), "ex");
  EXPECT_EQ(field(header, "x-last-death-queue").string_value(), "q");
  EXPECT_EQ(field(header, "x-last-death-exchange").string_value(), "dlx");
}

TEST(DeadLetterHeader, ACycleIsOneWithoutAReject) {
  v1::MessageHeader header = header_of("ex", "key");
  EXPECT_FALSE(goes_round(header, "q"));
  add_death(kExpired, header);
  EXPECT_TRUE(goes_round(header, "q"));
  EXPECT_FALSE(goes_round(header, "p"));
  add_death({"p", v1::DEAD_REASON_MAXLEN, 0}, header);
  EXPECT_TRUE(goes_round(header, "q"));
  add_death({"p", v1::DEAD_REASON_REJECTED, 0}, header);
  EXPECT_FALSE(goes_round(header, "q"));
}

TEST(DeadLetterHeader, WhatClientsPutThereDoesNotBreakIt) {
  v1::MessageHeader header = header_of("ex", "key");
  auto& headers = *header.mutable_properties()->mutable_headers();
  headers["x-death"].set_string_value("never");
  headers["x-first-death-queue"].set_int_value(7);
  headers["x-last-death-queue"].mutable_table_value();
  EXPECT_FALSE(goes_round(header, "q"));
  add_death(kRejected, header);
  EXPECT_EQ(deaths(header), 1);
  EXPECT_EQ(field(header, "x-first-death-queue").string_value(), "q");
  EXPECT_EQ(field(header, "x-last-death-queue").string_value(), "q");

  auto& entries = *headers["x-death"].mutable_array_value();
  entries.Clear();
  entries.add_values()->set_bool_value(true);
  entries.add_values()->mutable_table_value();
  auto& odd = *entries.add_values()->mutable_table_value()->mutable_fields();
  odd["queue"].set_string_value("q");
  odd["reason"].set_string_value("rejected");
  odd["count"].set_int_value(std::numeric_limits<std::int64_t>::max());
  auto& other = *entries.add_values()->mutable_table_value()->mutable_fields();
  other["queue"].set_string_value("q");
  other["reason"].set_string_value("rejected");
  other["count"].set_string_value("many");
  for (int i = 0; i < 500; ++i) {
    auto& more = *entries.add_values()->mutable_table_value()->mutable_fields();
    more["queue"].set_string_value(std::to_string(i));
    more["reason"].set_string_value("tired");
  }
  add_death(kRejected, header);
  EXPECT_EQ(deaths(header), 100);
  EXPECT_EQ(in_death(header, 0, "count").int_value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(in_death(header, 1, "queue").string_value(), "0");
}

}  // namespace
}  // namespace segue::node
