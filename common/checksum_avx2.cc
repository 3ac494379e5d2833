#include "common/checksum_avx2.h"

// Compiled for AVX2 where there is such a thing. Everything of the library is private to this file,
// and nothing of the standard library's inline functions is used: others run on any processor.
#if defined(__AVX2__)
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace segue {

namespace {

std::uint64_t hash(const void* bytes, std::size_t size, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

}  // namespace

SeededHash xxh3_64_avx2() {
  return &hash;
}

}  // namespace segue
#else
segue::SeededHash segue::xxh3_64_avx2() {
  return nullptr;
}
#endif
