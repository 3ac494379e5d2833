#include "segue/error.h"

#include <cstdio>
#include <cstdlib>

#include "segue/result.h"

namespace segue::client {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kContentTooLarge:
      return "CONTENT_TOO_LARGE";
    case ErrorCode::kNoRoute:
      return "NO_ROUTE";
    case ErrorCode::kConnectionForced:
      return "CONNECTION_FORCED";
    case ErrorCode::kAccessRefused:
      return "ACCESS_REFUSED";
    case ErrorCode::kNotFound:
      return "NOT_FOUND";
    case ErrorCode::kResourceLocked:
      return "RESOURCE_LOCKED";
    case ErrorCode::kPreconditionFailed:
      return "PRECONDITION_FAILED";
    case ErrorCode::kFrameError:
      return "FRAME_ERROR";
    case ErrorCode::kChannelError:
      return "CHANNEL_ERROR";
    case ErrorCode::kResourceError:
      return "RESOURCE_ERROR";
    case ErrorCode::kNotAllowed:
      return "NOT_ALLOWED";
    case ErrorCode::kNotImplemented:
      return "NOT_IMPLEMENTED";
    case ErrorCode::kInternalError:
      return "INTERNAL_ERROR";
    case ErrorCode::kShardUnavailable:
      return "SHARD_UNAVAILABLE";
    case ErrorCode::kQueueFull:
      return "QUEUE_FULL";
    case ErrorCode::kNoCredit:
      return "NO_CREDIT";
    case ErrorCode::kStaleEpoch:
      return "STALE_EPOCH";
    case ErrorCode::kCatalogUnavailable:
      return "CATALOG_UNAVAILABLE";
    case ErrorCode::kTimeout:
      return "TIMEOUT";
    case ErrorCode::kShardBlocked:
      return "SHARD_BLOCKED";
    case ErrorCode::kWindowFull:
      return "WINDOW_FULL";
    case ErrorCode::kClosed:
      return "CLOSED";
    case ErrorCode::kDisconnected:
      return "DISCONNECTED";
    case ErrorCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
  }
  return "UNKNOWN";
}

std::string Error::to_string() const {
  std::string line(name());
  if (name() == "UNKNOWN") line += " " + std::to_string(static_cast<unsigned>(code));
  return line + ": " + text;
}

void result_misused(const Error* error) {
  if (error != nullptr) {
    std::fprintf(stderr, "fatal: the value of a failed segue::client::Result was used: %s\n",
                 error->to_string().c_str());
  } else {
    std::fprintf(stderr, "fatal: the error of a segue::client::Result that succeeded was used\n");
  }
  std::fflush(stderr);
  std::abort();
}

}  // namespace segue::client
