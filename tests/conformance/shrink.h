#pragma once

#include <chrono>
#include <functional>

#include "tests/conformance/program.h"

namespace segue::conformance {

/// Makes a program that fails as short and plain as it can within `time`, so that it still fails.
Program shrink(Program program, const std::function<bool(const Program&)>& fails,
               std::chrono::milliseconds time);

}  // namespace segue::conformance
