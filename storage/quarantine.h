#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "storage/quarantine_record.h"
#include "storage/segment_context.h"

namespace segue::storage {

/// Sets damaged messages aside: into the file `quarantine` of the data directory, durably, and each
/// once; and tells of them. What is in the file may be taken out of its queue: nothing of it is
/// lost. What did not find room there must stay where it is.
///
/// On the background thread, but for count() and found(); load() before it has anything to do.
class Quarantine {
 public:
  /// The file is not made larger than this: somebody has to look, and a dying disk shall not fill
  /// itself.
  static constexpr std::uint64_t kMostBytes = 256ull << 20;

  explicit Quarantine(SegmentContext& context, std::uint64_t most_bytes = kMostBytes);

  /// Learns what is in the file. IO_ERROR.
  Status load();
  /// Appends those that are not there yet, and syncs, once for all. Every message that was not
  /// known is an ERROR in the log. The sequences of those that could not be set aside.
  std::vector<Sequence> set_aside(const std::vector<QuarantineRecord>& damaged);

  /// Messages in the file. Any thread.
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  /// Damaged messages met since the start, set aside or not, each once. Any thread.
  std::uint64_t found() const { return found_.load(std::memory_order_relaxed); }
  /// Where a file of the data directory stands in it.
  std::string below_root(const std::string& path) const;

 private:
  using Key = std::pair<QueueId, Sequence>;

  Status append(const std::string& bytes);
  void tell(const QuarantineRecord& record, bool set_aside, const Status& reason) const;

  SegmentContext& context_;
  const std::string path_;
  const std::uint64_t most_bytes_;
  std::map<Key, bool> known_;  // whether it is in the file
  bool told_full_ = false;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> found_{0};
};

}  // namespace segue::storage
