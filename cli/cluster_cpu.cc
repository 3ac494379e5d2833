#include "cli/cluster_cpu.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/child_process.h"

namespace segue::cli {

namespace {

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The value of --id in a command line whose words end with NULs.
std::string id_in(const std::string& command_line) {
  const std::string option("\0--id\0", 6);
  const std::size_t at = command_line.find(option);
  if (at == std::string::npos) return {};
  const std::size_t from = at + option.size();
  return command_line.substr(from, command_line.find('\0', from) - from);
}

}  // namespace

std::map<std::string, pid_t> cluster_processes(const client::ClusterDescription& cluster) {
  std::set<std::string> ids;
  for (const client::RouterDescription& router : cluster.routers) ids.insert(router.id);
  for (const client::NodeDescription& node : cluster.nodes) ids.insert(node.id);
  std::map<std::string, pid_t> processes;
  std::set<std::string> ambiguous;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || end != name.data() + name.size()) continue;
    const std::string command = file_text(entry.path() / "comm");
    if (command != "segue-node\n" && command != "segue-router\n") continue;
    const std::string id = id_in(file_text(entry.path() / "cmdline"));
    if (!ids.contains(id)) continue;
    if (!processes.emplace(id, pid).second) ambiguous.insert(id);
  }
  for (const std::string& id : ambiguous) processes.erase(id);
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
