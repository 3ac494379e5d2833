#pragma once

#include <string>
#include <string_view>

#include "common/json_input.h"
#include "common/status.h"

namespace segue {

/// YAML that says the same as a JSON text, for documents that people write.

/// Reads maps, lists and scalars. A scalar without quotes is null (also `~` and nothing), true,
/// false or a number if JSON would read it so, else text; one in quotes is text. No anchors,
/// aliases and tags; at most 16 deep. INVALID_CONFIG says what is wrong and where: a line for each
/// problem, as `file:line:column: ...`, or `line:column: ...` without a `file_name`.
Result<JsonValue> parse_yaml(std::string_view text, std::string_view file_name = {});

/// The way back, with two blanks for each level. parse_yaml() reads it as an equal value.
std::string yaml_text(const JsonValue& value);

}  // namespace segue
