#include "storage/bit_squeeze.h"

#include <gtest/gtest.h>

#include <bit>

#include "common/random.h"

namespace segue::storage {
namespace {

std::uint64_t squeezed_bit_by_bit(std::uint64_t value, std::uint64_t mask) {
  std::uint64_t result = 0;
  int to = 0;
  for (int bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    result |= (value >> bit & 1) << to++;
  }
  return result;
}

TEST(BitSqueeze, MovesTheBitsOfTheMaskTogether) {
  EXPECT_EQ(squeeze(0, 0), 0u);
  EXPECT_EQ(squeeze(~0ull, ~0ull), ~0ull);
  EXPECT_EQ(squeeze(~0ull, 0), 0u);
  EXPECT_EQ(squeeze(1ull << 63, 1ull << 63), 1u);
  EXPECT_EQ(squeeze(0b101010, 0b111000), 0b101u);
  SeededRandom random(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = random.next_u64();
    std::uint64_t mask = random.next_u64();
    if (i % 3 == 1) mask &= random.next_u64() & random.next_u64();
    if (i % 3 == 2) mask |= random.next_u64() | random.next_u64();
    ASSERT_EQ(squeeze(value, mask), squeezed_bit_by_bit(value, mask)) << value << " " << mask;
  }
}

TEST(BitSqueeze, WritesBitsOneBehindTheOther) {
  SeededRandom random(8);
  BitWriter writer;
  std::vector<bool> wanted;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = random.next_u64();
    const auto count = static_cast<std::uint32_t>(random.below(65));
    writer.append(bits, count);
    for (std::uint32_t bit = 0; bit < count; ++bit) wanted.push_back((bits >> bit & 1) != 0);
    ASSERT_EQ(writer.size(), wanted.size());
  }
  const std::vector<std::uint64_t> words = writer.take();
  ASSERT_EQ(words.size(), (wanted.size() + 63) / 64);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ((words[i / 64] >> (i % 64) & 1) != 0, wanted[i]) << i;
  }
}

}  // namespace
}  // namespace segue::storage
