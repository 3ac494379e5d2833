#include "common/status.h"

namespace segue {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kContentTooLarge:
      return "CONTENT_TOO_LARGE";
    case Code::kNoRoute:
      return "NO_ROUTE";
    case Code::kConnectionForced:
      return "CONNECTION_FORCED";
    case Code::kAccessRefused:
      return "ACCESS_REFUSED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kResourceLocked:
      return "RESOURCE_LOCKED";
    case Code::kPreconditionFailed:
      return "PRECONDITION_FAILED";
    case Code::kFrameError:
      return "FRAME_ERROR";
    case Code::kChannelError:
      return "CHANNEL_ERROR";
    case Code::kResourceError:
      return "RESOURCE_ERROR";
    case Code::kNotAllowed:
      return "NOT_ALLOWED";
    case Code::kNotImplemented:
      return "NOT_IMPLEMENTED";
    case Code::kInternalError:
      return "INTERNAL_ERROR";
    case Code::kShardUnavailable:
      return "SHARD_UNAVAILABLE";
    case Code::kQueueFull:
      return "QUEUE_FULL";
    case Code::kNoCredit:
      return "NO_CREDIT";
    case Code::kStaleEpoch:
      return "STALE_EPOCH";
    case Code::kCatalogUnavailable:
      return "CATALOG_UNAVAILABLE";
    case Code::kTimeout:
      return "TIMEOUT";
    case Code::kShardBlocked:
      return "SHARD_BLOCKED";
    case Code::kIoError:
      return "IO_ERROR";
    case Code::kNoSpace:
      return "NO_SPACE";
    case Code::kCorruption:
      return "CORRUPTION";
    case Code::kInvalidConfig:
      return "INVALID_CONFIG";
  }
  return "UNKNOWN";
}

Code code_from_number(std::uint32_t number) {
  if (number > 0xFFFF) return Code::kInternalError;
  const Code code = static_cast<Code>(number);
  return code_name(code) == "UNKNOWN" ? Code::kInternalError : code;
}

std::string Status::to_string() const {
  if (is_ok()) return "OK";
  return std::string(code_name(code_)) + ": " + message_;
}

}  // namespace segue
