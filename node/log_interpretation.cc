#include "node/log_interpretation.h"

#include <variant>

#include "node/missing_notes.h"
#include "node/shard_commands.h"

namespace segue::node {

void interpret(const storage::ReplayedRecord& record, storage::MissingMessages& missing) {
  const auto command = decode_command(record.command, record.bodies);
  if (command.is_ok()) note_in_log(*command, missing);
}

void interpret(const storage::ReplayedRecord& record, storage::LogContent& content) {
  const auto command = decode_command(record.command, record.bodies);
  if (!command.is_ok()) return;
  if (const auto* enqueue = std::get_if<EnqueueCommand>(&*command)) {
    for (const EnqueueTarget& target : enqueue->targets) {
      const std::uint32_t count = target.count(*enqueue->batch);
      if (count > 0) content.enqueued(target.queue, target.first, target.first.next(count - 1));
    }
    for (const NumberRange& range : enqueue->taken.sequences) {
      content.settled(enqueue->taken.queue, Sequence{range.first}, Sequence{range.last});
    }
  } else if (const auto* settle = std::get_if<SettleCommand>(&*command)) {
    for (const QueueRanges& part : settle->queues) {
      for (const NumberRange& range : part.sequences) {
        content.settled(part.queue, Sequence{range.first}, Sequence{range.last});
      }
    }
  } else if (const auto* deletion = std::get_if<DeleteQueueCommand>(&*command)) {
    content.deleted(deletion->queue);
  }
}

}  // namespace segue::node
