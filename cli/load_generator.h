#pragma once

#include <functional>
#include <string>

#include "cli/load_options.h"
#include "cli/load_report.h"
#include "segue/result.h"

namespace segue::cli {

/// Told about ten times a second how far a run is; answers whether to stop it.
using LoadWatcher = std::function<bool(const std::string& progress)>;

/// Declares queues of its own, runs producers and consumers against the cluster, and deletes the
/// queues again, whatever happened. An Error when it could not begin; what went wrong later stands
/// in the report.
client::Result<LoadReport> run_load(const LoadOptions& options, const LoadWatcher& watcher);

}  // namespace segue::cli
