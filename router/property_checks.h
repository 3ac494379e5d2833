#pragma once

#include <optional>

#include "segue/v1/types.pb.h"

namespace segue::router {

/// Why a message with these properties is rejected (406); nothing if they make sense.
std::optional<v1::Error> bad_property(const v1::Properties& properties);

}  // namespace segue::router
