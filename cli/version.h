#pragma once

#include <string_view>

namespace segue::cli {

/// Of the tool; the cluster's is in `segue status`.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace segue::cli
