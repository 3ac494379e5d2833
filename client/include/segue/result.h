#pragma once

#include <optional>
#include <string>
#include <utility>

#include "segue/error.h"

namespace segue::client {

/// Prints the message and aborts: somebody took the value of a failed Result, or the error of one
/// that succeeded.
[[noreturn]] void result_misused(const Error* error);

/// A value, or the Error that says why there is none. The library throws nothing: every call that
/// can fail returns a Result.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool is_ok() const { return value_.has_value(); }
  explicit operator bool() const { return is_ok(); }

  /// Only when is_ok(); otherwise the process stops with the error on stderr.
  T& value() & {
    require_value();
    return *value_;
  }
  const T& value() const& {
    require_value();
    return *value_;
  }
  T&& value() && {
    require_value();
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Only when not is_ok().
  const Error& error() const {
    if (is_ok()) result_misused(nullptr);
    return error_;
  }

 private:
  void require_value() const {
    if (!is_ok()) result_misused(&error_);
  }

  std::optional<T> value_;
  Error error_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool is_ok() const { return !error_.has_value(); }
  explicit operator bool() const { return is_ok(); }
  /// Only when not is_ok().
  const Error& error() const {
    if (is_ok()) result_misused(nullptr);
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace segue::client
