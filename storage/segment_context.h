#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/logging.h"
#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// What everything that touches segments and checkpoints is given. Lives as long as they do.
struct SegmentContext {
  FileSystem& files;
  Logger& log;
  std::string root;  // the data directory
  std::uint64_t segment_bytes = 64ull << 20;
  /// Called when a sync failed: what is on disk is unknown then. Ends the process; in tests it may
  /// return, and then everything that follows fails.
  std::function<void(const Status&)> fatal;
  bool past_page_cache = true;  // data of segments, if much is read or written at once
};

}  // namespace segue::storage
