#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace segue::client {

/// What went wrong. Below 800 the numbers are those of the wire: AMQP 0-9-1's where it has one,
/// Segue's own from 600. From 800 on the client itself says it.
enum class ErrorCode : std::uint16_t {
  kContentTooLarge = 311,     // the message or request is larger than the router takes
  kNoRoute = 312,             // no queue took a mandatory message
  kConnectionForced = 320,    // the other end ended the session
  kAccessRefused = 403,       // not allowed for this name or user
  kNotFound = 404,            // no such queue or exchange
  kResourceLocked = 405,      // an exclusive queue of another session
  kPreconditionFailed = 406,  // it exists with other attributes, or a tag is not open
  kFrameError = 501,          // a broken frame
  kChannelError = 504,
  kResourceError = 506,
  kNotAllowed = 530,
  kNotImplemented = 540,
  kInternalError = 541,
  kShardUnavailable = 600,  // the queue's node did not come back within the router's deadline
  kQueueFull = 601,         // the queue is at its limit and rejects
  kNoCredit = 602,
  kStaleEpoch = 603,
  kCatalogUnavailable = 604,  // nothing can be declared or deleted at the moment
  kTimeout = 605,             // no answer in time; whether it was done is not known
  kShardBlocked = 606,        // the queue's node is short of memory or disk

  kWindowFull = 800,       // as many messages are unconfirmed as the options allow
  kClosed = 801,           // the connection, consumer or publisher was closed
  kDisconnected = 802,     // no router answers, or the session broke; may be tried again
  kInvalidArgument = 803,  // refused before anything was sent
};

/// The code's name, e.g. "NOT_FOUND"; "UNKNOWN" for a number this version does not know.
std::string_view error_code_name(ErrorCode code);

/// Why an operation failed.
struct Error {
  ErrorCode code = ErrorCode::kInternalError;
  /// The queue, exchange, endpoint or field concerned; may be empty.
  std::string entity;
  /// A sentence that a person can act on.
  std::string text;

  std::string_view name() const { return error_code_name(code); }
  /// For a log line: "NOT_FOUND: no queue 'a'".
  std::string to_string() const;

  bool operator==(const Error&) const = default;
};

}  // namespace segue::client
