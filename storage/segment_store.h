#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/background_thread.h"
#include "storage/disk_data_center.h"
#include "storage/segment_context.h"
#include "storage/segment_copier.h"
#include "storage/segment_files.h"
#include "storage/segment_reader.h"
#include "storage/segment_snapshot.h"
#include "storage/segment_table.h"
#include "storage/segment_writer.h"

namespace segue::storage {

/// What the background thread works with. Made and destroyed by SegmentStore, touched in jobs only.
struct SegmentWorker {
  explicit SegmentWorker(SegmentContext& context)
      : files(context), writer(files), quarantine(context), reader(context, files, quarantine) {}

  SegmentFiles files;
  SegmentWriter writer;
  Quarantine quarantine;
  SegmentReader reader;
};

/// A sealed segment that is to be verified, as it was when that was begun.
struct ScrubSegment {
  std::shared_ptr<QueueFiles> queue;
  std::string queue_name;
  SegmentName name;
  std::uint32_t messages = 0;
  std::uint64_t records_end = 0;
  std::vector<std::uint64_t> valid;  // bit i: message with ordinal i
};

/// The queues' segments: keeps the tables, and has the background thread follow them. The part of
/// DiskDataCenter that has to do with messages of queues; see there for what the calls promise.
///
/// Lives on the reactor's thread.
class SegmentStore {
 public:
  /// `queue_name` may be empty. The arguments outlive the store; the executor is stopped before it
  /// ends.
  SegmentStore(SegmentContext& context, BackgroundExecutor& executor,
               std::function<std::string(QueueId)> queue_name);
  ~SegmentStore();

  void store(ShardId shard, QueueId queue, std::vector<MessageRun> runs,
             std::function<void(Status)> done);
  void load(QueueId queue, Sequence from, Sequence through, std::size_t max_bytes,
            std::function<void(Result<LoadedMessages>)> done);
  void settle(QueueId queue, Sequence first, Sequence last);
  void find_expired(QueueId queue, const ExpiryScan& scan,
                    std::function<void(Result<ExpiredMessages>)> done);
  void find_due(QueueId queue, const DueScan& scan, std::function<void(FoundDue)> done);
  void drop_queue(QueueId queue);
  StoredQueue stored(QueueId queue) const;
  /// Null when nothing is stored. Valid until the next call.
  const SegmentTable* table(QueueId queue) const;

  /// The shard's segments as they are now. What changed since the last one counts as taken care of,
  /// until put_back(). One at a time for a shard.
  ShardSnapshot snapshot(ShardId shard);
  /// The checkpoint was written: its segments are sealed as it says.
  void checkpointed(const ShardSnapshot& snapshot);
  /// The checkpoint failed: what it was to write is still to be written.
  void put_back(const ShardSnapshot& snapshot);

  /// The index had to be made anew from the data: the next checkpoint writes all of its flags,
  /// since what is in it now may be older than the log reaches back.
  void index_made_anew(const std::shared_ptr<QueueFiles>& queue, SegmentName segment);

  /// A queue as recovery found it.
  void add_recovered(std::shared_ptr<QueueFiles> files, SegmentTable table);

  // ---- for the collector of garbage

  /// Queues whose segments have changed in a way that garbage may be worth collecting, since the
  /// last call.
  std::vector<QueueId> take_touched();
  /// A queue that has segments, after the given one in some order; none after the last.
  struct Position {
    ShardId shard;
    QueueId queue;
  };
  std::optional<Position> next_queue(Position after) const;
  /// Of segments that were dropped because they had no valid message.
  std::uint64_t dropped_bytes() const { return dropped_bytes_; }
  /// Of a queue that has segments.
  ShardId shard_of(QueueId queue) const { return queues_.at(queue)->files->shard; }
  /// SegmentTable's, by queue.
  void end_active(QueueId queue) { queues_.at(queue)->table.end_active(); }
  CopyPlan begin_collecting(QueueId queue, std::size_t first, std::size_t count);
  void end_collecting(const CopyPlan& plan);
  /// Nothing if the queue has been dropped meanwhile.
  std::optional<std::vector<IndexFlags>> install(const CopyPlan& plan,
                                                 std::vector<std::unique_ptr<Segment>> copies);
  /// The queue's first sealed segment with a valid message that begins above `after`.
  std::optional<ScrubSegment> next_sealed(QueueId queue, Sequence after) const;
  /// All flags of a segment; none if it is gone.
  IndexFlags flags(const std::shared_ptr<QueueFiles>& queue, SegmentName segment);
  /// Removes segments that have no valid message left.
  void drop_consumed(const std::shared_ptr<QueueFiles>& queue);

  SegmentWorker& worker() { return worker_; }
  const SegmentWorker& worker() const { return worker_; }
  std::size_t memory_bytes() const;

 private:
  struct Queue {
    std::shared_ptr<QueueFiles> files;
    SegmentTable table;
    std::uint64_t attempt = 0;
    std::uint32_t pending_stores = 0;
    bool touched = false;
  };
  struct StoreCall;
  struct LoadCall;
  struct ExpiryCall;
  struct DueCall;

  /// For people.
  std::string name_of(const QueueFiles& queue) const;
  Queue& queue_for(ShardId shard, QueueId id);
  Queue* find(const std::shared_ptr<QueueFiles>& files);
  void end_store(StoreCall& call);
  bool step_store(StoreCall& call);
  void begin_load(std::shared_ptr<LoadCall> call);
  void end_load(const std::shared_ptr<LoadCall>& call);
  void answer(const std::shared_ptr<LoadCall>& call, LoadedMessages loaded);
  void end_expiry(ExpiryCall& call);
  void end_due(DueCall& call);
  void touch(Queue& queue);
  void remove_segments(Queue& queue, std::vector<SegmentName> segments);
  /// Forgets a queue that has nothing stored, and removes its directory.
  void forget_if_empty(Queue& queue);
  SegmentSnapshot snapshot(Segment& segment);

  SegmentContext& context_;
  BackgroundExecutor& executor_;
  std::function<std::string(QueueId)> queue_name_;
  std::unordered_map<QueueId, std::unique_ptr<Queue>> queues_;
  std::map<ShardId, std::set<QueueId>> by_shard_;
  SegmentWorker worker_;
  std::vector<QueueId> touched_;
  std::uint64_t dropped_bytes_ = 0;
};

}  // namespace segue::storage
