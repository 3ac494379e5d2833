#include "bench/matrix/process_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace segue::bench {

ProcessMemory memory_of(pid_t pid) {
  ProcessMemory memory;
  const std::string directory = "/proc/" + std::to_string(pid);
  std::ifstream status(directory + "/status");
  std::string word;
  while (status >> word) {
    if (word == "VmRSS:") status >> memory.resident_kib;
    if (word == "VmHWM:") status >> memory.peak_kib;
    if (word == "RssAnon:") status >> memory.anonymous_kib;
  }
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory + "/fd", error), end; !error && at != end;
       at.increment(error)) {
    ++memory.descriptors;
  }
  return memory;
}

}  // namespace segue::bench
