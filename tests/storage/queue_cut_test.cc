// Where a queue's segments end, and its log goes on.
#include "storage/queue_cut.h"

#include <gtest/gtest.h>

#include <utility>

namespace segue::storage {
namespace {

LogContent::Queue logged(std::vector<NumberRange> enqueued, std::vector<NumberRange> settled = {}) {
  LogContent::Queue queue;
  for (const NumberRange& range : enqueued) queue.enqueued.add(range);
  for (const NumberRange& range : settled) queue.settled.add(range);
  return queue;
}

std::vector<HeldMessage> held(std::uint64_t first, std::uint64_t last) {
  std::vector<HeldMessage> messages;
  for (std::uint64_t s = first; s <= last; ++s) messages.push_back({Sequence{s}, true, true, true});
  return messages;
}

void append(std::vector<HeldMessage>& to, const std::vector<HeldMessage>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

TEST(QueueCut, WithoutALogEverythingIsKept) {
  EXPECT_EQ(cut_queue(held(1, 9), logged({})).kept, 9u);
  EXPECT_EQ(cut_queue({}, logged({{1, 9}})).kept, 0u);
}

TEST(QueueCut, WhatTheLogHasComesFromIt) {
  const QueueCut cut = cut_queue(held(1, 9), logged({{5, 20}}));
  EXPECT_EQ(cut.kept, 4u);
  EXPECT_EQ(cut.lost, 0u);
}

TEST(QueueCut, WhatTheLogLacksIsKept) {
  const QueueCut cut = cut_queue(held(1, 9), logged({{3, 4}, {15, 20}}));
  EXPECT_EQ(cut.kept, 9u);
  EXPECT_EQ(cut.lost, 0u);
}

TEST(QueueCut, SegmentsEndBeforeWhatTheyLack) {
  std::vector<HeldMessage> messages = held(1, 5);
  append(messages, held(8, 9));
  const QueueCut cut = cut_queue(messages, logged({{4, 9}}));
  EXPECT_EQ(cut.kept, 3u);
  EXPECT_EQ(cut.lost, 0u);
}

TEST(QueueCut, TakesTheSmallerLoss) {
  std::vector<HeldMessage> messages = held(1, 5);  // 6 and 7 are torn
  append(messages, held(8, 20));
  const QueueCut cut = cut_queue(messages, logged({{4, 7}}));
  EXPECT_EQ(cut.kept, messages.size());
  EXPECT_EQ(cut.lost, 2u);
}

TEST(QueueCut, WhatWasSettledIsNoLoss) {
  std::vector<HeldMessage> messages = held(1, 5);
  append(messages, held(8, 20));
  EXPECT_EQ(cut_queue(messages, logged({{4, 7}}, {{6, 7}})).lost, 0u);
  for (HeldMessage& message : messages) message.valid = false;
  EXPECT_EQ(cut_queue(messages, logged({{4, 7}}, {{6, 7}})).lost, 0u);
}

TEST(QueueCut, ADamagedMessageIsTakenFromTheLog) {
  std::vector<HeldMessage> messages = held(1, 9);
  messages[6].intact = false;
  const QueueCut cut = cut_queue(messages, logged({{5, 20}}));
  EXPECT_EQ(cut.kept, 4u);
  EXPECT_EQ(cut.lost, 0u);
}

TEST(QueueCut, WhatOnlyTheSegmentsKnowToBeSettledDoesNotComeBack) {
  std::vector<HeldMessage> messages = held(1, 9);
  messages[6].valid = false;
  const QueueCut cut = cut_queue(messages, logged({{5, 20}}));
  EXPECT_EQ(cut.kept, 7u);
  EXPECT_EQ(cut.lost + cut.returned, 0u);
}

TEST(QueueCut, ACompleteSegmentIsNotDivided) {
  std::vector<HeldMessage> messages = held(1, 9);
  for (std::size_t i = 1; i < messages.size(); ++i) messages[i].can_cut = false;
  EXPECT_EQ(cut_queue(messages, logged({{5, 20}})).kept, 9u);
}

}  // namespace
}  // namespace segue::storage
