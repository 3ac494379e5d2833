#pragma once

#include <functional>

#include "tests/conformance/program.h"

namespace segue::conformance {

/// Makes a program that fails as short and plain as it can with `attempts` calls of `fails`, so
/// that it still fails.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int attempts);

}  // namespace segue::conformance
