// Any frames of a peer at a node's queues: answered or refused, never a crash, and the node goes
// on. An input is a row of items, each as: u8 kind, u16 size (little-endian), a serialized message
// of that kind, u16 size, bodies.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/check.h"
#include "node/queue_host.h"
#include "tests/fakes/fake_disk_data_center.h"
#include "tests/fakes/manual_clock.h"

namespace {

using namespace segue;
using node::PeerId;

constexpr std::uint64_t kMostItems = 64;

class Output final : public node::PeerOutput {
 public:
  void confirm(PeerId, v1::ShardConfirm) override {}
  void deliver(PeerId, v1::NodeDelivery delivery, std::vector<SharedBytes> bodies) override {
    check(delivery, bodies);
  }
  void consumer_event(PeerId, v1::ConsumerEvent) override {}
  void queue_reply(PeerId, v1::QueueReply reply, std::vector<SharedBytes> bodies) override {
    if (reply.has_delivery()) check(reply.delivery(), bodies);
  }
  void catalog_reply(PeerId, v1::CatalogReply) override {}
  void catalog_feed(PeerId, v1::CatalogFeed) override {}

 private:
  // What goes out is whole, whatever came in.
  static void check(const v1::NodeDelivery& delivery, const std::vector<SharedBytes>& bodies) {
    std::uint64_t size = 0;
    for (const SharedBytes& body : bodies) size += body.size();
    SEGUE_CHECK(size == delivery.body_bytes());
    // Read by its fields' numbers: headers are handed through, and these peers do not check them.
    v1::RawMessageBatch outer;
    SEGUE_CHECK(outer.ParseFromString(delivery.batch()) && outer.headers_size() == 1);
    v1::RawMessageBatch batch;
    SEGUE_CHECK(batch.ParseFromString(outer.headers(0)));
    SEGUE_CHECK(batch.sizes_size() == static_cast<int>(delivery.count()));
  }
};

std::string_view take(std::string_view& rest) {
  if (rest.size() < 2) {
    rest = {};
    return {};
  }
  const std::size_t size =
      std::min<std::size_t>(load_le<std::uint16_t>(rest.data()), rest.size() - 2);
  const std::string_view piece = rest.substr(2, size);
  rest.remove_prefix(2 + size);
  return piece;
}

template <typename Message>
bool parse(Message& message, std::string_view bytes) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void give(node::QueueHost& host, std::uint8_t kind, std::string_view message,
          std::string_view bodies) {
  const PeerId peer{1u + kind / 128};
  switch (kind % 5) {
    case 0: {
      v1::ShardPublish publish;
      if (parse(publish, message))
        host.on_publish(peer, publish, SharedBytes::from(std::string(bodies)));
      break;
    }
    case 1: {
      v1::ConsumerCommand command;
      if (parse(command, message)) host.on_consumer_command(peer, command);
      break;
    }
    case 2: {
      v1::PeerSettle settle;
      if (parse(settle, message)) host.on_settle(peer, settle);
      break;
    }
    case 3: {
      v1::QueueRequest request;
      if (parse(request, message)) host.on_queue_request(peer, request);
      break;
    }
    default:
      host.on_peer_lost(peer);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(bytes), size);
  ManualClock clock;
  Output output;
  storage::FakeDiskDataCenter disk;
  Logger log(null_log_sink(), clock, {LogLevel::kOff, 0});
  node::QueueHost host({}, output, log, [](QueueId) {});
  std::vector<storage::Committed> ends;
  const Status status = disk.restart(
      [&](storage::DiskDataCenter& center, const std::vector<storage::RecoveredShard>& shards) {
        return host.restore(center, shards);
      },
      [&](const storage::ReplayedRecord& record) { return host.replay(record); }, &ends);
  SEGUE_CHECK(status.is_ok());
  host.start(ends, clock.now(), clock.wall_ms());
  for (std::uint64_t id = 1; id <= 2; ++id) {
    v1::QueueDefinition definition;
    definition.set_id(id);
    definition.set_name("q");
    definition.set_shard(3);
    definition.set_durable(id == 1);
    host.add_queue(definition);
  }
  host.end_of_catalog_load();
  for (std::uint64_t items = 0; !rest.empty() && items < kMostItems; ++items) {
    const auto kind = static_cast<std::uint8_t>(rest[0]);
    rest.remove_prefix(1);
    const std::string_view message = take(rest);
    give(host, kind, message, take(rest));
    host.end_turn(clock.now(), clock.wall_ms());
    disk.flush();
    for (const storage::Committed& committed : disk.poll())
      host.on_committed(committed.shard, committed.up_to);
    if (kind % 7 == 0) {
      clock.advance(std::chrono::seconds(1));
      host.on_tick(clock.now(), clock.wall_ms());
    }
  }
  return 0;
}
