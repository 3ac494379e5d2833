#include "router/router_process.h"

#include <algorithm>

namespace segue::router {

namespace {

// Frames of clients that one turn takes in; more of them share a frame to a node, but the first
// waits for the last.
constexpr int kClientFramesPerTurn = 64;
constexpr std::size_t kNodeFramesPerTurn = 64;
constexpr Duration kTick = std::chrono::milliseconds(50);
// What a client's connection takes while it is there, most of it ZeroMQ's (28 KiB, as measured).
constexpr std::uint64_t kSessionBytes = 32u << 10;
// How long goodbyes may take to leave.
constexpr std::chrono::milliseconds kLinger{500};
// A client that has not read so many frames is taken for gone.
constexpr int kClientHighWaterMark = 10'000;
// Answers that a client has not read may take so many of the largest frames; then it is taken for
// gone too.
constexpr std::uint64_t kUnreadFrames = 2;
// Frames of a node are bounded by windows, not by counts.
constexpr int kNodeHighWaterMark = 100'000;

ZmqSocket::Options client_socket(const LimitsConfig& limits) {
  ZmqSocket::Options options;
  options.high_water_mark = kClientHighWaterMark;
  options.max_unread_bytes = kUnreadFrames * limits.max_frame_bytes;
  // Frames somewhat too large are answered with a Close that says so; far larger ones end the
  // connection before they are read.
  options.max_frame_bytes = static_cast<std::int64_t>(2 * limits.max_frame_bytes);
  options.linger = kLinger;
  return options;
}

ZmqSocket::Options node_socket() {
  ZmqSocket::Options options;
  options.high_water_mark = kNodeHighWaterMark;
  return options;
}

NodeLink::Options link_options(const ClusterConfig& config, const NodeConfig& node,
                               const std::string& router_id, std::uint64_t incarnation) {
  NodeLink::Options options;
  options.node_id = node.id;
  options.endpoint = node.endpoint;
  options.hello.set_protocol_version(1);
  options.hello.set_cluster(config.cluster);
  options.hello.set_shard_count(config.shards);
  options.hello.set_kind(v1::PEER_KIND_ROUTER);
  options.hello.set_id(router_id);
  options.hello.set_incarnation(incarnation);
  options.heartbeat = config.timeouts.link_heartbeat;
  options.reconnect_min = config.timeouts.reconnect_min;
  options.reconnect_max = config.timeouts.reconnect_max;
  return options;
}

}  // namespace

RouterProcess::RouterProcess(const ClusterConfig& config, const std::string& router_id, Logger& log)
    : config_(config),
      self_(*config.find_router(router_id)),
      log_(log),
      clients_(context_, ZmqSocket::Kind::kRouter, client_socket(config.limits)),
      router_(config, router_id, *this, clock_, random_, log) {
  for (const NodeConfig& node : config.nodes) {
    nodes_.push_back(std::make_unique<NodeConnection>(
        link_options(config, node, router_id, router_.incarnation()), node_socket(), context_,
        poller_, router_, clock_, random_, log));
    router_.add_node(node.id, node.endpoint, *nodes_.back());
  }
}

RouterProcess::~RouterProcess() = default;

Status RouterProcess::start() {
  SEGUE_RETURN_IF_ERROR(clients_.bind(self_.listen));
  poller_.add(clients_);
  log_.info("router_started", {{"router", self_.id},
                               {"cluster", config_.cluster},
                               {"listen", clients_.bound_endpoint()},
                               {"nodes", config_.nodes.size()}});
  return Status::ok();
}

bool RouterProcess::send(std::string_view peer, std::string header,
                         const std::vector<SharedBytes>& bodies, bool with_bodies,
                         ZmqSocket::Bound bound) {
  return clients_.send(peer, std::move(header), bodies, with_bodies, bound);
}

void RouterProcess::run(ShutdownSignals& signals) {
  poller_.add_fd(signals.fd());
  while (true) {
    if (turn()) continue;
    // Only looked at when there is time, or else at each tick.
    if (const int signal = signals.take(); signal != 0) {
      log_.info("router_stopping", {{"signal", signal}, {"sessions", router_.session_count()}});
      return shut_down(signals);
    }
    sleep();
  }
}

bool RouterProcess::turn() {
  WireMessage message;
  int frames = 0;
  while (frames < kClientFramesPerTurn && clients_.receive(message)) {
    router_.on_client_message(message);
    ++frames;
  }
  bool more = frames > 0;
  const TimePoint now = clock_.now();
  for (const auto& node : nodes_) {
    if (node->link().poll(now, kNodeFramesPerTurn)) more = true;
  }
  if (now >= next_tick_) {
    next_tick_ = now + kTick;
    router_.on_tick();
    memory_.on_tick(now, kSessionBytes * router_.session_count());
    more = false;
  }
  router_.end_turn();
  return more;
}

void RouterProcess::sleep() {
  TimePoint wake = next_tick_;
  for (const auto& node : nodes_) wake = std::min(wake, node->link().next_timer());
  poller_.wait(wake - clock_.now());
}

void RouterProcess::shut_down(ShutdownSignals& signals) {
  router_.begin_drain();
  const TimePoint deadline = clock_.now() + config_.timeouts.shutdown;
  while (!router_.drained() && clock_.now() < deadline && signals.take() == 0) {
    if (!turn()) sleep();
  }
  router_.close_sessions();
  for (const auto& node : nodes_) node->link().close(clock_.now());
  log_.info("router_drained", {{"complete", router_.drained()}});
}

}  // namespace segue::router
