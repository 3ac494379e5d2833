#pragma once

#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/segment_context.h"
#include "storage/segment_format.h"

namespace segue::storage {

/// A queue on disk, as the background thread sees it. Made by the reactor, which does not look at
/// the part that changes.
struct QueueFiles {
  QueueFiles(QueueId queue, ShardId its_shard, std::string path)
      : id(queue), shard(its_shard), directory(std::move(path)) {}

  /// Its name, for messages to people, as far as the directory has it.
  std::string name_in_directory() const {
    return queue_name_of_directory(std::string_view(directory).substr(directory.rfind('/') + 1));
  }

  const QueueId id;
  const ShardId shard;
  const std::string directory;

  // On the reactor's thread only:
  bool dropped = false;  // the queue was deleted

  // On the background thread only:
  bool made = false;  // the directory exists
  /// Stores of this attempt fail with `failure`: one before them did. The reactor takes them back
  /// and goes on with the next attempt.
  std::uint64_t failed_attempt = std::numeric_limits<std::uint64_t>::max();
  Status failure;

  std::string data_path(SegmentName segment) const;
  std::string index_path(SegmentName segment) const;
};

/// A segment's two files.
struct OpenSegment {
  std::unique_ptr<File> data;
  bool direct = false;  // data goes past the page cache
  std::unique_ptr<File> index;
  bool data_unsynced = false;
  bool index_unsynced = false;
  // The bytes from the last multiple of kBlock up to `tail_end`, where the next write goes on.
  std::string tail;
  std::uint64_t tail_end = std::numeric_limits<std::uint64_t>::max();
};

/// The segments' open files: at most `max_open` segments, the least recently used is closed first,
/// so that queues that do nothing cost no file descriptors. Knows what is not synced yet.
///
/// Background thread only.
class SegmentFiles {
 public:
  /// How data is going to be read or written. Much at once goes past the page cache, if the context
  /// says so and the file system allows: the cache is left to others. A little goes through it: a
  /// write of its own for each of many queues would take long.
  enum class Access { kAny, kMuch, kLittle };

  /// Offsets, sizes and memory of all reads and writes of data files are multiples of this.
  static constexpr std::size_t kBlock = 4096;

  explicit SegmentFiles(SegmentContext& context, std::size_t max_open = 128)
      : context_(context), max_open_(max_open), direct_(context.past_page_cache) {}
  ~SegmentFiles() = default;

  /// The segment's files, empty, in a directory made if missing. Valid until the next call.
  Result<OpenSegment*> create(QueueFiles& queue, SegmentName segment, Access access);
  /// The segment's files as they are; NOT_FOUND if they have been removed. Valid until the next
  /// call.
  Result<OpenSegment*> open(QueueFiles& queue, SegmentName segment, Access access = Access::kAny);

  /// Makes what was written to the segment durable, but for the names (sync_names()). A failure was
  /// told to `fatal` already.
  Status sync(QueueFiles& queue, SegmentName segment);
  /// Makes files and directories that were created durable.
  Status sync_names();
  /// All of that for everything that was written, in one call: faster than many.
  Status sync_everything();
  /// Removes files, in an order that recovery can tell from damage. Failures are logged: recovery
  /// tries again.
  void remove(QueueFiles& queue, std::span<const SegmentName> segments);
  /// Removes the queue's directory with everything in it.
  void remove_queue(QueueFiles& queue);

  std::size_t open_count() const { return open_.size(); }
  void close_all() {
    while (!open_.empty()) close_oldest();
  }

 private:
  using Key = std::pair<QueueId, SegmentName>;
  struct Slot {
    OpenSegment files;
    std::list<Key>::iterator place;
  };

  Status open_data(const std::string& path, bool direct, OpenSegment& files);
  Result<OpenSegment*> open_or_make(QueueFiles& queue, SegmentName segment, Access access);
  Status make_directory(QueueFiles& queue);
  Status sync_file(File& file, bool& unsynced);
  void close_oldest();
  void close(const Key& key);
  bool remove_file(const std::string& path);

  SegmentContext& context_;
  const std::size_t max_open_;
  std::map<Key, Slot> open_;
  std::list<Key> recent_;  // most recent first
  struct Unsynced {
    bool data = false;
    bool index = false;
  };
  std::map<Key, Unsynced> closed_unsynced_;
  std::set<std::string> unsynced_directories_;
  bool direct_;  // wanted, and the file system allows it
};

}  // namespace segue::storage
