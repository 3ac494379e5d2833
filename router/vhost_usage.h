#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "router/catalog_view.h"
#include "router/node_requests.h"
#include "router/node_table.h"
#include "router/turn.h"

namespace segue::router {

/// How many bytes of bodies are in the queues of virtual hosts. Of those that have a limit of them
/// the nodes are asked once a second; a virtual host that has as many as it may takes no publishes
/// until it has fewer. What is published between two looks goes beyond the limit. A node that does
/// not answer counts with what it said last. One thread.
class VhostUsage {
 public:
  VhostUsage(const CatalogView& catalog, NodeTable& nodes, NodeRequests& requests, const Turn& turn)
      : catalog_(catalog), nodes_(nodes), requests_(requests), turn_(turn) {}

  void on_tick();
  /// In the place of the route of a publish, while the virtual host is full; null while it is not.
  std::shared_ptr<const Route> refusal(std::string_view vhost) const {
    if (refusals_.empty()) return nullptr;
    const auto full = refusals_.find(vhost);
    return full == refusals_.end() ? nullptr : full->second;
  }
  /// Asks all nodes; `then` gets the bytes of those that answered.
  void measure(const std::string& vhost, std::function<void(std::uint64_t bytes)> then);

 private:
  using ByNode = std::map<std::string, std::uint64_t, std::less<>>;

  void ask(const std::string& vhost);
  void evaluate(const std::string& vhost);

  const CatalogView& catalog_;
  NodeTable& nodes_;
  NodeRequests& requests_;
  const Turn& turn_;
  TimePoint next_look_{};
  std::map<std::string, ByNode, std::less<>> bytes_;  // of virtual hosts with a limit
  std::map<std::string, std::shared_ptr<const Route>, std::less<>> refusals_;
};

}  // namespace segue::router
