#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "storage/data_check.h"

namespace segue::storage {

/// What a check of the directory of a ModelNode has told.
struct Checked {
  Status status;
  CheckTotals totals;
  std::vector<CheckFinding> problems;
  std::vector<CheckFinding> notes;

  std::string text() const {
    std::string all = status.to_string() + "\n";
    for (const auto* findings : {&problems, &notes}) {
      for (const CheckFinding& finding : *findings) {
        all += (findings == &notes ? "note: " : "problem: ") + finding.file + " offset " +
               (finding.offset ? std::to_string(*finding.offset) : "-") + " queue '" +
               finding.queue + "' sequence " +
               (finding.sequence ? std::to_string(*finding.sequence) : "-") + " messages " +
               std::to_string(finding.messages) + ": " + finding.what + "\n";
      }
    }
    return all;
  }
  bool told(const std::string& file) const {
    for (const auto* findings : {&problems, &notes}) {
      for (const CheckFinding& finding : *findings) {
        if ("/data/" + finding.file == file) return true;
      }
    }
    return false;
  }
};

inline Checked check(FileSystem& files, const std::string& directory = "/data",
                     bool catalog = false) {
  Checked checked;
  DataCheckOptions options;
  options.catalog = catalog;
  options.found = [&](const CheckFinding& finding) {
    (finding.kind == CheckFinding::Kind::kProblem ? checked.problems : checked.notes)
        .push_back(finding);
  };
  options.interpret = [](const ReplayedRecord& record, MissingMessages& missing) {
    std::istringstream in{std::string(record.command.view())};
    char kind = 0;
    std::uint64_t queue = 0, first = 0, last = 0;
    in >> kind >> queue >> first >> last;
    if (kind == 'D') {
      missing.forget(QueueId{queue});
    } else {
      missing.found_in_log(QueueId{queue}, Sequence{first}, Sequence{last});
    }
  };
  options.content = [](const ReplayedRecord& record, LogContent& content) {
    std::istringstream in{std::string(record.command.view())};
    char kind = 0;
    std::uint64_t queue = 0, first = 0, last = 0;
    in >> kind >> queue >> first >> last;
    if (kind == 'E') content.enqueued(QueueId{queue}, Sequence{first}, Sequence{last});
    if (kind == 'S') content.settled(QueueId{queue}, Sequence{first}, Sequence{last});
    if (kind == 'D') content.deleted(QueueId{queue});
  };
  const auto totals = check_data(files, directory, options);
  checked.status = totals.is_ok() ? Status() : totals.status();
  if (totals.is_ok()) checked.totals = *totals;
  return checked;
}

}  // namespace segue::storage
