#pragma once

#include <string>
#include <string_view>

#include "cli/options.h"
#include "segue/client.h"

namespace segue::cli {

/// Of --durability, as every command says it.
inline constexpr const char* kDurabilityValue = "sync|MS";

/// The value of a queue's argument x-durability: "sync", or milliseconds between syncs, as the
/// cluster takes them. INVALID_CONFIG says what was expected.
Result<client::Value> parse_durability(std::string_view text);

}  // namespace segue::cli
