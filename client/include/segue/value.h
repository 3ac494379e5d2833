#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace segue::client {

class Value;

/// Named values: a message's headers, the arguments of a queue.
using Table = std::map<std::string, Value>;
using Array = std::vector<Value>;
/// A moment, to the millisecond, since 1970-01-01 UTC.
using Timestamp = std::chrono::sys_time<std::chrono::milliseconds>;

/// Bytes that are not text.
struct Bytes {
  std::string data;
  bool operator==(const Bytes&) const = default;
};

/// A typed value. Void by default. Numbers without a fraction are int64 on the wire, so that any
/// integer type may be assigned; text must be UTF-8, use Bytes for anything else.
class Value {
 public:
  using Variant = std::variant<std::monostate, bool, std::int64_t, double, std::string, Bytes,
                               Timestamp, Table, Array>;

  Value() = default;
  // Implicit on purpose: {{"x-retries", 3}, {"origin", "web"}} is a Table.
  // NOLINTBEGIN(google-explicit-constructor)
  template <typename T>
  requires std::is_same_v<T, bool> Value(T value) : value_(value) {}
  template <std::integral T>
  requires(!std::is_same_v<T, bool>) Value(T value) : value_(static_cast<std::int64_t>(value)) {}
  Value(double value) : value_(value) {}
  Value(const char* value) : value_(std::string(value)) {}
  Value(std::string value) : value_(std::move(value)) {}
  Value(Bytes value) : value_(std::move(value)) {}
  Value(Timestamp value) : value_(value) {}
  Value(Table value) : value_(std::move(value)) {}
  Value(Array value) : value_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)

  const Variant& variant() const { return value_; }
  bool is_void() const { return std::holds_alternative<std::monostate>(value_); }
  /// The value if it has this type, else null: value.as<std::string>().
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&value_);
  }

  bool operator==(const Value&) const = default;

 private:
  Variant value_;
};

}  // namespace segue::client
