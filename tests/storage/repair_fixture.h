#pragma once

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "storage/data_repair.h"
#include "storage/rehearsal_file_system.h"
#include "tests/storage/model_node.h"

namespace segue::storage {

struct Repaired {
  Status status;
  RepairTotals totals;
  std::string text;  // of all steps
};

/// Of the directory of a ModelNode.
inline Repaired repair(FileSystem& files) {
  Repaired done;
  DataRepairOptions options;
  options.folder = "repair-now";
  options.filler = "N";
  options.interpret = [](const ReplayedRecord& record, LogContent& content) {
    std::istringstream in(std::string(record.command.view()));
    char kind = 0;
    std::uint64_t queue = 0, first = 0, last = 0;
    in >> kind >> queue >> first >> last;
    if (kind == 'E') content.enqueued(QueueId{queue}, Sequence{first}, Sequence{last});
    if (kind == 'S') content.settled(QueueId{queue}, Sequence{first}, Sequence{last});
    if (kind == 'D') content.deleted(QueueId{queue});
  };
  options.shard_state = [](const std::string* before, const std::vector<RepairedQueue>& queues) {
    std::map<std::uint64_t, std::uint64_t> next;
    if (before != nullptr) {
      std::istringstream in(*before);
      for (std::uint64_t queue = 0, its_next = 0; in >> queue >> its_next;) next[queue] = its_next;
    }
    for (const RepairedQueue& queue : queues) {
      std::uint64_t& its_next = next[queue.id.value];
      its_next = std::max(its_next, queue.last.value + 1);
    }
    std::string state;
    for (const auto& [queue, its_next] : next) {
      state += std::to_string(queue) + " " + std::to_string(its_next) + "\n";
    }
    return state;
  };
  options.told = [&](const RepairStep& step) {
    done.text += (step.done ? "" : "NOT ") + step.file + ": " + step.what + "\n";
  };
  const auto totals = repair_data(files, "/data", options);
  done.status = totals.status();
  if (totals.is_ok()) done.totals = *totals;
  return done;
}

/// Only tells what the repair would do.
inline Repaired rehearse(FileSystem& files) {
  RehearsalFileSystem rehearsed(files);
  return repair(rehearsed);
}

/// Everything that is on the disk.
inline std::map<std::string, std::string> contents(const FaultyFileSystem& files) {
  std::map<std::string, std::string> all;
  for (const std::string& path : files.paths()) all[path] = files.content(path);
  return all;
}

}  // namespace segue::storage
