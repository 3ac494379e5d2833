#include <optional>

#include "cli/cluster_report.h"
#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/session.h"

namespace segue::cli {

namespace {

constexpr const char* kDescription =
    "Shows the cluster as the router that answers knows it. Exit code 0 when every node is\n"
    "connected and every shard is available, 1 when something is down, 69 when no router answers:\n"
    "fit for a health check. Counts are as old as the last word of their node; how long ago that\n"
    "was is said when it is more than a heartbeat (timeouts.link_heartbeat): counts may be as old\n"
    "as that. `segue queue list` asks the nodes. A node that is killed is DOWN at once, one whose\n"
    "machine or network is lost after two heartbeats.\n"
    "\n"
    "With --member it tells of one router or node only, and exit code 0 means that this one is "
    "up,\n"
    "whatever the others are: the node is connected to the router that answers (it may take no\n"
    "publishes for lack of memory or disk: that is said), or the router is the one that answers.\n"
    "That is the health check of one container.\n"
    "\n"
    "Examples:\n"
    "  segue status\n"
    "  segue status --shards\n"
    "  segue status --member n1\n"
    "  segue status --json | jq '.nodes[] | select(.connected | not) | .id'\n";

class StatusCommand final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.flag(json_, {"json", 0, "", "print JSON of the whole cluster, shards included"});
    options.text(member_, {"member", 'm', "ID", "tell only whether this router or node is up"});
    options.flag(shards_, {"shards", 0, "", "list the shards too"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto cluster = connection.admin().cluster_status();
    if (!cluster) return report(console, "ask for the cluster's status", cluster.error());
    if (member_) return tell_member(console, *cluster);
    console.write(json_ ? cluster_json(*cluster) : cluster_text(*cluster, shards_));
    return healthy(*cluster) ? kExitOk : kExitRefused;
  }

 private:
  int tell_member(Console& console, const client::ClusterDescription& cluster) const {
    const MemberHealth health = member_health(cluster, *member_);
    if (!health.known) {
      console.note("segue: " + health.text);
      return kExitUsage;
    }
    console.write(json_ ? cluster_json(cluster) : health.text + "\n");
    return health.up ? kExitOk : kExitRefused;
  }

  std::optional<std::string> member_;
  bool json_ = false;
  bool shards_ = false;
};

}  // namespace

CommandEntry status_command() {
  return {"status", "show the cluster: routers, nodes, shards", kDescription,
          [] { return std::make_unique<StatusCommand>(); }};
}

}  // namespace segue::cli
