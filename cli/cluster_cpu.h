#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "segue/cluster.h"

namespace segue::cli {

/// The processes of a cluster that run on this machine, by id, as they say themselves: the router
/// that answered and the nodes connected to it. Of other routers nothing is known.
std::map<std::string, pid_t> cluster_processes(const client::ClusterDescription& cluster);

/// Seconds of processor time of each so far.
std::map<std::string, double> cluster_cpu_seconds(const std::map<std::string, pid_t>& processes);

}  // namespace segue::cli
