#include "cli/cluster_cpu.h"

#include "cli/child_process.h"
#include "common/machine.h"

namespace segue::cli {

std::map<std::string, pid_t> cluster_processes(const client::ClusterDescription& cluster) {
  const std::string here = machine_name();
  std::map<std::string, pid_t> processes;
  const auto add = [&](const std::string& id, std::uint32_t pid, const std::string& machine) {
    if (pid != 0 && !here.empty() && machine == here) processes[id] = static_cast<pid_t>(pid);
  };
  for (const client::RouterDescription& router : cluster.routers) {
    add(router.id, router.pid, router.machine);
  }
  for (const client::NodeDescription& node : cluster.nodes) add(node.id, node.pid, node.machine);
  return processes;
}

std::map<std::string, double> cluster_cpu_seconds(const std::map<std::string, pid_t>& processes) {
  std::map<std::string, double> seconds;
  for (const auto& [id, pid] : processes) {
    if (const auto used = process_cpu_seconds(pid)) seconds[id] = *used;
  }
  return seconds;
}

}  // namespace segue::cli
