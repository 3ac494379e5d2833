#pragma once

#include <cstddef>
#include <string_view>

namespace segue {

/// The header of a message that names it for a queue's deduplication window, and how long it may
/// be.
inline constexpr std::string_view kDeduplicationHeader = "x-deduplication-id";
inline constexpr std::size_t kMaxDeduplicationId = 255;

// What serialized MessageHeaders say, found without parsing the rest; views into them, empty if
// they do not say it, or are no headers.

/// Properties.group_id.
std::string_view find_group_id(std::string_view header);

/// The text or the bytes of the header kDeduplicationHeader.
std::string_view find_deduplication_id(std::string_view header);

}  // namespace segue
