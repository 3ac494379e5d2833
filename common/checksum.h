#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace segue {

/// XXH3-64 of `bytes` (xxHash specification 0.8, seed 0 unless given). Used for every checksum on
/// disk and for placing queues on shards, so its values are part of the disk format.
std::uint64_t xxh3_64(std::string_view bytes, std::uint64_t seed = 0);

/// The same hash over bytes that come in pieces.
class StreamingChecksum {
 public:
  StreamingChecksum();
  ~StreamingChecksum();
  StreamingChecksum(const StreamingChecksum&) = delete;
  StreamingChecksum& operator=(const StreamingChecksum&) = delete;

  /// Starts over.
  void reset();
  void update(std::string_view bytes);
  /// The hash of all bytes since the last reset(); does not change the state.
  std::uint64_t digest() const;

 private:
  void* state_;
};

}  // namespace segue
