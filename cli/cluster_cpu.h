#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "segue/cluster.h"

namespace segue::cli {

/// The processes of a cluster that run on this machine, by id: those named segue-router and
/// segue-node whose --id the cluster has. Ids that several processes have are left out, since it
/// is not known which of them is meant.
std::map<std::string, pid_t> cluster_processes(const client::ClusterDescription& cluster);

/// Seconds of processor time of each so far.
std::map<std::string, double> cluster_cpu_seconds(const std::map<std::string, pid_t>& processes);

}  // namespace segue::cli
