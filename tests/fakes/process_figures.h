#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/sanitized.h"

namespace segue {

/// What the system says of a running process. Under a sanitizer its memory is mostly the
/// sanitizer's and says nothing: it is given as 0.
struct ProcessFigures {
  std::uint64_t resident_kib = 0;
  std::uint64_t peak_kib = 0;
  std::uint64_t descriptors = 0;

  static ProcessFigures of(pid_t pid) {
    ProcessFigures figures;
    const std::string directory = "/proc/" + std::to_string(pid);
    std::ifstream status(directory + "/status");
    std::string word;
    while (!kSanitized && status >> word) {
      if (word == "VmRSS:") status >> figures.resident_kib;
      if (word == "VmHWM:") status >> figures.peak_kib;
    }
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory + "/fd", error), end; !error && at != end;
         at.increment(error)) {
      ++figures.descriptors;
    }
    return figures;
  }
};

}  // namespace segue
