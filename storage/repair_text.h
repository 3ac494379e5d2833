#pragma once

#include <cstdint>
#include <string>

namespace segue::storage {

/// "1 message", "2 messages".
inline std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace segue::storage
