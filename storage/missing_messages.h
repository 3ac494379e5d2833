#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace segue::storage {

/// A segment that a checkpoint names and that has no .data file any more: its messages were settled
/// after the checkpoint, as the log says then, or the file was lost.
struct MissingSegment {
  QueueId queue;
  std::string path;  // of the .data file
  Sequence first;
  Sequence last;
  std::uint32_t valid = 0;  // messages that were not settled at the checkpoint
};

/// Tells lost segments from those that were removed: what the log says of their messages is taken
/// off what they had. One thread.
class MissingMessages {
 public:
  struct Loss {
    QueueId queue;
    std::uint64_t messages = 0;  // at least
    std::uint64_t files = 0;
    std::string path;  // of the first file

    bool operator==(const Loss&) const = default;
  };

  void add(const MissingSegment& segment);
  bool empty() const { return queues_.empty(); }
  /// The log, behind the checkpoint, has these messages or their settling.
  void found_in_log(QueueId queue, Sequence first, Sequence last);
  /// The queue was deleted, or never outlives a restart.
  void forget(QueueId queue) { queues_.erase(queue); }
  /// By queue, those that have lost something.
  std::vector<Loss> losses() const;

 private:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  // both included
  struct Queue {
    std::vector<MissingSegment> segments;
    std::vector<Range> found;
    std::size_t joined = 0;  // how many they were when they were last put together
  };
  /// Sorts ranges and joins those that touch.
  static void join(std::vector<Range>& ranges);

  std::map<QueueId, Queue> queues_;
};

}  // namespace segue::storage
