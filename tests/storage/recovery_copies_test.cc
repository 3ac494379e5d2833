#include "storage/recovery_copies.h"

#include <gtest/gtest.h>

#include <vector>

namespace segue::storage {
namespace {

CheckpointSegment segment(std::uint64_t first, std::uint64_t last, std::uint32_t generation = 0) {
  return {Sequence{first}, generation, Sequence{last}, 1000, 5, 5, true};
}

NamedSegment there(std::uint64_t first, std::uint64_t last, std::uint32_t generation = 0) {
  return {segment(first, last, generation), true};
}

NamedSegment gone(std::uint64_t first, std::uint64_t last, std::uint32_t generation = 0) {
  return {segment(first, last, generation), false};
}

FoundCopy copy(std::uint64_t first, std::uint64_t last, std::uint32_t generation) {
  return {segment(first, last, generation), Sequence{first}, Sequence{last}};
}

std::vector<SegmentName> names(const std::vector<CheckpointSegment>& segments) {
  std::vector<SegmentName> names;
  for (const CheckpointSegment& one : segments) names.push_back(one.name());
  return names;
}

using Names = std::vector<SegmentName>;

SegmentName name(std::uint64_t first, std::uint32_t generation = 0) {
  return {Sequence{first}, generation};
}

TEST(RecoveryCopies, WithoutCopiesWhatIsThereCounts) {
  const auto choice = choose_segments({there(1, 10), gone(11, 20), there(21, 30)}, {});
  EXPECT_EQ(names(choice.segments), (Names{name(1), name(21)}));
  EXPECT_TRUE(choice.replaced.empty());
  EXPECT_TRUE(choice.discarded.empty());
}

TEST(RecoveryCopies, ACopyBesideAllItsSourcesIsDiscarded) {
  const auto choice = choose_segments({there(1, 10), there(11, 20)}, {copy(1, 20, 1)});
  EXPECT_EQ(names(choice.segments), (Names{name(1), name(11)}));
  EXPECT_EQ(choice.discarded, (Names{name(1, 1)}));
}

TEST(RecoveryCopies, ACopyStandsForSourcesOfWhichOneIsGone) {
  const auto choice =
      choose_segments({there(1, 10), gone(11, 20), there(21, 30)}, {copy(1, 20, 1)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 1), name(21)}));
  EXPECT_EQ(choice.replaced, (Names{name(1)}));
  EXPECT_TRUE(choice.discarded.empty());
}

TEST(RecoveryCopies, ACopyStandsForSourcesThatAreAllGone) {
  const auto choice = choose_segments({gone(1, 10), gone(11, 20)}, {copy(1, 20, 1)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 1)}));
}

TEST(RecoveryCopies, ACopyOfACopyWithAllItsSourcesIsDiscardedAndTheFirstStays) {
  const auto choice =
      choose_segments({gone(1, 10), there(11, 20)}, {copy(1, 10, 1), copy(1, 20, 2)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 1), name(11)}));
  EXPECT_EQ(choice.discarded, (Names{name(1, 2)}));
}

TEST(RecoveryCopies, ACopyOfACopyStandsWhenOneSourceIsGone) {
  // The copied copy is gone.
  auto choice = choose_segments({gone(1, 10), there(11, 20)}, {copy(1, 20, 2)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 2)}));
  EXPECT_EQ(choice.replaced, (Names{name(11)}));
  // The other is.
  choice = choose_segments({gone(1, 10), gone(11, 20)}, {copy(1, 20, 2), copy(1, 10, 1)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 2)}));
  EXPECT_EQ(choice.replaced, (Names{name(1, 1)}));
}

TEST(RecoveryCopies, WhatIsLeftOfAnOlderGenerationIsDiscarded) {
  // The checkpoint names the newer copy; the older's removal was not durable.
  auto choice = choose_segments({there(1, 20, 2)}, {copy(1, 10, 1)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 2)}));
  EXPECT_EQ(choice.discarded, (Names{name(1, 1)}));
  // Also when the newer was consumed since.
  choice = choose_segments({gone(1, 20, 2)}, {copy(1, 10, 1)});
  EXPECT_TRUE(choice.segments.empty());
  EXPECT_EQ(choice.discarded, (Names{name(1, 1)}));
}

TEST(RecoveryCopies, ACopyOfWhatTheCheckpointDoesNotKnowIsDiscarded) {
  const auto choice = choose_segments({there(1, 10)}, {copy(11, 20, 1)});
  EXPECT_EQ(names(choice.segments), (Names{name(1)}));
  EXPECT_EQ(choice.discarded, (Names{name(11, 1)}));
}

// A segment that was cut: messages 1-4, 6-8 and 10 of 1-10.
const std::vector<FoundCopy> kPieces{copy(1, 4, 1), copy(6, 8, 1), copy(10, 10, 1)};

TEST(RecoveryCopies, PiecesBesideWhatWasCutAreDiscarded) {
  auto choice = choose_segments({there(1, 10), there(11, 20)}, kPieces);
  EXPECT_EQ(names(choice.segments), (Names{name(1), name(11)}));
  EXPECT_EQ(choice.discarded, (Names{name(1, 1), name(6, 1), name(10, 1)}));
  // Not all had their names.
  choice = choose_segments({there(1, 10)}, {kPieces[0]});
  EXPECT_EQ(names(choice.segments), (Names{name(1)}));
}

TEST(RecoveryCopies, PiecesStandForWhatWasCutWhenThatIsGone) {
  auto choice = choose_segments({gone(1, 10), there(11, 20)}, kPieces);
  EXPECT_EQ(names(choice.segments), (Names{name(1, 1), name(6, 1), name(10, 1), name(11)}));
  EXPECT_TRUE(choice.discarded.empty());
  EXPECT_TRUE(choice.missing.empty());
  // All messages of one piece were settled since.
  choice = choose_segments({gone(1, 10)}, {kPieces[0], kPieces[2]});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 1), name(10, 1)}));
}

TEST(RecoveryCopies, ACopyOfAPieceIsDecidedByThePiece) {
  // The piece is there: the copy may lack flags.
  auto choice = choose_segments({gone(1, 10)}, {kPieces[0], kPieces[1], copy(6, 8, 2)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 1), name(6, 1)}));
  EXPECT_EQ(choice.discarded, (Names{name(6, 2)}));
  // It is not.
  choice = choose_segments({gone(1, 10)}, {kPieces[0], copy(6, 8, 2)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 1), name(6, 2)}));
  // Two pieces were merged, one of them is gone.
  choice = choose_segments({gone(1, 10)}, {kPieces[0], kPieces[1], copy(6, 10, 2)});
  EXPECT_EQ(names(choice.segments), (Names{name(1, 1), name(6, 2)}));
  EXPECT_EQ(choice.replaced, (Names{name(6, 1)}));
}

TEST(RecoveryCopies, WhatNoPieceStandsForIsMissing) {
  const FoundCopy piece{{Sequence{1}, 1, Sequence{4}, 1000, 2, 2, true}, Sequence{1}, Sequence{4}};
  const auto choice = choose_segments({gone(1, 10)}, {piece});  // of 5 valid ones
  ASSERT_EQ(choice.missing.size(), 1u);
  EXPECT_EQ(choice.missing[0].valid, 3u);
}

}  // namespace
}  // namespace segue::storage
