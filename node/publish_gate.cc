#include "node/publish_gate.h"

#include <chrono>

namespace segue::node {

namespace {

// Passes by itself within moments.
constexpr char kLogIsShort[] = "disk: the next file of the write-ahead log is being made";

std::string size_text(std::uint64_t bytes) {
  return bytes < (1u << 20) ? std::to_string(bytes >> 10) + " KiB"
                            : std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

void PublishGate::check_memory() {
  if (memory_reason_.empty()) {
    if (memory_.above_block_mark()) {
      memory_reason_ = "memory: messages take more than 70 % of memory_limit (" +
                       size_text(memory_.limit()) + "); consume, or wait until they are on disk";
    }
  } else if (memory_.below_unblock_mark()) {
    memory_reason_.clear();
  }
}

void PublishGate::check_disk(const storage::DiskStats& stats, TimePoint now) {
  // Margins keep the gate from swinging at the limits.
  const bool was_open = disk_reason_.empty();
  const std::uint64_t enough = free_disk_limit_ + (was_open ? 0 : free_disk_limit_ / 8);
  const std::uint64_t wal_enough = wal_limit_ - (was_open ? 0 : wal_limit_ / 16);
  if (stats.free_bytes < enough) {
    out_of_space_ = true;
    disk_reason_ = "disk: less than free_disk_limit (" + size_text(free_disk_limit_) +
                   ") is free; make room, or consume";
  } else if (stats.wal_out_of_space) {
    out_of_space_ = true;
    disk_reason_ = "disk: the write-ahead log cannot grow; make room, or consume";
  } else if (now < no_space_until_) {
    return;
  } else if (stats.wal_space_low) {
    out_of_space_ = false;
    disk_reason_ = kLogIsShort;
  } else if (stats.wal_bytes_since_checkpoint > wal_enough) {
    out_of_space_ = false;
    disk_reason_ = "disk: the write-ahead log is more than " + size_text(wal_enough) +
                   " ahead of the last checkpoint; wait until the checkpoint has caught up";
  } else {
    out_of_space_ = false;
    disk_reason_.clear();
  }
}

void PublishGate::no_space(const std::string& what, TimePoint now) {
  out_of_space_ = true;
  disk_reason_ = "disk: no space left to write " + what + "; make room, or consume";
  no_space_until_ = now + std::chrono::seconds(1);
}

void PublishGate::log_is_short() {
  if (disk_reason_.empty()) disk_reason_ = kLogIsShort;
}

}  // namespace segue::node
