#pragma once

#include <string>
#include <string_view>

#include "common/status.h"
#include "segue/v1/types.pb.h"

namespace segue::router {

/// An error as the wire carries it. `entity` is the queue, exchange or field concerned.
v1::Error make_error(Code code, std::string_view entity, std::string text);

v1::Error make_error(const Status& status, std::string_view entity);

/// A name from outside in quotes for a message: at most 80 bytes of it, control characters escaped.
std::string in_quotes(std::string_view name);

}  // namespace segue::router
