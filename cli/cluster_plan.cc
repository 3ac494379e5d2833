#include "cli/cluster_plan.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "common/json_output.h"

namespace segue::cli {

namespace {

constexpr std::uint16_t kDefaultPort = 5680;
// sun_path has 108 bytes with its NUL.
constexpr std::size_t kLongestSocketPath = 100;

// Binds the port (0: any) on the loopback interface for a moment: the port, or 0 when it is taken.
std::uint16_t try_port(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  std::uint16_t bound = 0;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd, 1) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    bound = ntohs(address.sin_port);
  }
  ::close(fd);
  return bound;
}

std::string tcp_endpoint(std::uint16_t port) {
  return "tcp://127.0.0.1:" + std::to_string(port);
}

// In YAML a JSON string is a string; a `$` would be taken for a variable.
std::string yaml_quoted(const std::string& text) {
  std::string doubled;
  for (const char c : text) {
    doubled += c;
    if (c == '$') doubled += c;
  }
  return json_quoted(doubled);
}

}  // namespace

std::string free_router_endpoint() {
  const std::uint16_t port = try_port(kDefaultPort);
  return tcp_endpoint(port != 0 ? port : try_port(0));
}

Result<std::string> cluster_yaml(const ClusterPlan& plan) {
  std::string out =
      "# Written by `segue up`, anew each time it runs without --config.\n"
      "# All keys: deploy/cluster.example.yaml\n"
      "cluster: local\n";
  if (plan.durability == "sync")
    out += "durability: sync\n";
  else
    out += "durability:\n  interval_ms: " + plan.durability + "\n";
  out += "routers:\n  - id: r1\n    endpoint: " + yaml_quoted(plan.router_endpoint) + "\nnodes:\n";
  for (std::uint32_t i = 1; i <= plan.nodes; ++i) {
    const std::string id = "n" + std::to_string(i);
    std::string endpoint;
    const std::string socket = plan.data_dir + "/" + id + ".sock";
    if (socket.size() <= kLongestSocketPath) {
      endpoint = "ipc://" + socket;
    } else {
      const std::uint16_t port = try_port(0);
      if (port == 0) return Status(Code::kIoError, "no free port on 127.0.0.1 for node " + id);
      endpoint = tcp_endpoint(port);
    }
    out += "  - id: " + id + "\n    endpoint: " + yaml_quoted(endpoint) + "\n";
  }
  out += "storage:\n  data_dir: " + yaml_quoted(plan.data_dir) + "\n";
  return out;
}

std::uint32_t nodes_with_data(const std::string& data_dir) {
  std::uint32_t count = 0;
  struct stat status {};
  while (::stat((data_dir + "/n" + std::to_string(count + 1)).c_str(), &status) == 0) ++count;
  return count;
}

std::vector<std::string> nodes_without_shards(const client::ClusterDescription& cluster) {
  std::set<std::string> busy;
  for (const client::ShardDescription& shard : cluster.shards) busy.insert(shard.node);
  std::vector<std::string> idle;
  for (const client::NodeDescription& node : cluster.nodes) {
    if (!busy.contains(node.id)) idle.push_back(node.id);
  }
  return idle;
}

}  // namespace segue::cli
