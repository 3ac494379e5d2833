#include "cli/field_values.h"

#include <charconv>

#include "cli/base64.h"

namespace segue::cli {

namespace {

Status wrong(std::string message) {
  return Status(Code::kInvalidConfig, std::move(message));
}

struct ValueWriter {
  JsonWriter& json;

  void operator()(std::monostate) const { json.null(); }
  void operator()(bool truth) const { json.value(truth); }
  void operator()(std::int64_t number) const { json.value(number); }
  void operator()(double number) const { json.exact(number); }
  void operator()(const std::string& text) const { json.value(text); }
  void operator()(const client::Bytes& bytes) const {
    json.begin_object().field("$bytes", base64_encode(bytes.data)).end_object();
  }
  void operator()(const client::Timestamp& time) const {
    json.begin_object();
    json.field("$timestamp_ms", std::int64_t{time.time_since_epoch().count()}).end_object();
  }
  void operator()(const client::Table& table) const { write_table(json, table); }
  void operator()(const client::Array& array) const {
    json.begin_array();
    for (const client::Value& value : array) write_value(json, value);
    json.end_array();
  }
};

// {"$bytes": ..} and {"$timestamp_ms": ..}; nothing for another object.
std::optional<Result<client::Value>> special_of(const JsonValue::Object& object) {
  if (object.size() != 1 || !object[0].first.starts_with('$')) return std::nullopt;
  const auto& [name, value] = object[0];
  if (name == "$bytes") {
    const auto* text = value.text();
    auto bytes = text == nullptr ? std::nullopt : base64_decode(*text);
    if (!bytes) return wrong("\"$bytes\" must be base64");
    return client::Value(client::Bytes{std::move(*bytes)});
  }
  if (name == "$timestamp_ms") {
    const auto* number = value.whole();
    if (number == nullptr) return wrong("\"$timestamp_ms\" must be a whole number");
    return client::Value(client::Timestamp(std::chrono::milliseconds(*number)));
  }
  return wrong("no kind of value \"" + name + "\"; there are: $bytes, $timestamp_ms");
}

Result<client::Value> array_of(const JsonValue::Array& array) {
  client::Array values;
  for (const JsonValue& item : array) {
    Result<client::Value> value = value_of(item);
    if (!value) return value.status();
    values.push_back(std::move(*value));
  }
  return client::Value(std::move(values));
}

Result<client::Value> object_of(const JsonValue& json) {
  if (auto special = special_of(*json.object())) return std::move(*special);
  Result<client::Table> table = table_of(json);
  if (!table) return table.status();
  return client::Value(std::move(*table));
}

client::Value typed(std::string_view text) {
  if (text == "true") return client::Value(true);
  if (text == "false") return client::Value(false);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return client::Value(std::string(text.substr(1, text.size() - 2)));
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return client::Value(number);
  return client::Value(std::string(text));
}

}  // namespace

void write_value(JsonWriter& json, const client::Value& value) {
  std::visit(ValueWriter{json}, value.variant());
}

void write_table(JsonWriter& json, const client::Table& table) {
  json.begin_object();
  for (const auto& [name, value] : table) {
    json.key(name);
    write_value(json, value);
  }
  json.end_object();
}

Result<client::Value> value_of(const JsonValue& json) {
  switch (json.kind()) {
    case JsonValue::Kind::kNull:
      break;
    case JsonValue::Kind::kTruth:
      return client::Value(*json.truth());
    case JsonValue::Kind::kWhole:
      return client::Value(*json.whole());
    case JsonValue::Kind::kReal:
      return client::Value(*json.real());
    case JsonValue::Kind::kText:
      return client::Value(*json.text());
    case JsonValue::Kind::kArray:
      return array_of(*json.array());
    case JsonValue::Kind::kObject:
      return object_of(json);
    case JsonValue::Kind::kHuge:
      return wrong("the whole number " + json.huge_digits()->substr(0, 40) +
                   " does not fit 64 bits with a sign; as a string it keeps all digits, with a "
                   "point or an exponent it is a floating point number");
  }
  return client::Value();
}

Result<client::Table> table_of(const JsonValue& json) {
  if (json.object() == nullptr) {
    return wrong("expected an object, got " + std::string(json.kind_name()));
  }
  client::Table table;
  for (const auto& [name, item] : *json.object()) {
    Result<client::Value> value = value_of(item);
    if (!value) return wrong("\"" + name + "\": " + value.status().message());
    table[name] = std::move(*value);
  }
  return table;
}

Status add_assignment(client::Table& table, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || text.empty()) {
    return wrong("expected name=value, got '" + std::string(text.substr(0, 80)) + "'");
  }
  const std::string name(text.substr(0, equals));
  if (table.contains(name)) return wrong("'" + name.substr(0, 80) + "' is given twice");
  if (equals == std::string_view::npos) {
    table[name] = client::Value();
    return Status::ok();
  }
  table[name] = typed(text.substr(equals + 1));
  return Status::ok();
}

}  // namespace segue::cli
