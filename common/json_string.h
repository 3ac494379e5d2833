#pragma once

#include <string>
#include <string_view>

namespace segue {

/// Appends `value` as a JSON string with its quotes. Always valid UTF-8: other bytes become U+FFFD.
void append_json_string(std::string& out, std::string_view value);

}  // namespace segue
