#pragma once

#include <memory>

#include "segue/segmented_queue.h"
#include "storage/background_thread.h"
#include "storage/disk_data_center.h"

namespace segue::storage {

/// Opens a SegmentedQueue on another file system than the machine's; for tests.
class SegmentedQueueOpener {
 public:
  struct Parts {
    FileSystem* files = nullptr;  // outlives the queue
    /// Left out: a thread.
    std::unique_ptr<BackgroundExecutor> executor;
    const Clock* clock = nullptr;
    GcOptions gc;
    std::uint64_t wal_file_bytes = 64ull << 20;
    std::uint64_t wal_reserve_bytes = 64ull << 20;
    bool direct_io = true;
    /// No thread that does what is due; tick() does it.
    bool manual = false;
  };
  static Result<std::unique_ptr<SegmentedQueue>> open(SegmentedQueueOptions options, Parts parts);
  /// What the queue's thread does from time to time.
  static void tick(SegmentedQueue& queue);
  /// Lets go of the directory as a killed process does: nothing more is written.
  static void abandon(std::unique_ptr<SegmentedQueue> queue);
  /// Garbage is being collected, or a checkpoint made.
  static DiskStats disk_stats(const SegmentedQueue& queue);
};

}  // namespace segue::storage
