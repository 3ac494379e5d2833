#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace segue {

/// "1 queue", "2 queues": for messages. `noun` is one whose plural has an s.
inline std::string counted(std::uint64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace segue
