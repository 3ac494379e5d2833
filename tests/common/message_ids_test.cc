#include "common/message_ids.h"

#include <gtest/gtest.h>

#include <string>

#include "segue/v1/types.pb.h"

namespace segue {
namespace {

v1::MessageHeader header_with(const std::string& group, const std::string& id) {
  v1::MessageHeader header;
  header.set_exchange("e");
  header.set_routing_key("a.b");
  v1::Properties& properties = *header.mutable_properties();
  properties.set_content_type("text/plain");
  (*properties.mutable_headers())["other"].set_string_value("no id");
  properties.set_priority(8);
  properties.set_app_id("app");
  if (!id.empty()) {
    (*properties.mutable_headers())[std::string(kDeduplicationHeader)].set_string_value(id);
  }
  if (!group.empty()) properties.set_group_id(group);
  return header;
}

/// As protobuf reads it.
std::string id_of(const v1::MessageHeader& header) {
  const auto found = header.properties().headers().find(std::string(kDeduplicationHeader));
  if (found == header.properties().headers().end()) return "";
  return found->second.has_bytes_value() ? found->second.bytes_value()
                                         : found->second.string_value();
}

TEST(MessageIds, AreFoundInASerializedHeader) {
  const std::string both = header_with("order-7", "4711").SerializeAsString();
  EXPECT_EQ(find_group_id(both), "order-7");
  EXPECT_EQ(find_deduplication_id(both), "4711");
  const std::string none = header_with("", "").SerializeAsString();
  EXPECT_EQ(find_group_id(none), "");
  EXPECT_EQ(find_deduplication_id(none), "");
  EXPECT_EQ(find_group_id(""), "");
  v1::MessageHeader bytes;
  (*bytes.mutable_properties()->mutable_headers())[std::string(kDeduplicationHeader)]
      .set_bytes_value(std::string("\0\xff", 2));
  EXPECT_EQ(find_deduplication_id(bytes.SerializeAsString()), std::string_view("\0\xff", 2));
  (*bytes.mutable_properties()->mutable_headers())[std::string(kDeduplicationHeader)].set_int_value(
      7);
  EXPECT_EQ(find_deduplication_id(bytes.SerializeAsString()), "");
}

TEST(MessageIds, OfTwoTheLastOneCounts) {
  const std::string twice =
      header_with("a", "1").SerializeAsString() + header_with("b", "2").SerializeAsString();
  EXPECT_EQ(find_group_id(twice), "b");
  EXPECT_EQ(find_deduplication_id(twice), "2");
}

TEST(MessageIds, OfBytesThatAreCutAnywhereOrChangedAreNoTrouble) {
  const std::string whole = header_with("order-7", "4711").SerializeAsString();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    (void)find_group_id(std::string_view(whole).substr(0, size));
    (void)find_deduplication_id(std::string_view(whole).substr(0, size));
  }
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    v1::MessageHeader header;
    if (!header.ParseFromString(changed)) continue;
    // What protobuf reads, or nothing: wire types that no field of ours has are not followed.
    const std::string_view group = find_group_id(changed);
    const std::string_view id = find_deduplication_id(changed);
    EXPECT_TRUE(group.empty() || group == header.properties().group_id()) << bit;
    EXPECT_TRUE(id.empty() || id == id_of(header)) << bit;
  }
}

}  // namespace
}  // namespace segue
