#include "cli/field_values.h"

#include <charconv>
#include <utility>

#include "client/convert.h"
#include "common/field_json.h"

namespace segue::cli {

namespace {

Status wrong(std::string message) {
  return Status(Code::kInvalidConfig, std::move(message));
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
  v1::FieldValue field;
  client::to_wire(value, &field);
  write_field(json, field);
}

void write_table(JsonWriter& json, const client::Table& table) {
  FieldMap fields;
  client::to_wire(table, &fields);
  write_fields(json, fields);
}

Result<client::Value> value_of(const JsonValue& json) {
  const Result<v1::FieldValue> field = field_of(json);
  if (!field) return field.status();
  return client::from_wire(*field);
}

Result<client::Table> table_of(const JsonValue& json) {
  const Result<FieldMap> fields = fields_of(json);
  if (!fields) return fields.status();
  return client::from_wire(*fields);
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
