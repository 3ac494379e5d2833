#pragma once

#include <string_view>

namespace segue::router {

/// What HelloOk and the status of the cluster tell of this program.
inline constexpr std::string_view kVersion = SEGUE_VERSION;

}  // namespace segue::router
