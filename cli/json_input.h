#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/status.h"

namespace segue::cli {

/// A parsed JSON value.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  /// In the order of the text; of equal keys the last one counts.
  using Object = std::vector<std::pair<std::string, JsonValue>>;
  using Variant =
      std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object>;

  JsonValue() : value_(nullptr) {}
  explicit JsonValue(Variant value) : value_(std::move(value)) {}

  const Variant& variant() const { return value_; }
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&value_);
  }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  /// A number, with or without a fraction; `otherwise` when it is none.
  double number(double otherwise) const;
  /// The member of an object; nullptr when this is none or has no such member.
  const JsonValue* find(std::string_view name) const;
  /// "an object", "a string", ...: for messages.
  std::string_view kind() const;

 private:
  Variant value_;
};

/// Parses one JSON text, at most 64 deep. Never throws; INVALID_CONFIG says what is wrong and where
/// (byte). Whole numbers that do not fit 64 bits with a sign become doubles.
Result<JsonValue> parse_json(std::string_view text);

}  // namespace segue::cli
