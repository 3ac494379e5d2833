#pragma once

#include <cstdio>
#include <cstdlib>

namespace segue {

/// Says which invariant broke and stops the process with SIGABRT. Never returns.
[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "fatal: invariant broken: %s (%s:%d)\n", condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace segue

/// An invariant of our own code, checked in every build: better to stop than to write something
/// wrong. Never for what comes from outside (frames, files, flags).
#define SEGUE_CHECK(condition)                                               \
  do {                                                                       \
    if (!(condition)) ::segue::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
