#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace segue {

/// The candidate that `word` is most likely a misspelling of (letters left out, added, changed or
/// swapped; case and `-` for `_` count for nothing), or nothing if none is near. The first of
/// equals.
std::optional<std::string_view> closest_match(std::string_view word,
                                              std::span<const std::string_view> candidates);

}  // namespace segue
