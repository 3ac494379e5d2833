#include "storage/segment_format.h"

#include <gtest/gtest.h>

#include <functional>

namespace segue::storage {
namespace {

/// Checks that `refused` holds for the bytes with each single bit flipped.
void expect_every_flip_refused(std::string bytes,
                               const std::function<bool(const std::string&)>& refused) {
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(refused(bytes)) << "bit " << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
  EXPECT_FALSE(refused(bytes));
}

TEST(SegmentFormat, HeaderGoesRoundAndDetectsEveryFlippedBit) {
  const SegmentHeader header{QueueId{42}, Sequence{7}, Sequence{3}, Sequence{6}};
  std::string bytes(SegmentHeader::kSize, '\0');
  header.encode(bytes.data());
  ASSERT_TRUE(SegmentHeader::decode(bytes).is_ok());
  EXPECT_EQ(*SegmentHeader::decode(bytes), header);
  expect_every_flip_refused(bytes,
                            [](const std::string& b) { return !SegmentHeader::decode(b).is_ok(); });
  EXPECT_FALSE(SegmentHeader::decode(bytes.substr(1)).is_ok());
}

TEST(SegmentFormat, FooterGoesRoundAndDetectsEveryFlippedBit) {
  const SegmentFooter footer{QueueId{42}, 12, 4711, 99, Sequence{7}, Sequence{30}};
  std::string bytes(SegmentFooter::kSize, '\0');
  footer.encode(bytes.data());
  EXPECT_EQ(*SegmentFooter::decode(bytes), footer);
  expect_every_flip_refused(bytes,
                            [](const std::string& b) { return !SegmentFooter::decode(b).is_ok(); });
}

TEST(SegmentFormat, RecordGoesRoundAndDetectsEveryFlippedBit) {
  MessageRecord record;
  record.header_bytes = 5;
  record.body_bytes = 1024;
  record.sequence = Sequence{99};
  record.payload_checksum = 0x1234567890ull;
  std::string bytes(MessageRecord::kSize, '\0');
  record.encode(bytes.data(), QueueId{8});
  const auto decoded = MessageRecord::decode(bytes, QueueId{8});
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->sequence, Sequence{99});
  EXPECT_EQ(decoded->record_bytes(), MessageRecord::kSize + 5 + 1024);
  EXPECT_FALSE(MessageRecord::decode(bytes, QueueId{9}).has_value());  // another queue's
  expect_every_flip_refused(bytes, [](const std::string& b) {
    return !MessageRecord::decode(b, QueueId{8}).has_value();
  });
}

TEST(SegmentFormat, ArrivalsGoRoundAndEveryFlippedBitIsDetected) {
  MessageRecord record;
  record.header_bytes = 5;
  record.body_bytes = 1024;
  record.sequence = Sequence{99};
  record.arrived_ms = 1'700'000'000'000;
  record.expiration_ms = 60'000;
  std::string bytes(MessageRecord::kTimedSize, '\0');
  record.encode(bytes.data(), QueueId{8});
  const auto decoded = MessageRecord::decode(bytes, QueueId{8});
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->arrived_ms, record.arrived_ms);
  EXPECT_EQ(decoded->expiration_ms, 60'000);
  EXPECT_EQ(decoded->record_bytes(), MessageRecord::kTimedSize + 5 + 1024);
  EXPECT_FALSE(MessageRecord::decode(bytes.substr(0, MessageRecord::kSize), QueueId{8}));
  expect_every_flip_refused(bytes, [](const std::string& b) {
    return !MessageRecord::decode(b, QueueId{8}).has_value();
  });

  std::string head(IndexHeader::kSize, '\0');
  IndexHeader{QueueId{42}, Sequence{7}, true}.encode(head.data());
  EXPECT_EQ(*IndexHeader::decode(head), (IndexHeader{QueueId{42}, Sequence{7}, true}));
  const IndexEntry entry{3, 4096, 17, IndexEntry::kValid, 1'700'000'000'000, kNoExpiration};
  std::string place(IndexEntry::kTimedSize, '\0');
  entry.encode(place.data(), Sequence{7}, true);
  EXPECT_EQ(*IndexEntry::decode(place.data(), Sequence{7}, true), entry);
  expect_every_flip_refused(place, [](const std::string& b) {
    return !IndexEntry::decode(b.data(), Sequence{7}, true).has_value();
  });
}

TEST(SegmentFormat, IndexGoesRoundAndDetectsEveryFlippedBit) {
  std::string bytes(IndexHeader::kSize, '\0');
  IndexHeader{QueueId{42}, Sequence{7}}.encode(bytes.data());
  EXPECT_EQ(*IndexHeader::decode(bytes), (IndexHeader{QueueId{42}, Sequence{7}}));
  expect_every_flip_refused(bytes,
                            [](const std::string& b) { return !IndexHeader::decode(b).is_ok(); });
  const IndexEntry entry{3, 4096, 17, IndexEntry::kValid};
  std::string place(IndexEntry::kSize, '\0');
  entry.encode(place.data(), Sequence{7});
  EXPECT_EQ(*IndexEntry::decode(place.data(), Sequence{7}), entry);
  expect_every_flip_refused(place, [](const std::string& b) {
    return !IndexEntry::decode(b.data(), Sequence{7}).has_value();
  });
}

TEST(SegmentFormat, FileNamesSortAsTheirNumbersDo) {
  EXPECT_EQ(segment_file_name(Sequence{42}, ".data"), "00000000000000000042.data");
  EXPECT_LT(segment_file_name(Sequence{99}, ".data"), segment_file_name(Sequence{100}, ".data"));
  EXPECT_EQ(segment_of_file_name("00000000000000000042.data", ".data"), SegmentName(Sequence{42}));
  EXPECT_FALSE(segment_of_file_name("00000000000000000042.index", ".data").has_value());
  EXPECT_FALSE(segment_of_file_name("0000000000000000004x.data", ".data").has_value());
  EXPECT_FALSE(segment_of_file_name("99999999999999999999.data", ".data").has_value());
}

TEST(SegmentFormat, DirectoryNamesAreSafeAndUniqueForAnyQueueName) {
  EXPECT_EQ(queue_directory_name("orders.eu_1", QueueId{5}), "orders.eu_1-5");
  EXPECT_EQ(queue_directory_name("..", QueueId{5}), "%2E.-5");
  EXPECT_EQ(queue_directory_name("a/b", QueueId{5}), "a%2Fb-5");
  EXPECT_EQ(queue_directory_name(std::string("a\0b", 3), QueueId{5}), "a%00b-5");
  EXPECT_EQ(queue_directory_name("", QueueId{5}), "-5");
  // Names that a file system may take for the same differ in more than their capitals.
  EXPECT_EQ(queue_directory_name("Orders", QueueId{5}), "%4Frders-5");
  const std::string longest =
      queue_directory_name(std::string(255, '\xF0'), QueueId{kQueueIdLimit - 1});
  EXPECT_LE(longest.size(), 130u);
  EXPECT_EQ(queue_of_directory_name(longest), QueueId{kQueueIdLimit - 1});
  EXPECT_EQ(queue_of_directory_name("a-b-17"), QueueId{17});
  EXPECT_FALSE(queue_of_directory_name("lost+found").has_value());
}

TEST(SegmentFormat, TheLanesOfAQueueHaveDirectoriesOfTheirOwn) {
  const QueueId lane = lane_id(QueueId{7}, 200);
  EXPECT_EQ(queue_of_lane(lane), QueueId{7});
  EXPECT_EQ(priority_of_lane(lane), 200u);
  EXPECT_EQ(lane_id(QueueId{7}, 0), QueueId{7});
  EXPECT_EQ(queue_directory_name("orders", lane), "orders-7.200");
  EXPECT_EQ(queue_of_directory_name("orders-7.200"), lane);
  EXPECT_EQ(queue_name_of_directory("orders-7.200"), "orders");
  const QueueId delayed = delay_lane_id(QueueId{7});
  EXPECT_TRUE(is_delay_lane(delayed));
  EXPECT_EQ(queue_of_lane(delayed), QueueId{7});
  EXPECT_EQ(queue_directory_name("orders", delayed), "orders-7.delayed");
  EXPECT_EQ(queue_of_directory_name("orders-7.delayed"), delayed);
  for (const char* name : {"orders-7.0", "orders-7.256", "orders-7.", "orders-7.2.1", "orders-.2",
                           "orders-1099511627776"}) {
    EXPECT_FALSE(queue_of_directory_name(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace segue::storage
