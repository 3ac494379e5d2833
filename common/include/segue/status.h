#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "segue/check.h"

namespace segue {

/// What went wrong. The numbers are those of the wire (`Error.code`): AMQP 0-9-1's where it has
/// one, Segue's own from 600.
enum class Code : std::uint16_t {
  kOk = 0,
  kContentTooLarge = 311,
  kNoRoute = 312,
  kConnectionForced = 320,
  kAccessRefused = 403,
  kNotFound = 404,
  kResourceLocked = 405,
  kPreconditionFailed = 406,
  kFrameError = 501,
  kChannelError = 504,
  kResourceError = 506,
  kNotAllowed = 530,
  kNotImplemented = 540,
  kInternalError = 541,
  kShardUnavailable = 600,
  kQueueFull = 601,
  kNoCredit = 602,
  kStaleEpoch = 603,
  kCatalogUnavailable = 604,
  kTimeout = 605,
  kShardBlocked = 606,
  // Inside a process only:
  kIoError = 700,
  kNoSpace = 701,
  kCorruption = 702,
  kInvalidConfig = 703,
};

/// The code's name as the wire and the documentation spell it, e.g. "PRECONDITION_FAILED".
std::string_view code_name(Code code);
/// The code with this wire number; kInternalError for a number this version does not know.
Code code_from_number(std::uint32_t number);

/// Success, or a code with a sentence that names the object, the action and the numbers.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok() { return {}; }

  bool is_ok() const { return code_ == Code::kOk; }
  explicit operator bool() const { return is_ok(); }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  /// "NOT_FOUND: no queue 'a'", or "OK".
  std::string to_string() const;

  bool operator==(const Status&) const = default;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    SEGUE_CHECK(!status_.is_ok());
  }

  bool is_ok() const { return value_.has_value(); }
  explicit operator bool() const { return is_ok(); }
  const Status& status() const { return status_; }

  T& value() & {
    SEGUE_CHECK(is_ok());
    return *value_;
  }
  const T& value() const& {
    SEGUE_CHECK(is_ok());
    return *value_;
  }
  T&& value() && {
    SEGUE_CHECK(is_ok());
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace segue

/// Hands a failed Status on to the caller.
#define SEGUE_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                           \
    if (::segue::Status segue_status = (expression); !segue_status.is_ok()) return segue_status; \
  } while (false)
