#include "node/message_priorities.h"

#include <gtest/gtest.h>

#include <string>

#include "segue/v1/types.pb.h"

namespace segue::node {
namespace {

/// A batch with a header for each priority, and messages that have these.
MessageBatchPtr batch_of(const std::vector<std::uint32_t>& priorities) {
  v1::MessageBatch batch;
  for (std::size_t i = 0; i < priorities.size(); ++i) {
    batch.add_headers()->mutable_properties()->set_priority(priorities[i]);
    batch.add_header_index(static_cast<std::uint32_t>(i));
    batch.add_sizes(1);
  }
  auto parsed = MessageBatch::parse(SharedBytes::from(batch.SerializeAsString()),
                                    SharedBytes::from(std::string(priorities.size(), 'x')));
  EXPECT_TRUE(parsed) << parsed.status().to_string();
  return *parsed;
}

using Places = std::vector<std::uint32_t>;

TEST(MessagePriorities, MessagesOfOnePriorityStayTogetherAndInOrder) {
  const auto sorted = by_priority(*batch_of({3, 0, 3, 200, 0, 9}), {}, 9);
  ASSERT_EQ(sorted.size(), 3u);
  EXPECT_EQ(sorted[0].priority, 0);
  EXPECT_EQ(sorted[0].places, (Places{1, 4}));
  EXPECT_EQ(sorted[1].priority, 3);
  EXPECT_EQ(sorted[1].places, (Places{0, 2}));
  EXPECT_EQ(sorted[2].priority, 9);
  EXPECT_EQ(sorted[2].places, (Places{3, 5}));
}

TEST(MessagePriorities, ABatchOfOnePriorityIsNotTakenApart) {
  const auto all = by_priority(*batch_of({300, 5, 7}), {}, 5);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].priority, 5);
  EXPECT_TRUE(all[0].places.empty());
  const auto some = by_priority(*batch_of({300, 5, 7}), {0, 2}, 5);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].places, (Places{0, 2}));
}

TEST(MessagePriorities, OnlyTheGivenPlacesCount) {
  const auto sorted = by_priority(*batch_of({1, 2, 1, 2}), {1, 2}, 9);
  ASSERT_EQ(sorted.size(), 2u);
  EXPECT_EQ(sorted[0].places, (Places{2}));
  EXPECT_EQ(sorted[1].places, (Places{1}));
}

TEST(MessagePriorities, AHeaderThatCannotBeReadHasNone) {
  const std::string broken = "\xff\xff\xff";
  std::string batch = "\x0a\x03" + broken;  // headers: 3 bytes
  batch += std::string("\x1a\x01\x01", 3);  // sizes: [1]
  auto parsed =
      MessageBatch::parse(SharedBytes::from(std::move(batch)), SharedBytes::from(std::string("x")));
  ASSERT_TRUE(parsed) << parsed.status().to_string();
  EXPECT_EQ(by_priority(**parsed, {}, 9).at(0).priority, 0);
}

}  // namespace
}  // namespace segue::node
