#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "segue/segmented_queue.h"
#include "storage/background_thread.h"
#include "storage/segmented_queue_open.h"
#include "tests/fakes/faulty_file_system.h"
#include "tests/storage/model_node.h"

namespace segue::storage {

inline std::string durability_name(const ::testing::TestParamInfo<Durability>& test) {
  constexpr const char* kNames[] = {"None", "Interval", "EveryCall"};
  return kNames[static_cast<int>(test.param)];
}

/// The numbers and sizes of an embedded queue's test, small enough that a little does much.
inline SegmentedQueueOptions small_queue(Durability durability) {
  SegmentedQueueOptions options;
  options.directory = "/data";
  options.durability = durability;
  options.memory_bytes = 64 << 10;
  options.segment_bytes = 32 << 10;
  options.log_bytes = 48 << 10;
  options.max_unacked = 100;
  return options;
}

/// Opens a queue on a file system of a test's own, without a thread of its own; the clock goes on
/// by itself.
inline Result<std::unique_ptr<SegmentedQueue>> open_queue(FaultyFileSystem& files,
                                                          const RunningClock& clock,
                                                          const SegmentedQueueOptions& options,
                                                          std::function<int()> steps = {}) {
  SegmentedQueueOpener::Parts parts;
  parts.files = &files;
  parts.executor = std::make_unique<InlineExecutor>(std::move(steps));
  parts.clock = &clock;
  parts.gc = ModelNode::gc_options();
  parts.wal_file_bytes = 64 << 10;
  parts.wal_reserve_bytes = 8 << 10;
  parts.manual = true;
  return SegmentedQueueOpener::open(options, std::move(parts));
}

}  // namespace segue::storage
