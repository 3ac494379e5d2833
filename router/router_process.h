#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config.h"
#include "common/logging.h"
#include "common/memory_trim.h"
#include "common/random.h"
#include "common/zmq_socket.h"
#include "router/client_output.h"
#include "router/node_connection.h"
#include "router/router.h"

namespace segue::router {

/// A router with its sockets and its loop. Everything happens on the thread that calls run().
class RouterProcess final : private ClientOutput {
 public:
  /// The references outlive it. `router_id` is one of the configuration's.
  RouterProcess(const ClusterConfig& config, const std::string& router_id, Logger& log);
  ~RouterProcess() override;

  /// Binds the endpoint. INVALID_CONFIG says why not.
  Status start();
  /// Serves until a signal comes, then drains and stops within the configured time.
  void run(ShutdownSignals& signals);

 private:
  bool send(std::string_view peer, std::string header, const std::vector<SharedBytes>& bodies,
            bool with_bodies, ZmqSocket::Bound bound) override;
  /// One turn of the loop; false: nothing came.
  bool turn();
  void sleep();
  void shut_down(ShutdownSignals& signals);

  const ClusterConfig& config_;
  const RouterConfig& self_;
  Logger& log_;
  SystemClock clock_;
  SystemRandom random_;
  ZmqContext context_;
  Poller poller_;
  ZmqSocket clients_;
  Router router_;
  std::vector<std::unique_ptr<NodeConnection>> nodes_;
  TimePoint next_tick_{};
  MemoryTrim memory_;
};

}  // namespace segue::router
