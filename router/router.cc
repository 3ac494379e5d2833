#include "router/router.h"

#include <unistd.h>

#include "common/machine.h"
#include "router/catalog_follower.h"
#include "router/catalog_requests.h"
#include "router/catalog_view.h"
#include "router/client_server.h"
#include "router/cluster_report.h"
#include "router/delivery_path.h"
#include "router/exclusive_queues.h"
#include "router/list_requests.h"
#include "router/node_requests.h"
#include "router/node_table.h"
#include "router/publish_path.h"
#include "router/queue_lookup.h"
#include "router/queue_requests.h"
#include "router/request_path.h"
#include "router/session_table.h"
#include "router/topology_requests.h"
#include "router/vhost_usage.h"

namespace segue::router {

namespace {

// Declares and deletes wait so long for a catalog leader that is away.
constexpr Duration kLeaderWait = std::chrono::seconds(3);

ClientServer::Options client_options(const ClusterConfig& config, const std::string& router_id) {
  ClientServer::Options options;
  options.limits = config.limits;
  options.heartbeat = config.timeouts.heartbeat;
  options.catalog_wait = config.timeouts.request;
  options.cluster = config.cluster;
  options.router_id = router_id;
  return options;
}

ClusterReport::Self self_of(const ClusterConfig& config, const std::string& router_id,
                            TimePoint started) {
  ClusterReport::Self self;
  self.router_id = router_id;
  self.routers = config.routers;
  self.catalog_leader = config.catalog_leader;
  self.link_heartbeat = config.timeouts.link_heartbeat;
  self.started = started;
  self.pid = static_cast<std::uint32_t>(::getpid());
  self.machine = machine_name();
  return self;
}

}  // namespace

/// The parts, in the order in which they need each other.
struct Router::Parts final : CatalogView::Observer {
  Parts(const ClusterConfig& config, const std::string& router_id, ClientOutput& clients,
        const Turn& start, Random& random, Logger& logger)
      : turn(start),
        log(logger),
        incarnation(random.next_u64()),
        sessions(random.next_u64() << 24),
        // Half of what a client waits for: the other half is the answer's.
        catalog(turn, config.timeouts.request / 2),
        follower(nodes, catalog, log),
        node_requests(config.timeouts.request, turn),
        catalog_requests(nodes, kLeaderWait, config.timeouts.request, turn),
        lookup(router_id, incarnation, catalog, nodes),
        usage(catalog, nodes, node_requests, turn),
        publish(config.limits, config.timeouts.shard_unavailable_timeout, catalog, nodes, sessions,
                turn, log),
        delivery(config.limits, config.timeouts.request, catalog, nodes, sessions, node_requests,
                 turn, log),
        topology(catalog, lookup, catalog_requests, node_requests, config.timeouts.request, turn),
        queues(lookup, node_requests, delivery),
        lists(lookup, node_requests, usage, sessions),
        garbage(lookup, nodes, node_requests),
        backups(nodes, node_requests),
        report(self_of(config, router_id, start.now), catalog, nodes, publish.shards(), sessions,
               turn),
        requests(config.limits.max_requests_in_flight, sessions, topology, queues, lists, garbage,
                 backups, report),
        exclusive(lookup, catalog_requests, sessions, turn, log),
        server(client_options(config, router_id), {publish, delivery, requests, exclusive}, catalog,
               sessions, clients, turn, log) {
    catalog.set_observer(this);
    publish.set_usage(usage);
  }

  void on_queue_created(const v1::QueueDefinition& queue) override {
    exclusive.on_queue_created(queue);
  }
  void on_queue_deleted(QueueId queue) override {
    exclusive.on_queue_deleted(queue);
    delivery.on_queue_deleted(queue);
  }
  void on_vhost_deleted() override { server.on_vhost_deleted(); }
  void on_catalog_replaced() override {
    server.on_vhost_deleted();
    exclusive.on_catalog_replaced();
    delivery.on_catalog_replaced();
  }

  Turn turn;
  Logger& log;
  const std::uint64_t incarnation;
  NodeTable nodes;
  SessionTable sessions;
  CatalogView catalog;
  CatalogFollower follower;
  NodeRequests node_requests;
  CatalogRequests catalog_requests;
  QueueLookup lookup;
  VhostUsage usage;
  PublishPath publish;
  DeliveryPath delivery;
  TopologyRequests topology;
  QueueRequestsPath queues;
  ListRequests lists;
  GarbageRequests garbage;
  BackupRequests backups;
  ClusterReport report;
  RequestPath requests;
  ExclusiveQueues exclusive;
  ClientServer server;
};

Router::Router(const ClusterConfig& config, const std::string& router_id, ClientOutput& clients,
               const Clock& clock, Random& random, Logger& log)
    : clock_(clock),
      parts_(std::make_unique<Parts>(config, router_id, clients, Turn{clock.now(), clock.wall_ms()},
                                     random, log)) {}

Router::~Router() = default;

void Router::update_time() {
  parts_->turn.now = clock_.now();
  parts_->turn.wall_ms = clock_.wall_ms();
}

std::uint64_t Router::incarnation() const {
  return parts_->incarnation;
}

void Router::add_node(const std::string& id, const std::string& endpoint, NodeChannel& channel) {
  parts_->nodes.add(id, endpoint, channel).heard = parts_->turn.now;
}

// ---- clients

void Router::on_client_message(WireMessage& message) {
  update_time();
  parts_->server.on_message(message);
}

// ---- nodes

void Router::on_node_up(const std::string& id, const v1::PeerHelloOk& hello) {
  update_time();
  Node* node = parts_->nodes.find(id);
  if (node == nullptr) return;
  node->up = true;
  node->heard = parts_->turn.now;
  node->down_reason.clear();
  node->hello = hello;
  node->state = hello.state();
  parts_->log.info("node_up", {{"node", id},
                               {"incarnation", hello.incarnation()},
                               {"catalog_leader", hello.catalog_leader()}});
  parts_->follower.on_node_up(*node);
  // Publishes that were lost go before anything newer.
  parts_->publish.shards().on_node_up(*node);
  parts_->delivery.on_node_up(*node);
  parts_->node_requests.on_node_up(*node);
  parts_->catalog_requests.on_node_up(*node);
}

void Router::on_node_down(const std::string& id, const std::string& reason) {
  update_time();
  Node* node = parts_->nodes.find(id);
  if (node == nullptr || !node->up) return;
  node->up = false;
  node->down_reason = reason;
  node->outbox.clear();
  parts_->log.warn("node_down", {{"node", id}, {"reason", reason}});
  parts_->node_requests.on_node_down(*node);
  parts_->catalog_requests.on_node_down(*node);
  parts_->follower.on_node_down(*node);
  parts_->publish.shards().on_node_down(*node);
  parts_->delivery.on_node_down(*node);
}

Status Router::on_node_frame(const std::string& id, v1::NodeFrame& frame,
                             const SharedBytes& bodies) {
  update_time();
  Node* node = parts_->nodes.find(id);
  if (node == nullptr || !node->up) return Status::ok();
  node->heard = parts_->turn.now;
  switch (frame.body_case()) {
    case v1::NodeFrame::kConfirms:
      parts_->publish.on_confirms(*node, frame.confirms());
      break;
    case v1::NodeFrame::kDeliveries:
      return parts_->delivery.on_deliveries(*node, *frame.mutable_deliveries(), bodies);
    case v1::NodeFrame::kConsumerEvents:
      parts_->delivery.on_consumer_events(*node, frame.consumer_events());
      break;
    case v1::NodeFrame::kQueueReplies:
      return parts_->node_requests.on_replies(*node, *frame.mutable_queue_replies(), bodies);
    case v1::NodeFrame::kCatalogReplies:
      for (v1::CatalogReply& reply : *frame.mutable_catalog_replies()->mutable_replies()) {
        parts_->catalog_requests.on_reply(reply);
      }
      break;
    case v1::NodeFrame::kCatalogFeed:
      parts_->follower.on_feed(*node, frame.catalog_feed());
      break;
    case v1::NodeFrame::kState:
      node->state = frame.state();
      parts_->publish.shards().on_node_state(*node);
      break;
    default:
      // A kind of a newer version: this one can do without.
      break;
  }
  return Status::ok();
}

// ---- the loop

void Router::on_tick() {
  update_time();
  parts_->catalog.on_tick();
  parts_->catalog_requests.on_tick();
  parts_->node_requests.on_tick();
  parts_->publish.shards().on_tick();
  parts_->delivery.on_tick();
  parts_->exclusive.on_tick();
  parts_->usage.on_tick();
  parts_->server.on_tick();
}

void Router::end_turn() {
  parts_->publish.end_turn();
  parts_->server.end_turn();
  parts_->nodes.flush();
}

void Router::begin_drain() {
  parts_->server.begin_drain();
}

bool Router::drained() const {
  return parts_->publish.shards().in_flight() == 0;
}

void Router::close_sessions() {
  update_time();
  parts_->server.close_all(Code::kConnectionForced, "the router stops; use another, or wait");
  parts_->nodes.flush();
}

std::size_t Router::session_count() const {
  return parts_->sessions.size();
}

std::size_t Router::kept_for_sessions() const {
  return parts_->publish.shards().pending() + parts_->delivery.kept() + parts_->requests.kept() +
         parts_->node_requests.open() + parts_->catalog_requests.open() + parts_->exclusive.kept();
}

}  // namespace segue::router
