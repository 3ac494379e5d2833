#include "storage/failed_sync.h"

#include <unistd.h>

#include <cstdio>

namespace segue::storage {

void stop_after_failed_sync(const Status& status) {
  constexpr int kExitCode = 71;
  std::fprintf(stderr,
               "fatal: %s\nfatal: what is on disk is unknown after a failed sync; stopping\n",
               status.to_string().c_str());
  std::fflush(stderr);
  ::_exit(kExitCode);
}

}  // namespace segue::storage
