#pragma once

#include <sys/types.h>

#include <cstdint>

namespace segue::bench {

/// What the system says of a running process; zeros when there is none.
struct ProcessMemory {
  std::uint64_t resident_kib = 0;
  std::uint64_t peak_kib = 0;  // the most that was ever resident
  std::uint64_t anonymous_kib = 0;
  std::uint64_t descriptors = 0;
};

ProcessMemory memory_of(pid_t pid);

}  // namespace segue::bench
