#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace segue::storage {

/// A checkpoint file of which one byte was damaged.
struct MendedCheckpoint {
  std::string bytes;         // of the file as it was
  std::uint64_t offset = 0;  // of the byte
};

/// Finds the one byte that, changed back, makes all checksums of a damaged checkpoint right. With
/// 64 bits each these leave no room for chance. Tries single bits in lists and states of up to 23
/// KiB, any change of a byte up to 4 KiB; takes about a second at most.
std::optional<MendedCheckpoint> mend_checkpoint(std::string file);

}  // namespace segue::storage
