#pragma once

namespace segue::cli {

/// What `segue` exits with. Scripts rely on these; docs/operations.md lists them.
enum ExitCode : int {
  kExitOk = 0,
  kExitRefused = 1,       // the cluster refused the operation, or it failed
  kExitNothing = 3,       // nothing was there: `get` on an empty queue, `consume` ended too early
  kExitUsage = 64,        // wrong arguments or configuration
  kExitUnavailable = 69,  // no router answers
  kExitInternal = 70,
  kExitDataDirectory = 73,  // another `segue up` runs on it
  kExitInputOutput = 74,    // a file cannot be read or written
  kExitTimeout = 75,        // no answer in time; whether it was done is not known
  kExitInterrupted = 130,   // by Ctrl-C or SIGTERM, before the work was done
  kExitOutputClosed = 141   // whoever read the output went away
};

}  // namespace segue::cli
