#include "node/missing_notes.h"

#include <variant>

namespace segue::node {

void note_in_log(const ShardCommand& command, storage::MissingMessages& missing) {
  if (const auto* enqueue = std::get_if<EnqueueCommand>(&command)) {
    for (const EnqueueTarget& target : enqueue->targets) {
      const std::uint32_t count = target.count(*enqueue->batch);
      if (count == 0) continue;
      missing.found_in_log(target.queue, target.first, target.first.next(count - 1));
    }
    for (const NumberRange& range : enqueue->taken.sequences) {
      missing.found_in_log(enqueue->taken.queue, Sequence{range.first}, Sequence{range.last});
    }
  } else if (const auto* settle = std::get_if<SettleCommand>(&command)) {
    for (const QueueRanges& part : settle->queues) {
      for (const NumberRange& range : part.sequences) {
        missing.found_in_log(part.queue, Sequence{range.first}, Sequence{range.last});
      }
    }
  } else if (const auto* deletion = std::get_if<DeleteQueueCommand>(&command)) {
    missing.forget(deletion->queue);
  }
}

}  // namespace segue::node
