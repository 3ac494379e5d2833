#include "node/data_repair_run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>
#include <string_view>
#include <variant>
#include <vector>

#include "common/json_string.h"
#include "common/program_error.h"
#include "node/data_check_text.h"
#include "node/shard_commands.h"
#include "segue/v1/shard_state.pb.h"
#include "storage/data_repair.h"
#include "storage/posix_file_system.h"

namespace segue::node {

namespace {

// The program's exit codes (docs/operations.md).
constexpr int kRepaired = 0;
constexpr int kNotAll = 1;
constexpr int kStorage = 71;
constexpr int kDataDirectory = 73;
constexpr int kOutput = 74;

/// "repair-20261130-124500", in UTC.
std::string folder_name() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "repair-%Y%m%d-%H%M%S", &parts);
  return std::string(text.data(), size);
}

/// Nothing is known of deliveries: any message may have been delivered.
std::string shard_state(const std::string* before,
                        const std::vector<storage::RepairedQueue>& queues) {
  v1::ShardState state;
  if (before != nullptr && !state.ParseFromString(*before)) state.Clear();
  state.set_version(1);
  std::map<std::uint64_t, v1::QueueState*> known;
  for (v1::QueueState& queue : *state.mutable_queues()) known[queue.queue_id()] = &queue;
  for (const storage::RepairedQueue& queue : queues) {
    v1::QueueState*& saved = known[queue.id.value];
    if (saved == nullptr) saved = state.add_queues();
    saved->set_queue_id(queue.id.value);
    saved->set_next_sequence(std::max(saved->next_sequence(), queue.last.next().value));
    saved->set_delivery_mark(std::max(saved->delivery_mark(), queue.last.value));
  }
  return state.SerializeAsString();
}

void interpret(const storage::ReplayedRecord& record, storage::LogContent& content) {
  const auto command = decode_command(record.command, record.bodies);
  if (!command.is_ok()) return;
  if (const auto* enqueue = std::get_if<EnqueueCommand>(&*command)) {
    for (const EnqueueTarget& target : enqueue->targets) {
      const std::uint32_t count = target.count(*enqueue->batch);
      if (count > 0) content.enqueued(target.queue, target.first, target.first.next(count - 1));
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

std::string text_of(const storage::RepairStep& step, bool rehearsal) {
  std::string text = !step.done ? "NOT REPAIRED " : rehearsal ? "would repair " : "repaired ";
  text += data_check_printable(step.file);
  if (!step.queue.empty()) text += " (queue " + data_check_printable(step.queue) + ")";
  return text + ":\n    " + data_check_printable(step.what) + "\n";
}

std::string json_of(const storage::RepairStep& step) {
  std::string json = std::string("{\"repaired\":") + (step.done ? "true" : "false") + ",\"file\":";
  append_json_string(json, step.file);
  json += ",\"queue\":";
  append_json_string(json, step.queue);
  json += ",\"what\":";
  append_json_string(json, step.what);
  return json + "}";
}

std::string summary(const storage::RepairTotals& totals, bool rehearsal,
                    const std::string& folder) {
  const std::string nodes = std::to_string(totals.nodes) + (totals.nodes == 1 ? " node" : " nodes");
  if (totals.repairs + totals.left == 0) {
    return "Nothing keeps " + nodes + " from starting: nothing to repair.\n";
  }
  std::string text = (totals.repairs + totals.left > 0 ? "\n" : "") +
                     std::to_string(totals.repairs) +
                     (totals.repairs == 1 ? " repair, " : " repairs, ") +
                     std::to_string(totals.left) + " left to you: " + nodes + "\n";
  if (rehearsal) return text + "Nothing was changed: this is what a repair would do.\n";
  if (totals.repairs > 0) {
    text += "What was replaced is in the folder " + folder +
            " of the node's directory; remove it when all is well.\n";
  }
  return text;
}

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

}  // namespace

int run_data_repair(const std::string& directory, bool rehearsal, bool json) {
  storage::PosixFileSystem files;
  storage::DataRepairOptions options;
  options.rehearsal = rehearsal;
  options.folder = folder_name();
  options.shard_state = shard_state;
  options.interpret = interpret;
  options.filler = encode_command(SettleCommand{});
  bool printed = true;
  std::string steps;
  options.told = [&](const storage::RepairStep& step) {
    if (json) {
      steps += (steps.empty() ? "" : ",") + json_of(step);
    } else {
      printed = print(text_of(step, rehearsal)) && printed;
    }
  };
  const auto totals = storage::repair_data(files, directory, options);
  if (!totals.is_ok()) {
    tell_program_error("segue-node", totals.status().message());
    return totals.status().code() == Code::kInvalidConfig ? kDataDirectory : kStorage;
  }
  std::string text = summary(*totals, rehearsal, options.folder);
  if (json) {
    text = "{\"directory\":";
    append_json_string(text, directory);
    text += std::string(",\"rehearsal\":") + (rehearsal ? "true" : "false") + ",\"folder\":";
    append_json_string(text, options.folder);
    text += ",\"nodes\":" + std::to_string(totals->nodes) +
            ",\"repairs\":" + std::to_string(totals->repairs) +
            ",\"left\":" + std::to_string(totals->left) + ",\"steps\":[" + steps + "]}\n";
  }
  if (!print(text) || !printed) return kOutput;
  return totals->left > 0 ? kNotAll : kRepaired;
}

}  // namespace segue::node
