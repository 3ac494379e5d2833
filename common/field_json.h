#pragma once

#include <string>

#include "common/json_input.h"
#include "common/json_output.h"
#include "common/status.h"
#include "segue/v1/types.pb.h"

namespace segue {

using FieldMap = google::protobuf::Map<std::string, v1::FieldValue>;

/// Typed values of the wire as JSON: null, true, 1, 1.5, "text", [..], {..}; bytes are
/// {"$bytes": base64} and moments {"$timestamp_ms": milliseconds}.
void write_field(JsonWriter& json, const v1::FieldValue& value);
/// In order of name: equal tables make equal texts.
void write_fields(JsonWriter& json, const FieldMap& fields);
/// What these write, as a text.
std::string json_of(const FieldMap& fields);
std::string json_of(const v1::FieldValue& value);

/// The way back. INVALID_CONFIG says which member is wrong.
Result<v1::FieldValue> field_of(const JsonValue& json);
Result<FieldMap> fields_of(const JsonValue& json);

}  // namespace segue
