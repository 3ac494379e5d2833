#pragma once

#include <string>
#include <utility>

#include "common/status.h"
#include "segue/v1/types.pb.h"

namespace segue::node {

/// The Status as peers read it; `entity` is the queue's or exchange's name, may be empty.
inline v1::Error wire_error(Code code, std::string entity, std::string text) {
  v1::Error error;
  error.set_code(static_cast<std::uint32_t>(code));
  error.set_name(std::string(code_name(code)));
  error.set_entity(std::move(entity));
  error.set_text(std::move(text));
  return error;
}

}  // namespace segue::node
