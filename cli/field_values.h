#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/json_input.h"
#include "common/json_output.h"
#include "common/status.h"
#include "segue/value.h"

namespace segue::cli {

/// The client's typed values as JSON (common/field_json.h).
void write_value(JsonWriter& json, const client::Value& value);
void write_table(JsonWriter& json, const client::Table& table);

/// The way back. Errors say which member is wrong.
Result<client::Value> value_of(const JsonValue& json);
Result<client::Table> table_of(const JsonValue& json);

/// `name=value` as options give it: a whole number, true or false become that, everything else is
/// text; `name="12"` keeps a number text.
Status add_assignment(client::Table& table, std::string_view text);

}  // namespace segue::cli
