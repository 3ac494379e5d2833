#include "router/property_checks.h"

#include <gtest/gtest.h>

#include <string>

namespace segue::router {
namespace {

v1::Properties with_id(const v1::FieldValue& value) {
  v1::Properties properties;
  (*properties.mutable_headers())["x-deduplication-id"] = value;
  return properties;
}

v1::FieldValue text(const std::string& text) {
  v1::FieldValue value;
  value.set_string_value(text);
  return value;
}

TEST(PropertyChecks, ADeduplicationIdIsATextOrBytesOfAtMost255) {
  EXPECT_FALSE(bad_property({}));
  EXPECT_FALSE(bad_property(with_id(text("x"))));
  EXPECT_FALSE(bad_property(with_id(text(std::string(255, 'x')))));
  v1::FieldValue bytes;
  bytes.set_bytes_value(std::string("\0\xff", 2));
  EXPECT_FALSE(bad_property(with_id(bytes)));
  v1::FieldValue number;
  number.set_int_value(7);
  for (const v1::FieldValue& bad :
       {text(""), text(std::string(256, 'x')), number, v1::FieldValue()}) {
    const auto error = bad_property(with_id(bad));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), 406u);
    EXPECT_EQ(error->entity(), "x-deduplication-id");
  }
}

TEST(PropertyChecks, AnExpirationIsAWholeNumberOfMilliseconds) {
  v1::Properties properties;
  properties.set_expiration("60000");
  EXPECT_FALSE(bad_property(properties));
  properties.set_expiration("soon");
  ASSERT_TRUE(bad_property(properties));
  EXPECT_EQ(bad_property(properties)->entity(), "expiration");
}

}  // namespace
}  // namespace segue::router
