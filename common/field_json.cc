#include "common/field_json.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/base64.h"

namespace segue {

namespace {

Status wrong(std::string message) {
  return Status(Code::kInvalidConfig, std::move(message));
}

// {"$bytes": ..} and {"$timestamp_ms": ..}; nothing for another object.
std::optional<Result<v1::FieldValue>> special_of(const JsonValue::Object& object) {
  if (object.size() != 1 || !object[0].first.starts_with('$')) return std::nullopt;
  const auto& [name, value] = object[0];
  v1::FieldValue field;
  if (name == "$bytes") {
    const auto* text = value.text();
    auto bytes = text == nullptr ? std::nullopt : base64_decode(*text);
    if (!bytes) return wrong("\"$bytes\" must be base64");
    field.set_bytes_value(std::move(*bytes));
    return field;
  }
  if (name == "$timestamp_ms") {
    const auto* number = value.whole();
    if (number == nullptr) return wrong("\"$timestamp_ms\" must be a whole number");
    field.set_timestamp_ms(*number);
    return field;
  }
  return wrong("no kind of value \"" + name + "\"; there are: $bytes, $timestamp_ms");
}

Result<v1::FieldValue> array_of(const JsonValue::Array& array) {
  v1::FieldValue field;
  auto* values = field.mutable_array_value()->mutable_values();
  for (const JsonValue& item : array) {
    Result<v1::FieldValue> value = field_of(item);
    if (!value) return value.status();
    *values->Add() = std::move(*value);
  }
  return field;
}

Result<v1::FieldValue> object_of(const JsonValue& json) {
  if (auto special = special_of(*json.object())) return std::move(*special);
  Result<FieldMap> fields = fields_of(json);
  if (!fields) return fields.status();
  v1::FieldValue field;
  field.mutable_table_value()->mutable_fields()->swap(*fields);
  return field;
}

}  // namespace

void write_field(JsonWriter& json, const v1::FieldValue& value) {
  switch (value.kind_case()) {
    case v1::FieldValue::kBoolValue:
      json.value(value.bool_value());
      return;
    case v1::FieldValue::kIntValue:
      json.value(std::int64_t{value.int_value()});
      return;
    case v1::FieldValue::kDoubleValue:
      json.exact(value.double_value());
      return;
    case v1::FieldValue::kStringValue:
      json.value(value.string_value());
      return;
    case v1::FieldValue::kBytesValue:
      json.begin_object().field("$bytes", base64_encode(value.bytes_value())).end_object();
      return;
    case v1::FieldValue::kTimestampMs:
      json.begin_object();
      json.field("$timestamp_ms", std::int64_t{value.timestamp_ms()}).end_object();
      return;
    case v1::FieldValue::kTableValue:
      write_fields(json, value.table_value().fields());
      return;
    case v1::FieldValue::kArrayValue:
      json.begin_array();
      for (const v1::FieldValue& item : value.array_value().values()) write_field(json, item);
      json.end_array();
      return;
    case v1::FieldValue::KIND_NOT_SET:
      break;
  }
  json.null();
}

void write_fields(JsonWriter& json, const FieldMap& fields) {
  std::vector<FieldMap::const_pointer> sorted;
  for (const auto& field : fields) sorted.push_back(&field);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  json.begin_object();
  for (const auto* field : sorted) {
    json.key(field->first);
    write_field(json, field->second);
  }
  json.end_object();
}

Result<v1::FieldValue> field_of(const JsonValue& json) {
  v1::FieldValue field;
  switch (json.kind()) {
    case JsonValue::Kind::kNull:
      break;
    case JsonValue::Kind::kTruth:
      field.set_bool_value(*json.truth());
      break;
    case JsonValue::Kind::kWhole:
      field.set_int_value(*json.whole());
      break;
    case JsonValue::Kind::kReal:
      field.set_double_value(*json.real());
      break;
    case JsonValue::Kind::kText:
      field.set_string_value(*json.text());
      break;
    case JsonValue::Kind::kArray:
      return array_of(*json.array());
    case JsonValue::Kind::kObject:
      return object_of(json);
    case JsonValue::Kind::kHuge:
      return wrong("the whole number " + json.huge_digits()->substr(0, 40) +
                   " does not fit 64 bits with a sign; as a string it keeps all digits, with a "
                   "point or an exponent it is a floating point number");
  }
  return field;
}

Result<FieldMap> fields_of(const JsonValue& json) {
  if (json.object() == nullptr) {
    return wrong("expected an object, got " + std::string(json.kind_name()));
  }
  FieldMap fields;
  for (const auto& [name, item] : *json.object()) {
    Result<v1::FieldValue> value = field_of(item);
    if (!value) return wrong("\"" + name + "\": " + value.status().message());
    fields[name] = std::move(*value);
  }
  return fields;
}

std::string json_of(const FieldMap& fields) {
  JsonWriter json;
  write_fields(json, fields);
  return json.take();
}

std::string json_of(const v1::FieldValue& value) {
  JsonWriter json;
  write_field(json, value);
  return json.take();
}

}  // namespace segue
