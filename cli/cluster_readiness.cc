#include "cli/cluster_readiness.h"

#include <algorithm>
#include <utility>

#include "cli/cluster_report.h"
#include "common/machine.h"

namespace segue::cli {

namespace {

std::optional<client::Connection> connect(const std::string& endpoint) {
  client::ConnectionOptions options;
  options.routers = {endpoint};
  options.client_name = "segue up";
  options.connect_timeout = std::chrono::milliseconds(500);
  auto connection = client::Connection::open(std::move(options));
  if (!connection) return std::nullopt;
  connection->admin().set_timeout(std::chrono::seconds(1));
  return std::move(connection).value();
}

}  // namespace

ClusterReadiness::ClusterReadiness(const ClusterConfig& config) {
  for (const RouterConfig& router : config.routers) {
    routers_.push_back({router.id, router.endpoint});
  }
}

bool ClusterReadiness::is_own(const client::ClusterDescription& cluster,
                              const std::vector<LocalCluster::Member>& members,
                              const std::string& id) {
  const auto self = std::find_if(cluster.routers.begin(), cluster.routers.end(),
                                 [](const auto& router) { return router.self; });
  const auto child = std::find_if(members.begin(), members.end(),
                                  [&](const auto& member) { return member.id == id; });
  return self != cluster.routers.end() && child != members.end() && self->id == id &&
         child->pid > 0 && self->pid == static_cast<std::uint32_t>(child->pid) &&
         self->machine == machine_name();
}

bool ClusterReadiness::check_router(Router& router,
                                    const std::vector<LocalCluster::Member>& members) {
  if (!router.connection) router.connection = connect(router.endpoint);
  if (!router.connection) return false;
  auto cluster = router.connection->admin().cluster_status();
  if (!cluster) return false;
  const bool own = is_own(*cluster, members, router.id);
  if (!own) {
    foreign_ = "at " + router.endpoint + " another router answers, of cluster '" +
               cluster->cluster + "', and not the " + router.id + " that was started";
  }
  const bool ready = own && healthy(*cluster);
  if (&router == &routers_.front()) cluster_ = std::move(*cluster);
  return ready;
}

bool ClusterReadiness::check(const std::vector<LocalCluster::Member>& members) {
  foreign_.clear();
  return std::all_of(routers_.begin(), routers_.end(),
                     [&](Router& router) { return check_router(router, members); });
}

}  // namespace segue::cli
