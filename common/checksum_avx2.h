#pragma once

#include <cstddef>
#include <cstdint>

namespace segue {

/// XXH3_64bits_withSeed() for processors that have AVX2. Null where the compiler makes none.
using SeededHash = std::uint64_t (*)(const void* bytes, std::size_t size, std::uint64_t seed);
SeededHash xxh3_64_avx2();

}  // namespace segue
