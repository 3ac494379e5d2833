#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace segue {

/// Hashes strings and views alike, so that a lookup makes no string.
struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

/// A hash map by string that is searched by view. Its order reaches no output.
template <typename Value>
using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

}  // namespace segue
