#include "common/checksum.h"

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
// The same functions under the same names, with the widest vectors that the processor has.
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include "common/check.h"

namespace segue {

std::uint64_t xxh3_64(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
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
