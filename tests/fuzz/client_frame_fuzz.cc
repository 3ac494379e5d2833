// Any frames of a client, some of them behind a proper Hello: never a crash, and nothing is left
// behind when the client has gone. An input is a row of frames, each as: u16 size of frame 1, u16
// size of frame 2 (little-endian), frame 1, frame 2. Frame 1 gets a correct link header at its end,
// which goes before what it says itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/check.h"
#include "common/logging.h"
#include "common/random.h"
#include "router/router.h"

namespace {

using segue::SharedBytes;
namespace v1 = segue::v1;

constexpr std::uint64_t kEpoch = 77;

class StandingClock final : public segue::Clock {
 public:
  segue::TimePoint now() const override { return time; }
  std::int64_t wall_ms() const override { return 1'700'000'000'000; }

  segue::TimePoint time{std::chrono::seconds(1000)};
};

class Clients final : public segue::router::ClientOutput {
 public:
  bool send(std::string_view, std::string header, const std::vector<SharedBytes>&, bool,
            segue::ZmqSocket::Bound) override {
    v1::RouterFrame frame;
    SEGUE_CHECK(frame.ParseFromString(header));
    return true;
  }
};

/// Takes every publish, fails every request.
class Node final : public segue::router::NodeChannel {
 public:
  void send(v1::PeerFrame frame, const std::vector<SharedBytes>& bodies) override {
    std::uint64_t size = 0;
    for (const SharedBytes& piece : bodies) size += piece.size();
    for (const v1::ShardPublish& publish : frame.publishes().publishes()) {
      answers.mutable_confirms()->add_confirms()->set_batch_id(publish.batch_id());
      SEGUE_CHECK(publish.body_bytes() <= size);
      size -= publish.body_bytes();
      v1::MessageBatch batch;
      SEGUE_CHECK(batch.ParseFromString(publish.batch()));
    }
    SEGUE_CHECK(size == 0);
  }
  void answer(segue::router::Router& router) {
    v1::NodeFrame frame;
    frame.Swap(&answers);
    if (frame.has_confirms()) (void)router.on_node_frame("n1", frame, {});
  }

 private:
  v1::NodeFrame answers;
};

void create_cluster(segue::router::Router& router) {
  v1::NodeFrame frame;
  v1::CatalogEntry& entry = *frame.mutable_catalog_feed()->add_entries();
  entry.set_index(1);
  v1::ClusterCreated& cluster = *entry.add_changes()->mutable_cluster_created();
  cluster.set_cluster("fuzz");
  cluster.set_shard_count(2);
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    v1::ShardAssigned& assigned = *entry.add_changes()->mutable_shard_assigned();
    assigned.set_shard(shard);
    assigned.set_node("n1");
    v1::QueueDefinition& queue = *entry.add_changes()->mutable_queue_created();
    queue.set_id(shard + 1);
    queue.set_vhost("/");
    queue.set_name(shard == 0 ? "a" : "b");
    queue.set_shard(shard);
    v1::BindingDefinition& binding = *entry.add_changes()->mutable_binding_created();
    binding.set_number(shard + 1);
    binding.set_vhost("/");
    binding.set_exchange("amq.topic");
    binding.set_queue(queue.name());
    binding.set_routing_key(shard == 0 ? "#" : "x.*");
  }
  (void)router.on_node_frame("n1", frame, {});
}

void send(segue::router::Router& router, std::string header, std::string_view bodies,
          std::uint64_t sequence) {
  v1::ClientFrame link;
  link.mutable_link()->set_epoch(kEpoch);
  link.mutable_link()->set_sequence(sequence);
  header += link.SerializeAsString();
  segue::WireMessage message;
  message.peer = "peer";
  message.header = SharedBytes::from(std::move(header));
  if (!bodies.empty()) message.bodies = SharedBytes::from(std::string(bodies));
  router.on_client_message(message);
  router.end_turn();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(bytes), size);
  segue::ClusterConfig config;
  config.cluster = "fuzz";
  config.shards = 2;
  Clients clients;
  Node node;
  StandingClock clock;
  segue::SeededRandom random(1);
  segue::Logger log(segue::null_log_sink(), clock, {segue::LogLevel::kOff, 0});
  segue::router::Router router(config, "r1", clients, clock, random, log);
  router.add_node("n1", "", node);
  v1::PeerHelloOk hello;
  hello.set_catalog_leader(true);
  hello.set_publish_window_bytes(1 << 20);
  router.on_node_up("n1", hello);
  create_cluster(router);

  v1::ClientFrame client_hello;
  client_hello.mutable_hello()->set_protocol_version(1);
  client_hello.mutable_hello()->set_producer_id("p");
  std::uint64_t sequence = 1;
  send(router, client_hello.SerializeAsString(), {}, sequence);
  while (rest.size() >= 4) {
    const std::size_t header_size = segue::load_le<std::uint16_t>(rest.data());
    const std::size_t bodies_size = segue::load_le<std::uint16_t>(rest.data() + 2);
    rest.remove_prefix(4);
    const std::string_view header = rest.substr(0, header_size);
    rest.remove_prefix(header.size());
    const std::string_view bodies = rest.substr(0, bodies_size);
    rest.remove_prefix(bodies.size());
    send(router, std::string(header), bodies, ++sequence);
    node.answer(router);
    clock.time += std::chrono::milliseconds(100);
    router.on_tick();
    router.end_turn();
  }
  router.close_sessions();
  node.answer(router);
  router.on_node_down("n1", "the end");
  clock.time += std::chrono::minutes(1);
  router.on_tick();
  router.end_turn();
  SEGUE_CHECK(router.session_count() == 0);
  SEGUE_CHECK(router.kept_for_sessions() == 0);
  return 0;
}
