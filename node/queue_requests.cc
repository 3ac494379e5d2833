#include "node/queue_requests.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/counted.h"
#include "node/status_error.h"

namespace segue::node {

namespace {

constexpr std::size_t kMostSegments = 1000;

/// Links below the directory where alone backups are made must not lead out of it.
Status check_links(const storage::BackupOptions& options) {
  if (options.allowed_below.empty()) return {};
  std::error_code error;
  const auto directory = std::filesystem::weakly_canonical(options.allowed_below, error);
  const auto target = std::filesystem::weakly_canonical(options.target, error);
  const auto between = target.lexically_relative(directory);
  if (!error && !between.empty() && *between.begin() != ".." && *between.begin() != ".") return {};
  return Status(Code::kPreconditionFailed, options.target + ": leads out of " +
                                               options.allowed_below +
                                               ", where alone this node makes backups "
                                               "(storage.backup_directory)");
}

v1::SegmentDescription::State state_of(storage::StoredSegment::State state) {
  using State = storage::StoredSegment::State;
  switch (state) {
    case State::kActive:
      return v1::SegmentDescription::STATE_ACTIVE;
    case State::kFull:
      return v1::SegmentDescription::STATE_FULL;
    case State::kSealed:
      return v1::SegmentDescription::STATE_SEALED;
    case State::kCompacting:
      return v1::SegmentDescription::STATE_COMPACTING;
    case State::kMerging:
      return v1::SegmentDescription::STATE_MERGING;
  }
  return v1::SegmentDescription::STATE_UNSPECIFIED;
}

void fill(const storage::StoredSegment& segment, v1::SegmentDescription& description) {
  description.set_first(segment.first.value);
  description.set_last(segment.last.value);
  description.set_generation(segment.generation);
  description.set_state(state_of(segment.state));
  description.set_bytes(segment.bytes);
  description.set_valid_bytes(segment.valid_bytes);
  description.set_messages(segment.messages);
  description.set_valid(segment.valid);
}

v1::NodeBackupOk::State state_of(storage::BackupState::Stage stage) {
  switch (stage) {
    case storage::BackupState::Stage::kNone:
      return v1::NodeBackupOk::STATE_NONE;
    case storage::BackupState::Stage::kRunning:
      return v1::NodeBackupOk::STATE_RUNNING;
    case storage::BackupState::Stage::kDone:
      return v1::NodeBackupOk::STATE_DONE;
    case storage::BackupState::Stage::kFailed:
      return v1::NodeBackupOk::STATE_FAILED;
  }
  return v1::NodeBackupOk::STATE_NONE;
}

std::uint64_t microseconds(Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

}  // namespace

void QueueRequests::on_request(PeerId peer, const v1::QueueRequest& request) {
  HostedQueue* hosted = queues_.find_queue(QueueId{request.queue_id()});
  v1::QueueReply reply;
  reply.set_request_id(request.request_id());
  if (request.queue_id() == 0 && request.has_collect_garbage()) {
    collect_garbage(request.collect_garbage(), std::nullopt, "", reply);
    return output_.queue_reply(peer, std::move(reply), {});
  }
  if (request.queue_id() == 0 && request.has_backup()) {
    backup(request.backup(), reply);
    return output_.queue_reply(peer, std::move(reply), {});
  }
  if (request.queue_id() == 0 && request.has_status()) {
    describe_vhost(request.status().name(), *reply.mutable_queue());
    return output_.queue_reply(peer, std::move(reply), {});
  }
  if (hosted == nullptr || !hosted->queue.defined()) {
    const std::string id = std::to_string(request.queue_id());
    *reply.mutable_error() = status_error(
        Code::kNotFound, id, "no queue with id " + id + " here; it was deleted, or never declared");
    return output_.queue_reply(peer, std::move(reply), {});
  }
  switch (request.kind_case()) {
    case v1::QueueRequest::kGet:
      return gets_.on_get(peer, request.request_id(), *hosted, request.get());
    case v1::QueueRequest::kBrowse:
      return browse_.on_browse(peer, request.request_id(), *hosted, request.browse());
    case v1::QueueRequest::kPurge:
      return purge(peer, request.request_id(), *hosted);
    case v1::QueueRequest::kCancelDelayed:
      return cancel_delayed(peer, request, *hosted);
    case v1::QueueRequest::kStatus:
      if (request.status().declared()) unused_.touch(*hosted);
      describe(*hosted, *reply.mutable_queue());
      if (policies_ != nullptr) policies_->describe(hosted->queue.id(), *reply.mutable_queue());
      break;
    case v1::QueueRequest::kCheckDelete:
      check_delete(request.check_delete(), *hosted, reply);
      break;
    case v1::QueueRequest::kListSegments:
      list_segments(*hosted, request.list_segments(), reply);
      break;
    case v1::QueueRequest::kCollectGarbage:
      collect_garbage(request.collect_garbage(), hosted->queue.id(), hosted->queue.display_name(),
                      reply);
      break;
    case v1::QueueRequest::kBackup:
    case v1::QueueRequest::KIND_NOT_SET:
      *reply.mutable_error() = status_error(Code::kNotImplemented, hosted->queue.display_name(),
                                            "a request of a kind that this version does not know");
      break;
  }
  output_.queue_reply(peer, std::move(reply), {});
}

void QueueRequests::purge(PeerId peer, std::uint64_t request_id, HostedQueue& hosted) {
  Shard& shard = shards_.of(hosted);
  std::uint64_t purged = 0;
  bool logged = false;
  hosted.each_lane([&](HostedQueue& lane) {
    const Queue::ReadyRanges taken = lane.queue.take_all_ready();
    for (const NumberRange& range : taken.ranges) shard.depart(lane, range, Departure::kPurged);
    lane.queue.count_settled(taken.count);
    purged += taken.count;
    logged = logged || (lane.queue.durable() && !taken.ranges.empty());
  });
  QueueAnswer answer{peer, {}};
  answer.reply.set_request_id(request_id);
  answer.reply.set_purged(purged);
  describe(hosted, *answer.reply.mutable_queue());
  const bool sync = hosted.queue.durability() == QueueDurability::kSync;
  if (logged) {
    shard.answer_after_departures(std::move(answer), sync);
  } else {
    output_.queue_reply(peer, std::move(answer.reply), {});
  }
}

void QueueRequests::cancel_delayed(PeerId peer, const v1::QueueRequest& request,
                                   HostedQueue& hosted) {
  QueueAnswer answer{peer, {}};
  answer.reply.set_request_id(request.request_id());
  std::uint64_t cancelled = 0;
  Shard& shard = shards_.of(hosted);
  for (const v1::Range& places : request.cancel_delayed().places()) {
    if (hosted.delay_lane == nullptr || places.first() > places.last()) continue;
    cancelled += shard.cancel_delayed(*hosted.delay_lane, {places.first(), places.last()});
  }
  answer.reply.set_purged(cancelled);
  describe(hosted, *answer.reply.mutable_queue());
  if (hosted.queue.durable() && cancelled > 0) {
    const bool sync = hosted.queue.durability() == QueueDurability::kSync;
    shard.answer_after_departures(std::move(answer), sync);
  } else {
    output_.queue_reply(peer, std::move(answer.reply), {});
  }
}

void QueueRequests::check_delete(const v1::QueueDelete& conditions, HostedQueue& hosted,
                                 v1::QueueReply& reply) {
  const std::string name = hosted.queue.display_name();
  const std::uint64_t ready = hosted.ready();
  const std::uint64_t unacked = hosted.unacked();
  const std::uint64_t dead = hosted.dead();
  const std::uint64_t delayed = hosted.delayed();
  if (conditions.if_unused() && hosted.consumer_count() > 0) {
    *reply.mutable_error() = status_error(Code::kPreconditionFailed, name,
                                          "queue " + name + " is in use: it has " +
                                              counted(hosted.consumer_count(), "consumer") +
                                              "; cancel them, or delete it without if_unused");
  } else if (conditions.if_empty() && ready + unacked + dead + delayed > 0) {
    *reply.mutable_error() = status_error(
        Code::kPreconditionFailed, name,
        "queue " + name + " is not empty: it has " + std::to_string(ready) + " ready and " +
            std::to_string(unacked) + " unacked messages" +
            (dead == 0 ? "" : ", and " + std::to_string(dead) + " dead letters to forward") +
            (delayed == 0 ? "" : ", and " + std::to_string(delayed) + " delayed ones") +
            (delayed == 0 ? "; purge it, or delete it without if_empty"
                          : "; a purge leaves delayed ones, so cancel those too, or delete it "
                            "without if_empty"));
  }
  describe(hosted, *reply.mutable_queue());
}

void QueueRequests::list_segments(const HostedQueue& hosted, const v1::ListSegments& wanted,
                                  v1::QueueReply& reply) const {
  const std::size_t limit =
      wanted.limit() == 0 ? kMostSegments : std::min<std::size_t>(wanted.limit(), kMostSegments);
  v1::ListSegmentsOk& list = *reply.mutable_segments();
  std::vector<const HostedQueue*> lanes;
  hosted.each_lane([&](const HostedQueue& lane) { lanes.push_back(&lane); });
  for (auto lane = lanes.rbegin(); lane != lanes.rend() && !list.more(); ++lane) {
    const QueueId id = (*lane)->queue.id();
    const std::uint64_t priority = priority_of_lane(id);
    if (priority < wanted.priority()) continue;
    const Sequence after{priority == wanted.priority() ? wanted.after() : 0};
    const std::size_t room = limit - static_cast<std::size_t>(list.segments_size());
    auto found = disk_.segments(id, after, room + 1);
    list.set_more(found.size() > room);
    if (list.more()) found.pop_back();
    for (const storage::StoredSegment& segment : found) {
      v1::SegmentDescription& description = *list.add_segments();
      fill(segment, description);
      description.set_priority(static_cast<std::uint32_t>(priority));
    }
  }
  for (const HostedQueue* lane : lanes) {
    const storage::QueueGc collecting = disk_.collecting(lane->queue.id());
    list.set_paused(list.paused() || collecting.paused);
    list.set_running(list.running() || collecting.running);
  }
}

Status QueueRequests::collect(storage::GcCommand command, std::optional<QueueId> queue) {
  const HostedQueue* hosted = queue ? queues_.find(*queue) : nullptr;
  if (hosted == nullptr) return disk_.collect(command, queue);
  Status done;
  hosted->each_lane([&](const HostedQueue& lane) {
    const Status status = disk_.collect(command, lane.queue.id());
    if (!status) done = status;
  });
  if (hosted->delay_lane != nullptr && done) {
    done = disk_.collect(command, hosted->delay_lane->queue.id());
  }
  return done;
}

void QueueRequests::collect_garbage(const v1::CollectGarbage& wanted, std::optional<QueueId> queue,
                                    const std::string& entity, v1::QueueReply& reply) {
  Status done;
  switch (wanted.action()) {
    case v1::CollectGarbage::ACTION_STATUS:
      break;
    case v1::CollectGarbage::ACTION_RUN:
      done = collect(storage::GcCommand::kRun, queue);
      break;
    case v1::CollectGarbage::ACTION_PAUSE:
      done = collect(storage::GcCommand::kPause, queue);
      break;
    case v1::CollectGarbage::ACTION_RESUME:
      done = collect(storage::GcCommand::kResume, queue);
      break;
    default:
      done = Status(Code::kNotImplemented, "an action that this version does not know");
  }
  if (!done.is_ok()) *reply.mutable_error() = status_error(done.code(), entity, done.message());
  const storage::DiskStats disk = disk_.stats();
  const storage::GcStats& stats = disk.gc;
  v1::GarbageDescription& garbage = *reply.mutable_garbage();
  garbage.set_paused(stats.paused);
  garbage.set_running(stats.running);
  garbage.set_debt_bytes(stats.debt_bytes);
  garbage.set_waiting_queues(stats.waiting_queues);
  garbage.set_paused_queues(stats.paused_queues);
  garbage.set_copies(stats.copies);
  garbage.set_failed_copies(stats.failed_copies);
  garbage.set_copied_bytes(stats.copied_bytes);
  garbage.set_reclaimed_bytes(stats.reclaimed_bytes);
  garbage.set_dropped_bytes(stats.dropped_bytes);
  garbage.set_bytes_per_second(stats.bytes_per_second);
  garbage.set_last_pause_us(microseconds(stats.last_pause));
  garbage.set_longest_pause_us(microseconds(stats.longest_pause));
  garbage.set_scrub_bytes_per_second(disk.scrub.bytes_per_second);
  garbage.set_scrubbed_bytes(disk.scrub.bytes);
  garbage.set_scrub_passes(disk.scrub.passes);
  garbage.set_last_scrub_ago_ms(microseconds(disk.scrub.since_last_pass) / 1000);
  garbage.set_scrub_found(disk.scrub.found);
}

void QueueRequests::backup(const v1::NodeBackup& wanted, v1::QueueReply& reply) {
  Status done;
  storage::BackupOptions options = backup_options_;
  switch (wanted.action()) {
    case v1::NodeBackup::ACTION_STATUS:
      break;
    case v1::NodeBackup::ACTION_START:
      options.target = wanted.target();
      done = check_links(options);
      if (done) done = disk_.begin_backup(std::move(options));
      break;
    case v1::NodeBackup::ACTION_CANCEL:
      disk_.cancel_backup();
      break;
    default:
      done = Status(Code::kNotImplemented, "an action that this version does not know");
  }
  if (!done.is_ok()) *reply.mutable_error() = status_error(done, wanted.target());
  const storage::BackupState state = disk_.backup();
  v1::NodeBackupOk& told = *reply.mutable_backup();
  told.set_state(state_of(state.stage));
  told.set_target(state.target);
  if (!state.failure.is_ok()) {
    // What is wrong with the target is for who asked, not for who runs the node.
    const Code code = state.failure.code() == Code::kInvalidConfig ? Code::kPreconditionFailed
                                                                   : state.failure.code();
    *told.mutable_failure() = status_error(Status(code, state.failure.message()), state.target);
  }
  told.set_files(state.files);
  told.set_copied_bytes(state.copied_bytes);
  told.set_total_bytes(state.total_bytes);
}

void QueueRequests::describe_vhost(const std::string& vhost,
                                   v1::QueueDescription& description) const {
  description.set_vhost(vhost);
  if (policies_ == nullptr) return;
  std::uint64_t bytes = 0;
  for (const QueueId id : policies_->queues_in(vhost)) {
    const HostedQueue* hosted = queues_.find_queue(id);
    if (hosted == nullptr) continue;
    const auto add = [&](const HostedQueue& lane) {
      bytes += disk_.stored(lane.queue.id()).body_bytes + lane.queue.unstored_bytes();
    };
    std::as_const(*hosted).each_lane(add);
    if (hosted->delay_lane != nullptr) add(*hosted->delay_lane);
  }
  description.set_bytes(bytes);
}

void QueueRequests::describe(const HostedQueue& hosted, v1::QueueDescription& description) const {
  const Queue& queue = hosted.queue;
  description.set_name(queue.name());
  description.set_id(queue.id().value);
  description.set_shard(queue.shard().value);
  description.set_durable(queue.durable());
  description.set_auto_delete(queue.auto_delete());
  description.set_available(true);
  description.set_consumers(hosted.consumer_count());
  if (hosted.dedupe) {
    description.set_deduplicated_total(hosted.dedupe->duplicates());
    description.set_dedupe_entries(hosted.dedupe->entries());
    description.set_dedupe_bytes(hosted.dedupe->bytes());
  }
  if (hosted.groups) description.set_groups(hosted.groups->owned());
  hosted.each_lane([&](const HostedQueue& lane) { add_counts(lane.queue, description); });
  description.set_delayed(hosted.delayed());
  if (hosted.delay_lane != nullptr) add_sizes(hosted.delay_lane->queue, description);
}

void QueueRequests::add_sizes(const Queue& lane, v1::QueueDescription& description) const {
  const storage::StoredQueue stored = disk_.stored(lane.id());
  description.set_bytes(description.bytes() + stored.body_bytes + lane.unstored_bytes());
  description.set_disk_bytes(description.disk_bytes() + stored.disk_bytes);
  description.set_memory_bytes(description.memory_bytes() + lane.memory_bytes());
}

void QueueRequests::add_counts(const Queue& lane, v1::QueueDescription& description) const {
  add_sizes(lane, description);
  description.set_ready(description.ready() + lane.ready());
  description.set_unacked(description.unacked() + lane.unacked());
  description.set_enqueued_total(description.enqueued_total() + lane.enqueued_total());
  description.set_delivered_total(description.delivered_total() + lane.delivered_total());
  description.set_settled_total(description.settled_total() + lane.settled_total());
  description.set_dead_lettering(description.dead_lettering() + lane.dead().count());
  description.set_dead_letter_dropped(description.dead_letter_dropped() +
                                      lane.dead_dropped_total());
  description.set_expired_total(description.expired_total() + lane.expired_total());
  description.set_dropped_total(description.dropped_total() + lane.dropped_total());
}

}  // namespace segue::node
