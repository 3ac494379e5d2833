#include "common/checksum.h"

#include <xxhash.h>

#include "common/check.h"
#include "common/checksum_avx2.h"

namespace segue {

namespace {

// Wider vectors than AVX2's would be faster here, and make everything else slower.
SeededHash fastest_hash() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && xxh3_64_avx2() != nullptr) return xxh3_64_avx2();
#endif
  return &XXH3_64bits_withSeed;
}

}  // namespace

std::uint64_t xxh3_64(std::string_view bytes, std::uint64_t seed) {
  static const SeededHash hash = fastest_hash();
  return hash(bytes.data(), bytes.size(), seed);
}

StreamingChecksum::StreamingChecksum() : state_(XXH3_createState()) {
  SEGUE_CHECK(state_ != nullptr);
  reset();
}

StreamingChecksum::~StreamingChecksum() {
  XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

void StreamingChecksum::reset() {
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_));
}

void StreamingChecksum::update(std::string_view bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

std::uint64_t StreamingChecksum::digest() const {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_));
}

}  // namespace segue
