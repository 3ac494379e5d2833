#pragma once

#include <string>
#include <utility>

#include "common/status.h"
#include "segue/v1/types.pb.h"

namespace segue::node {

/// A failed Status as peers get it. What is a matter of this process alone (I/O, no space) becomes
/// a code that the wire has.
inline v1::Error status_error(const Status& status, std::string entity = {}) {
  Code code = status.code();
  if (code == Code::kNoSpace) code = Code::kResourceError;
  if (code >= Code::kIoError) code = Code::kInternalError;
  v1::Error error;
  error.set_code(static_cast<std::uint32_t>(code));
  error.set_name(std::string(code_name(code)));
  error.set_entity(std::move(entity));
  error.set_text(status.message());
  return error;
}

/// The same from its parts; `code` is one that the wire has.
inline v1::Error status_error(Code code, std::string entity, std::string text) {
  return status_error(Status(code, std::move(text)), std::move(entity));
}

}  // namespace segue::node
