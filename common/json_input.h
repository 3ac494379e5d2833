#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"

namespace segue {

/// A parsed JSON value.
class JsonValue {
 public:
  enum class Kind { kNull, kTruth, kWhole, kReal, kText, kArray, kObject, kHuge };
  using Array = std::vector<JsonValue>;
  /// In the order of the text; of equal keys the last one counts.
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  JsonValue() = default;
  explicit JsonValue(bool truth) : kind_(Kind::kTruth), truth_(truth) {}
  explicit JsonValue(std::int64_t number) : kind_(Kind::kWhole), whole_(number) {}
  explicit JsonValue(double number) : kind_(Kind::kReal), real_(number) {}
  explicit JsonValue(std::string text) : kind_(Kind::kText), text_(std::move(text)) {}
  explicit JsonValue(Array items) : kind_(Kind::kArray), items_(std::move(items)) {}
  explicit JsonValue(Object members) : kind_(Kind::kObject), members_(std::move(members)) {}

  /// A whole number that does not fit 64 bits with a sign; its digits, and the nearest double.
  static JsonValue huge(std::string digits, double nearest) {
    JsonValue value(std::move(digits));
    value.kind_ = Kind::kHuge;
    value.real_ = nearest;
    return value;
  }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  // Each: the content if the value is of that kind, else nullptr.
  const bool* truth() const { return kind_ == Kind::kTruth ? &truth_ : nullptr; }
  const std::int64_t* whole() const { return kind_ == Kind::kWhole ? &whole_ : nullptr; }
  const double* real() const { return kind_ == Kind::kReal ? &real_ : nullptr; }
  const std::string* huge_digits() const { return kind_ == Kind::kHuge ? &text_ : nullptr; }
  const std::string* text() const { return kind_ == Kind::kText ? &text_ : nullptr; }
  const Array* array() const { return kind_ == Kind::kArray ? &items_ : nullptr; }
  const Object* object() const { return kind_ == Kind::kObject ? &members_ : nullptr; }
  /// A number, with or without a fraction; `otherwise` when it is none.
  double number(double otherwise) const;
  /// The member of an object; nullptr when this is none or has no such member.
  const JsonValue* find(std::string_view name) const;
  /// "an object", "a string", ...: for messages.
  std::string_view kind_name() const;

  /// Of an array or an object that is being built.
  void append(std::string key, JsonValue value);

 private:
  Kind kind_ = Kind::kNull;
  bool truth_ = false;
  std::int64_t whole_ = 0;
  double real_ = 0;
  std::string text_;
  Array items_;
  Object members_;
};

/// Parses one JSON text, at most 64 deep. Never throws; INVALID_CONFIG says what is wrong and where
/// (byte).
Result<JsonValue> parse_json(std::string_view text);

}  // namespace segue
