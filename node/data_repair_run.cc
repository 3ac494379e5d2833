#include "node/data_repair_run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>
#include <string_view>

#include "common/program_error.h"
#include "node/data_check_run.h"
#include "node/data_repair_text.h"
#include "node/log_interpretation.h"
#include "node/shard_commands.h"
#include "segue/v1/shard_state.pb.h"
#include "storage/data_repair.h"
#include "storage/posix_file_system.h"
#include "storage/rehearsal_file_system.h"

namespace segue::node {

namespace {

/// "repair-20261130-124500", in UTC.
std::string folder_name() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "repair-%Y%m%d-%H%M%S", &parts);
  return std::string(text.data(), size);
}

constexpr std::uint64_t kDeadLettersUnknown = 1'000'000;

/// Nothing is known of deliveries: any message may have been delivered.
std::string shard_state(const std::string* before,
                        const std::vector<storage::RepairedQueue>& queues) {
  v1::ShardState state;
  if (before != nullptr && !state.ParseFromString(*before)) state.Clear();
  state.set_version(2);
  std::map<std::uint64_t, v1::QueueState*> known;
  for (v1::QueueState& queue : *state.mutable_queues()) known[queue.queue_id()] = &queue;
  for (const storage::RepairedQueue& queue : queues) {
    v1::QueueState*& saved = known[queue.id.value];
    if (saved == nullptr) {
      saved = state.add_queues();
      // Nor of dead letters: a number that other queues have seen must not be given again.
      saved->set_next_dead_letter(kDeadLettersUnknown + 2 * queue.last.value);
    }
    saved->set_queue_id(queue.id.value);
    saved->set_next_sequence(std::max(saved->next_sequence(), queue.last.next().value));
    saved->set_delivery_mark(std::max(saved->delivery_mark(), queue.last.value));
  }
  return state.SerializeAsString();
}

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

ExitCode fail(const Status& status) {
  tell_program_error("segue-node", status.message());
  return exit_code_of_failure(status);
}

}  // namespace

int run_data_repair(const std::string& directory, bool rehearsal, bool json) {
  storage::PosixFileSystem disk;
  storage::RehearsalFileSystem rehearsed(disk);
  storage::FileSystem& files = rehearsal ? static_cast<storage::FileSystem&>(rehearsed) : disk;
  storage::DataRepairOptions options;
  options.folder = folder_name();
  options.shard_state = shard_state;
  options.interpret = [](const storage::ReplayedRecord& record, storage::LogContent& content) {
    interpret(record, content);
  };
  options.filler = encode_command(SettleCommand{});
  bool printed = true;
  std::string steps;
  options.told = [&](const storage::RepairStep& step) {
    if (json) {
      steps += (steps.empty() ? "" : ",") + data_repair_step_json(step);
    } else {
      printed = print(data_repair_step_text(step, rehearsal)) && printed;
    }
  };
  const auto totals = storage::repair_data(files, directory, options);
  if (!totals.is_ok()) return fail(totals.status());
  // What a repair does not look at, damaged messages for one, is told, too.
  auto after = check_directory(files, directory);
  if (!after.is_ok()) return fail(after.status());
  const DataRepairResult result{directory, options.folder, rehearsal, *totals, std::move(*after)};
  printed = print(json ? data_repair_json(result, steps) : data_repair_summary(result)) && printed;
  return printed ? data_repair_exit_code(result) : kExitOutput;
}

}  // namespace segue::node
