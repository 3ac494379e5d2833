#pragma once

#include <cstdint>

namespace segue {

/// Lets this process open as many files and connections as it may: raises its soft limit, which is
/// often 1,024, to the hard one. What it is afterwards. In main(), before any thread.
std::uint64_t raise_descriptor_limit();

}  // namespace segue
