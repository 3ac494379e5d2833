#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace segue {

/// Base64 (RFC 4648, with padding).
std::string base64_encode(std::string_view bytes);
/// Nothing when `text` is not base64 with its padding.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace segue
