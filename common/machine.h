#pragma once

#include <string>

namespace segue {

/// Names the space in which process numbers of this process count: this boot of this machine, and
/// within it the container. Two processes with equal names see each other's numbers. Empty when the
/// system does not say.
std::string machine_name();

}  // namespace segue
