#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "common/clock.h"
#include "common/random.h"
#include "common/status.h"

namespace segue::storage {

struct WalOptions {
  std::string directory;                      // of the .wal files; made if missing
  std::uint64_t node_hash = 0;                // wal_node_hash()
  std::uint64_t file_bytes = 64ull << 20;     // rounded up to 4096
  std::uint64_t reserve_bytes = 64ull << 20;  // kept for records with `uses_reserve`
  std::size_t inline_bytes =
      64u << 10;                  // largest lone group written on the caller's thread; 0: none
  std::uint32_t spare_files = 2;  // released files kept for recycling, beyond those prepared
  std::chrono::milliseconds sync_interval{
      1000};              // how long records without `sync` may stay unsynced
  bool direct_io = true;  // O_DIRECT where the file system takes it
  /// Called on the WAL thread when poll() has something; must not block.
  std::function<void()> wakeup;
  /// Called (on the thread that wrote) when a write or sync failed and the log's end is unknown.
  /// Empty: says so on stderr and ends the process with exit code 71. If it returns, the writer
  /// writes nothing more.
  std::function<void(const Status&)> fatal;
  const Clock* clock = nullptr;  // null: the machine's; else outlives the writer
  Random* random =
      nullptr;  // for the files' salts; null: the machine's; used by one thread at a time
};

}  // namespace segue::storage
