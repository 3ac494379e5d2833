#pragma once

#include "common/status.h"

namespace segue::node {

/// What `segue-node` exits with; most numbers are those of sysexits.h. Scripts rely on these;
/// docs/operations.md lists them.
enum ExitCode : int {
  kExitOk = 0,
  kExitProblems = 1,  // a check has found problems; a repair has left some to somebody; a backup
                      // is damaged
  kExitRepaired = 2,  // and nothing is lost
  kExitLoss = 4,      // the node starts, but messages are lost, or may be, or damaged
  kExitUsage = 64,    // wrong arguments
  kExitNoInput = 66,  // what is to be read is not there
  kExitUnavailable = 69,    // cannot listen
  kExitStorage = 71,        // the disk fails, is full, or what is on it is damaged
  kExitDataDirectory = 73,  // in use, none, or another's
  kExitOutput = 74,         // standard output cannot be written
  kExitConfig = 78,
  kExitInterrupted = 130
};

/// For work on the files of nodes that do not run, which failed so.
inline ExitCode exit_code_of_failure(const Status& status) {
  switch (status.code()) {
    case Code::kNotFound:
      return kExitNoInput;
    case Code::kInvalidConfig:
    case Code::kResourceLocked:
      return kExitDataDirectory;
    default:
      return kExitStorage;
  }
}

}  // namespace segue::node
