#include "node/queue_host.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/auto_delete.h"
#include "node/checkpointer.h"
#include "node/dead_letter_forwarder.h"
#include "node/dedupe_memory.h"
#include "node/delay_keeper.h"
#include "node/delivery.h"
#include "node/expiry_sweep.h"
#include "node/length_keeper.h"
#include "node/queue_arguments.h"
#include "node/queue_browse.h"
#include "node/queue_gets.h"
#include "node/queue_requests.h"
#include "node/queue_storer.h"
#include "node/read_ahead.h"
#include "node/settle_intake.h"
#include "node/shard_table.h"
#include "node/spiller.h"
#include "node/status_error.h"
#include "node/subscriptions.h"

namespace segue::node {

namespace {

/// Publishes wait when the log is so many times ahead of what begins a checkpoint.
constexpr std::uint64_t kWalAhead = 3;

/// What needs the disk, and therefore comes when it is open.
struct WithDisk {
  WithDisk(const QueueHost::Options& options, storage::DiskDataCenter& disk_center,
           PeerOutput& output, Logger& log, MemoryBudget& memory, PublishGate& gate,
           QueueTable& queues, const TurnClock& clock, storage::MissingMessages& missing,
           AutoDelete& auto_delete, UnusedQueues& unused)
      : disk(disk_center),
        context{disk, queues, output, log, memory, gate, clock, missing, in_turn},
        read_ahead(disk, queues, shards, memory, log),
        storer(disk, queues, memory, gate, clock, log),
        spiller(queues, memory, storer, read_ahead, clock),
        checkpointer({options.checkpoint_after_bytes(), options.checkpoint_interval}, disk, queues,
                     shards, storer, gate, clock, log),
        subscriptions({options.peer_delivery_bytes, options.peer_sessions}, queues, shards, output,
                      auto_delete, unused, clock, log),
        settles(queues, shards, subscriptions, output),
        gets(shards, subscriptions, read_ahead, unused, output),
        browse(disk, queues, output, clock),
        requests({"", options.free_disk_limit, options.backup_bytes_per_second,
                  options.backup_directory},
                 disk, queues, shards, gets, browse, unused, output),
        delivery(queues, shards, subscriptions, output, read_ahead, gets),
        dead_letters({options.life, options.dead_letter_batch_bytes}, disk, queues, shards, memory,
                     clock, log),
        expiry(disk, queues, shards, clock),
        delays({options.dead_letter_batch_bytes}, disk, queues, shards, memory, gate, clock, log),
        length(disk, queues, shards) {}

  storage::DiskDataCenter& disk;
  std::vector<Shard*> in_turn;
  ShardContext context;
  ShardTable shards;
  ReadAhead read_ahead;
  QueueStorer storer;
  Spiller spiller;
  Checkpointer checkpointer;
  Subscriptions subscriptions;
  SettleIntake settles;
  QueueGets gets;
  QueueBrowse browse;
  QueueRequests requests;
  Delivery delivery;
  DeadLetterForwarder dead_letters;
  ExpirySweep expiry;
  DelayKeeper delays;
  LengthKeeper length;
};

}  // namespace

struct QueueHost::Parts {
  Parts(const Options& given, PeerOutput& out, Logger& logger, DeleteQueueRequest request_delete)
      : options(given),
        output(out),
        log(logger),
        memory(given.memory_limit),
        gate(memory, given.free_disk_limit, given.checkpoint_after_bytes() * kWalAhead),
        dedupe_memory(queues, memory, logger),
        auto_delete(queues, clock, std::move(request_delete)),
        unused(queues, auto_delete, clock) {}

  const Options options;
  PeerOutput& output;
  Logger& log;
  TurnClock clock;
  MemoryBudget memory;
  PublishGate gate;
  QueueTable queues;
  DedupeMemory dedupe_memory;
  storage::MissingMessages missing;
  AutoDelete auto_delete;
  UnusedQueues unused;
  std::unique_ptr<WithDisk> with_disk;
  // Links and shards for which a publish was refused, until the peer resumes
  // (ShardPublish.resumes).
  std::set<std::pair<PeerId, std::uint32_t>> refusing;
  DeadLetterOutlets* dead_letter_outlets = nullptr;
  PolicySource* policies = nullptr;
  bool started = false;
  bool catalog_loaded = false;
  bool gate_was_closed = false;

  WithDisk& open() {
    SEGUE_CHECK(with_disk != nullptr);
    return *with_disk;
  }
  Shard& shard(ShardId id) {
    Shard* found = open().shards.find(id);
    if (found != nullptr) return *found;
    Shard& made = open().shards.find_or_add(id, open().context);
    if (started) made.start(LogIndex{0});
    return made;
  }
  // A policy is in force for whatever comes after it.
  void catch_up(QueueId queue) {
    if (policies != nullptr && policies->behind()) policies->catch_up(queue);
  }
  // An older catalog might not know where they go.
  void start_dead_letters() {
    if (!catalog_loaded || dead_letter_outlets == nullptr) return;
    open().dead_letters.start(*dead_letter_outlets);
  }
  QueueDurability durability_of(const v1::QueueDefinition& definition) const;
  void end_rests() {
    std::vector<HostedQueue*> rested;
    for (std::size_t i = 0; i < queues.resting().size(); ++i) {
      HostedQueue& hosted = queues.resting()[i];
      open().shards.of(hosted).end_rest(hosted);
      if (hosted.queue.resting() == 0) rested.push_back(&hosted);
    }
    for (HostedQueue* hosted : rested) queues.resting().remove(*hosted);
  }
  // Tells when publishes are taken again or no more; not each reason in between.
  void log_gate() {
    if (gate.closed() == gate_was_closed) return;
    gate_was_closed = gate.closed();
    if (gate_was_closed) {
      log.warn("publishes_blocked", {{"reason", gate.reason()}});
    } else {
      log.info("publishes_unblocked", {});
    }
  }
  void set_time(TimePoint now, std::int64_t wall_ms) {
    clock.now = now;
    clock.wall_ms = wall_ms;
  }
};

QueueDurability QueueHost::Parts::durability_of(const v1::QueueDefinition& definition) const {
  if (!definition.durable()) return QueueDurability::kTransient;
  if (const v1::FieldValue* value = value_of(definition, kDurabilityArgument)) {
    if (value->string_value() == "sync") return QueueDurability::kSync;
    if (value->int_value() > 0) return QueueDurability::kInterval;
  }
  return options.durability_sync ? QueueDurability::kSync : QueueDurability::kInterval;
}

QueueHost::QueueHost(const Options& options, PeerOutput& output, Logger& log,
                     DeleteQueueRequest request_delete)
    : parts_(std::make_unique<Parts>(options, output, log, std::move(request_delete))) {}

QueueHost::~QueueHost() = default;

// ---- start

Status QueueHost::restore(storage::DiskDataCenter& disk,
                          const std::vector<storage::RecoveredShard>& shards) {
  Parts& parts = *parts_;
  parts.with_disk = std::make_unique<WithDisk>(parts.options, disk, parts.output, parts.log,
                                               parts.memory, parts.gate, parts.queues, parts.clock,
                                               parts.missing, parts.auto_delete, parts.unused);
  for (const storage::RecoveredShard& shard : shards) {
    if (shard.shard == kCatalogShard) continue;
    SEGUE_RETURN_IF_ERROR(parts.shard(shard.shard).restore(shard));
  }
  return {};
}

Status QueueHost::replay(const storage::ReplayedRecord& record) {
  return parts_->shard(record.shard).replay(record);
}

void QueueHost::start(const std::vector<storage::Committed>& log_ends, TimePoint now,
                      std::int64_t wall_ms) {
  Parts& parts = *parts_;
  parts.set_time(now, wall_ms);
  std::map<ShardId, LogIndex> ends;
  for (const storage::Committed& end : log_ends) {
    if (end.shard == kCatalogShard) continue;
    ends[end.shard] = end.up_to;
    parts.shard(end.shard);
  }
  for (const auto& [id, shard] : parts.open().shards.all()) shard->start(ends[id]);
  parts.started = true;
  parts.gate.check_disk(parts.open().disk.stats(), now);
}

// ---- the catalog

void QueueHost::add_queue(const v1::QueueDefinition& definition) {
  Parts& parts = *parts_;
  const ShardId shard{static_cast<std::uint16_t>(definition.shard())};
  Shard& leader = parts.shard(shard);
  HostedQueue& hosted = leader.add_queue(QueueId{definition.id()});
  hosted.settings = settings_of(definition);
  leader.define(hosted, definition.name(), parts.durability_of(definition),
                definition.auto_delete());
  parts.unused.touch(hosted);
}

void QueueHost::remove_queue(QueueId id) {
  Parts& parts = *parts_;
  HostedQueue* hosted = parts.queues.find(id);
  if (hosted == nullptr) return;
  parts.open().gets.end_gets_of(*hosted);
  parts.open().subscriptions.end_consumers_of(*hosted);
  parts.open().shards.of(*hosted).remove_queue(*hosted);
}

void QueueHost::follow_policies(PolicySource& policies) {
  parts_->policies = &policies;
  parts_->open().requests.follow_policies(policies);
}

QueueId QueueHost::highest_queue() const {
  QueueId highest{0};
  for (const auto& [id, hosted] : parts_->queues.all())
    highest = std::max(highest, queue_of_lane(id));
  return highest;
}

void QueueHost::report_lost_messages() {
  storage::MissingMessages missing = std::exchange(parts_->missing, {});
  for (const storage::MissingMessages::Loss& loss : missing.losses()) {
    const HostedQueue* hosted = parts_->queues.find(loss.queue);
    // Transient queues are empty after a restart, and deleted ones are no more.
    if (hosted == nullptr || !hosted->queue.defined() || !hosted->queue.durable()) continue;
    parts_->log.error(
        "messages_lost",
        {{"queue", hosted->queue.name()},
         {"queue_id", loss.queue},
         {"messages", loss.messages},
         {"files", loss.files},
         {"path", loss.path},
         {"reason",
          "the checkpoint names files that are missing, and the log does not say that their "
          "messages were settled; after a loss of power it may lack what was settled in the last "
          "moment"},
         {"advice",
          "the queue goes on without them; to have them back, restore the whole data directory"}});
  }
}

void QueueHost::end_of_catalog_load() {
  report_lost_messages();
  std::vector<QueueId> unnamed;
  for (const auto& [id, hosted] : parts_->queues.all()) {
    if (!hosted->queue.defined()) unnamed.push_back(id);
  }
  for (const QueueId id : unnamed) {
    parts_->log.info("queue_dropped", {{"queue_id", id}, {"reason", "not in the catalog"}});
    remove_queue(id);
  }
  parts_->catalog_loaded = true;
  parts_->start_dead_letters();
}

void QueueHost::forward_dead_letters(DeadLetterOutlets& outlets) {
  parts_->dead_letter_outlets = &outlets;
  parts_->start_dead_letters();
}

DeadLetterAnswers& QueueHost::dead_letter_answers() {
  return parts_->open().dead_letters;
}

// ---- peers

void QueueHost::on_publish(PeerId peer, const v1::ShardPublish& publish, SharedBytes bodies) {
  Parts& parts = *parts_;
  parts.gate.check_memory();
  Shard* shard =
      publish.shard() < kMaxShards
          ? parts.open().shards.find(ShardId{static_cast<std::uint16_t>(publish.shard())})
          : nullptr;
  // What stands behind a refused publish may not overtake it.
  const std::pair<PeerId, std::uint32_t> line{peer, publish.shard()};
  if (publish.resumes()) parts.refusing.erase(line);
  const bool refused_before = parts.refusing.contains(line);
  for (const v1::QueueTarget& target : publish.targets()) {
    parts.catch_up(QueueId{target.queue_id()});
  }
  if (shard != nullptr && !parts.gate.closed() && !refused_before) {
    shard->publish(peer, publish, std::move(bodies));
    if (parts.gate.closed()) parts.refusing.insert(line);  // the log had no space for it
    return;
  }
  if (shard != nullptr) parts.refusing.insert(line);
  const std::string number = std::to_string(publish.shard());
  v1::ShardConfirm confirm;
  confirm.set_batch_id(publish.batch_id());
  *confirm.mutable_error() =
      shard == nullptr
          ? status_error(Code::kShardUnavailable, "", "shard " + number + " is not on this node")
          : status_error(Code::kShardBlocked, "",
                         "shard " + number + " takes no publishes: " +
                             (parts.gate.closed() ? parts.gate.reason()
                                                  : "one that came before was refused"));
  confirm.set_refused(shard != nullptr && parts.gate.out_of_space());
  parts.output.confirm(peer, std::move(confirm));
}

void QueueHost::on_consumer_command(PeerId peer, const v1::ConsumerCommand& command) {
  if (command.has_subscribe()) parts_->catch_up(QueueId{command.subscribe().queue_id()});
  parts_->open().subscriptions.on_command(peer, command);
}

void QueueHost::on_settle(PeerId peer, const v1::PeerSettle& settle) {
  parts_->open().settles.on_settle(peer, settle);
}

void QueueHost::on_queue_request(PeerId peer, const v1::QueueRequest& request) {
  parts_->catch_up(QueueId{request.queue_id()});
  parts_->open().requests.on_request(peer, request);
}

void QueueHost::on_peer_lost(PeerId peer) {
  parts_->open().subscriptions.on_peer_lost(peer);
  std::erase_if(parts_->refusing, [&](const auto& line) { return line.first == peer; });
}

// ---- the loop

void QueueHost::on_committed(ShardId shard, LogIndex up_to) {
  if (Shard* found = parts_->open().shards.find(shard)) found->on_committed(up_to);
}

void QueueHost::on_tick(TimePoint now, std::int64_t wall_ms) {
  Parts& parts = *parts_;
  WithDisk& open = parts.open();
  parts.set_time(now, wall_ms);
  parts.gate.check_memory();
  parts.gate.check_disk(open.disk.stats(), now);
  parts.log_gate();
  parts.auto_delete.on_tick();
  parts.unused.on_tick();
  parts.dedupe_memory.on_tick(now, wall_ms);
  open.subscriptions.on_tick();
  open.read_ahead.on_tick();
  open.spiller.on_tick();
  if (parts.catalog_loaded) open.expiry.on_tick();
  open.checkpointer.on_tick();
  open.dead_letters.on_tick();
  parts.end_rests();
  for (const auto& [id, shard] : open.shards.all()) shard->on_tick();
}

void QueueHost::end_turn(TimePoint now, std::int64_t wall_ms) {
  WithDisk& open = parts_->open();
  parts_->set_time(now, wall_ms);
  open.subscriptions.begin_deliveries();
  open.read_ahead.end_turn();
  open.delays.end_turn();
  open.delivery.end_turn();
  // An older catalog might have limits, and times to live, that are in force no more.
  if (parts_->catalog_loaded) {
    open.expiry.end_turn();
    open.length.end_turn();
  }
  open.dead_letters.end_turn();
  for (Shard* shard : std::exchange(open.in_turn, {})) shard->end_turn();
  open.spiller.end_turn();
  open.checkpointer.step();
  open.storer.step();
  if (parts_->gate.closed()) {
    // Opened as soon as it may be: publishers wait.
    parts_->gate.check_memory();
    parts_->gate.check_disk(open.disk.stats(), now);
  }
}

bool QueueHost::wants_turn() const {
  const WithDisk& open = *parts_->with_disk;
  const bool drops =
      parts_->catalog_loaded && (!parts_->queues.over_length().empty() || open.expiry.wants_turn());
  return drops || !parts_->queues.ready().empty() || !open.in_turn.empty() ||
         open.checkpointer.wants_turn() || open.subscriptions.wants_turn() ||
         open.delays.wants_turn() || open.dead_letters.wants_turn();
}

std::optional<Duration> QueueHost::next_turn_in() const {
  const auto ms = parts_->open().delays.next_in_ms();
  if (!ms) return std::nullopt;
  return std::chrono::milliseconds(*ms);
}

void QueueHost::begin_shutdown(std::function<void()> done) {
  parts_->open().checkpointer.begin_shutdown(std::move(done));
}

bool QueueHost::blocked() const {
  return parts_->gate.closed();
}

v1::NodeState QueueHost::state() const {
  const Parts& parts = *parts_;
  const storage::DiskStats disk = parts.with_disk->disk.stats();
  v1::NodeState state;
  state.set_blocked_reason(parts.gate.reason());
  state.set_refuses_publishes(parts.gate.out_of_space());
  state.set_memory_bytes(parts.memory.used());
  state.set_memory_limit(parts.memory.limit());
  state.set_disk_free_bytes(disk.free_bytes);
  state.set_wal_bytes(disk.wal_bytes);
  state.set_quarantined(disk.quarantined);
  state.set_queues(parts.queues.size());
  state.set_ready(parts.queues.totals().ready);
  state.set_unacked(parts.queues.totals().unacked);
  return state;
}

}  // namespace segue::node
