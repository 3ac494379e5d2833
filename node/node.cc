#include "node/node.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "common/machine.h"
#include "node/reactor.h"

namespace segue::node {
namespace {

// A frame of a peer has the messages of several publishes; a snapshot of the catalog is larger yet.
constexpr std::int64_t kMostFrameBytes = 256ll << 20;

// A node that was killed with much memory is some time in going.
constexpr std::chrono::seconds kLockPatience{5};

// The log's files that a checkpoint sets free are kept for the next: to fill new ones costs as much
// of the disk as to log into them.
constexpr std::uint64_t kSpareCheckpoints = 2;

QueueHost::Options queue_options(const ClusterConfig& config, const NodeConfig& self,
                                 std::uint64_t life) {
  QueueHost::Options options;
  options.life = life;
  options.memory_limit = self.memory_limit;
  options.free_disk_limit = config.storage.free_disk_limit;
  options.backup_bytes_per_second = config.gc.bytes_per_second;
  if (!config.storage.backup_directory.empty()) {
    options.backup_directory =
        std::filesystem::absolute(config.storage.backup_directory).lexically_normal().string();
  }
  options.checkpoint_wal_bytes = config.storage.checkpoint_wal_bytes;
  options.checkpoint_interval = config.storage.checkpoint_interval;
  options.durability_sync = config.durability.sync;
  options.durability_interval_ms = static_cast<std::uint32_t>(config.durability.interval.count());
  options.peer_delivery_bytes = config.limits.router_delivery_bytes / config.nodes.size();
  options.peer_sessions = config.limits.max_sessions;
  // A file of the log is larger than a frame.
  options.dead_letter_batch_bytes =
      std::min<std::uint64_t>(options.dead_letter_batch_bytes, config.limits.max_frame_bytes / 2);
  return options;
}

ZmqSocket::Options socket_options() {
  ZmqSocket::Options options;
  options.max_frame_bytes = kMostFrameBytes;
  return options;
}

/// The directory of an ipc endpoint is made, so that a fresh machine needs no preparation.
Status make_socket_directory(const std::string& endpoint) {
  constexpr std::string_view kIpc = "ipc://";
  if (!endpoint.starts_with(kIpc) || endpoint.starts_with("ipc://@")) return {};
  const std::filesystem::path parent =
      std::filesystem::path(endpoint.substr(kIpc.size())).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (!error) return {};
  return Status(Code::kIoError, "cannot make the directory " + parent.string() + " for " +
                                    endpoint + ": " + error.message());
}

const NodeConfig& leader_of(const ClusterConfig& config) {
  const NodeConfig* leader = config.find_node(config.catalog_leader);
  return leader != nullptr ? *leader : config.nodes.front();
}

}  // namespace

Node::Node(Environment environment)
    : environment_(std::move(environment)),
      self_(*environment_.config.find_node(environment_.id)),
      incarnation_(environment_.random.next_u64()),
      socket_(environment_.context, ZmqSocket::Kind::kRouter, socket_options()),
      transport_(socket_),
      leader_transport_(environment_.context, poller_, leader_of(environment_.config).endpoint,
                        socket_options()),
      links_(link_options(), transport_, environment_.log),
      queues_(queue_options(environment_.config, self_, incarnation_), links_, environment_.log,
              [this](QueueId queue) {
                if (catalog_ != nullptr) catalog_->request_delete(queue);
              }) {}

Node::~Node() {
  // Threads that may still call back stop before what they call goes.
  if (opened_.disk != nullptr) opened_.disk->stop();
}

Status Node::start(StartFailure& failure) {
  const Status opened = open_disk();
  failure =
      opened.code() == Code::kInvalidConfig ? StartFailure::kDataDirectory : StartFailure::kStorage;
  SEGUE_RETURN_IF_ERROR(opened);
  const Status loaded = load_catalog();
  failure =
      loaded.code() == Code::kInvalidConfig ? StartFailure::kDataDirectory : StartFailure::kStorage;
  SEGUE_RETURN_IF_ERROR(loaded);
  failure = StartFailure::kListen;
  return listen();
}

Status Node::open_disk() {
  const ClusterConfig& config = environment_.config;
  storage::DiskOptions options;
  options.directory = self_.data_dir;
  options.cluster = config.cluster;
  options.node_id = self_.id;
  options.shard_count = config.shards;
  options.lock_patience = kLockPatience;
  options.wal_file_bytes = config.storage.wal_file_bytes;
  options.segment_bytes = config.storage.segment_bytes;
  options.wal_reserve_bytes = config.storage.wal_reserve_bytes;
  options.wal_spare_bytes =
      kSpareCheckpoints * queue_options(config, self_, incarnation_).checkpoint_after_bytes();
  storage::GcOptions gc;
  gc.thresholds.min_messages = config.gc.min_messages;
  gc.thresholds.min_bytes = config.gc.min_bytes;
  gc.thresholds.slack_bytes = config.gc.min_bytes;
  gc.thresholds.valid_percent = config.gc.valid_percent;
  gc.thresholds.merge_percent = config.gc.merge_percent;
  gc.bytes_per_second = config.gc.bytes_per_second;
  options.gc = gc;
  options.scrub.bytes_per_second = config.storage.scrub_bytes_per_second;
  options.sync_interval_ms = static_cast<std::uint32_t>(config.durability.interval.count());
  options.direct_io = config.storage.direct_io;
  options.queue_name = [this](QueueId queue) {
    return catalog_ == nullptr ? std::string() : catalog_->queue_name(queue_of_lane(queue));
  };
  options.wakeup = [this] { wakeup_.signal(); };
  options.logger = &environment_.log;
  options.log_verified = [this](const storage::VerifiedLog& log) { return check_catalog(log); };
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  const TimePoint opened_at = environment_.clock.now();
  TimePoint began = opened_at;
  Result<storage::OpenedDisk> opened = storage::open_disk_data_center(
      environment_.files, std::move(options),
      [&](storage::DiskDataCenter& disk, const std::vector<storage::RecoveredShard>& shards) {
        began = environment_.clock.now();
        return queues_.restore(disk, shards);
      },
      [&](const storage::ReplayedRecord& record) -> Status {
        ++records;
        bytes += record.command.size() + record.bodies.size();
        return queues_.replay(record);
      });
  if (!opened.is_ok()) return opened.status();
  const auto milliseconds = [](Duration duration) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
  };
  environment_.log.info("log_replayed",
                        {{"records", records},
                         {"bytes", bytes},
                         {"verify_milliseconds", milliseconds(began - opened_at)},
                         {"milliseconds", milliseconds(environment_.clock.now() - began)}});
  opened_ = std::move(opened).value();
  queues_.start(opened_.log_ends, environment_.clock.now(), environment_.clock.wall_ms());
  return {};
}

Status Node::check_catalog(const storage::VerifiedLog& log) {
  for (const storage::ReplayedRecord& record : log.elsewhere) {
    v1::CatalogEntry& entry = catalog_start_.logged.emplace_back();
    if (record.shard != kCatalogShard ||
        !entry.ParseFromArray(record.command.data(), static_cast<int>(record.command.size()))) {
      return Status(Code::kCorruption, "entry " + std::to_string(record.index.value) +
                                           " of the catalog's log (shard " +
                                           std::to_string(record.shard.value) + ") cannot be read");
    }
  }
  for (const storage::Committed& end : log.durable_elsewhere) {
    if (end.shard == kCatalogShard) catalog_start_.durable_end = end.up_to;
  }
  const ClusterConfig& config = environment_.config;
  catalog_start_.leads = leader_of(config).id == self_.id;
  catalog_start_.cluster = config.cluster;
  catalog_start_.shard_count = config.shards;
  catalog_start_.highest_queue = queues_.highest_queue();
  const auto stored = storage::CatalogDb::peek(environment_.files, self_.data_dir + "/catalog.db");
  if (!stored.is_ok()) return stored.status();
  return check_catalog_start(*stored, catalog_start_);
}

Status Node::load_catalog() {
  Result<std::unique_ptr<storage::CatalogDb>> db =
      storage::CatalogDb::open(self_.data_dir + "/catalog.db");
  if (!db.is_ok()) return db.status();
  LogIndex log_end;
  for (const storage::Committed& end : opened_.log_ends) {
    if (end.shard == kCatalogShard) log_end = end.up_to;
  }
  catalog_ = std::make_unique<NodeCatalog>(
      catalog_options(),
      NodeCatalog::Parts{*opened_.disk, queues_, links_, leader_transport_, environment_.clock,
                         environment_.random, environment_.log});
  SEGUE_RETURN_IF_ERROR(catalog_->load(std::move(db).value(), catalog_start_.logged, log_end));
  catalog_start_.logged = {};
  dispatch_ = std::make_unique<PeerDispatch>(
      PeerDispatch::Parts{queues_, catalog_->feed(), catalog_->leader(), links_, environment_.clock,
                          environment_.config.catalog_leader});
  links_.set_handler(*dispatch_);
  connect_dead_letters();
  return {};
}

void Node::connect_dead_letters() {
  DeadLetterLinks::Options options;
  for (const NodeConfig& node : environment_.config.nodes) options.nodes[node.id] = node.endpoint;
  options.link = outgoing_link();
  options.link.hello.set_kind(v1::PEER_KIND_DEAD_LETTERS);
  dead_letters_ = std::make_unique<DeadLetterLinks>(
      std::move(options), catalog_->state(), queues_.dead_letter_answers(),
      [this](const std::string& endpoint) -> std::unique_ptr<LinkTransport> {
        return std::make_unique<ZmqLinkTransport>(environment_.context, poller_, endpoint,
                                                  socket_options());
      },
      environment_.random, environment_.log);
  queues_.forward_dead_letters(*dead_letters_);
}

Status Node::listen() {
  SEGUE_RETURN_IF_ERROR(make_socket_directory(self_.listen));
  SEGUE_RETURN_IF_ERROR(socket_.bind(self_.listen));
  poller_.add(socket_);
  poller_.add_fd(wakeup_.fd());
  poller_.add_fd(environment_.signals.fd());
  environment_.log.info("node_ready", {{"node", self_.id},
                                       {"listen", socket_.bound_endpoint()},
                                       {"data_dir", self_.data_dir},
                                       {"catalog_leader", catalog_->leads()}});
  return {};
}

void Node::run() {
  Reactor reactor(
      Reactor::Parts{*opened_.disk, queues_, *catalog_, *dead_letters_, links_, poller_, wakeup_,
                     environment_.signals, environment_.clock, environment_.log},
      environment_.config.timeouts.shutdown);
  reactor.run();
  socket_.set_linger(std::chrono::milliseconds(200));
}

v1::PeerHello Node::hello() const {
  v1::PeerHello hello;
  hello.set_protocol_version(1);
  hello.set_cluster(environment_.config.cluster);
  hello.set_shard_count(environment_.config.shards);
  hello.set_kind(v1::PEER_KIND_NODE);
  hello.set_id(self_.id);
  hello.set_incarnation(incarnation_);
  return hello;
}

NodeCatalog::Options Node::catalog_options() {
  const ClusterConfig& config = environment_.config;
  NodeCatalog::Options options;
  options.node_id = self_.id;
  options.definitions = std::move(environment_.definitions);
  options.durable_end = catalog_start_.durable_end;
  options.leader.cluster = config.cluster;
  options.leader.shard_count = config.shards;
  for (const NodeConfig& node : config.nodes) options.leader.node_ids.push_back(node.id);
  options.link = outgoing_link();
  options.link.node_id = leader_of(config).id;
  options.link.endpoint = leader_of(config).endpoint;
  return options;
}

NodeLink::Options Node::outgoing_link() const {
  const ClusterConfig& config = environment_.config;
  NodeLink::Options options;
  options.hello = hello();
  options.heartbeat = config.timeouts.link_heartbeat;
  options.reconnect_min = config.timeouts.reconnect_min;
  options.reconnect_max = config.timeouts.reconnect_max;
  return options;
}

LinkServer::Options Node::link_options() const {
  const ClusterConfig& config = environment_.config;
  LinkServer::Options options;
  options.cluster = config.cluster;
  options.shard_count = config.shards;
  options.node_id = self_.id;
  options.incarnation = incarnation_;
  options.catalog_leader = leader_of(config).id == self_.id;
  for (const RouterConfig& router : config.routers) options.router_ids.push_back(router.id);
  for (const NodeConfig& node : config.nodes) options.node_ids.push_back(node.id);
  options.heartbeat = config.timeouts.link_heartbeat;
  // What is on its way from one router takes an eighth of the memory at most, but a message fits.
  options.publish_window_bytes =
      std::min(config.limits.node_publish_window_bytes,
               std::max(self_.memory_limit / 8, config.limits.max_message_bytes));
  options.held_bytes = 2 * options.publish_window_bytes;
  options.pid = static_cast<std::uint32_t>(::getpid());
  options.machine = machine_name();
  return options;
}

}  // namespace segue::node
