#include "common/machine.h"

#include <sys/stat.h>

#include <fstream>

namespace segue {

std::string machine_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat pids {};
  if (boot.empty() || ::stat("/proc/self/ns/pid", &pids) != 0) return {};
  return boot + "/" + std::to_string(pids.st_ino);
}

}  // namespace segue
