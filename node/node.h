#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config.h"
#include "common/logging.h"
#include "common/random.h"
#include "common/zmq_socket.h"
#include "node/catalog_start.h"
#include "node/dead_letter_links.h"
#include "node/link_server.h"
#include "node/node_catalog.h"
#include "node/peer_dispatch.h"
#include "node/queue_host.h"
#include "storage/disk_data_center.h"
#include "storage/file_system.h"

namespace segue::node {

/// Why a node did not start: which of the program's exit codes it is.
enum class StartFailure { kDataDirectory, kStorage, kListen };

/// A node process's parts, put together: opens and recovers the data, loads the catalog, listens,
/// and runs the loop. Made, run and destroyed on one thread, the reactor's.
class Node {
 public:
  struct Environment {
    const ClusterConfig& config;
    std::string id;                                // of the configuration
    std::vector<DefinitionsDocument> definitions;  // made at the start if the node leads
    ZmqContext& context;
    storage::FileSystem& files;
    ShutdownSignals& signals;
    const Clock& clock;
    Random& random;
    Logger& log;
  };

  /// What the environment refers to outlives the node.
  explicit Node(Environment environment);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Opens, recovers, loads, listens. On failure `failure` says what kind it is.
  Status start(StartFailure& failure);
  /// Until a signal.
  void run();

 private:
  Status open_disk();
  /// Before anything is changed.
  Status check_catalog(const storage::VerifiedLog& log);
  Status load_catalog();
  Status listen();
  NodeCatalog::Options catalog_options();
  LinkServer::Options link_options() const;
  NodeLink::Options outgoing_link() const;
  void connect_dead_letters();
  v1::PeerHello hello() const;

  Environment environment_;
  const NodeConfig& self_;
  const std::uint64_t incarnation_;
  Wakeup wakeup_;
  Poller poller_;
  ZmqSocket socket_;
  ZmqServerTransport transport_;
  ZmqLinkTransport leader_transport_;
  LinkServer links_;
  QueueHost queues_;
  storage::OpenedDisk opened_;
  CatalogStart catalog_start_;
  std::unique_ptr<NodeCatalog> catalog_;
  std::unique_ptr<PeerDispatch> dispatch_;
  std::unique_ptr<DeadLetterLinks> dead_letters_;
};

}  // namespace segue::node
