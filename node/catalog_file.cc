#include "node/catalog_file.h"

#include <algorithm>
#include <utility>

namespace segue::node {
namespace {

// A commit costs a sync on the disk that the log is on: many entries share one.
constexpr Duration kCollect = std::chrono::milliseconds(200);
constexpr Duration kRetry = std::chrono::seconds(1);
// More than this is not kept in memory for a file that cannot be written.
constexpr std::size_t kMostWaitingChanges = 200'000;

}  // namespace

CatalogFile::CatalogFile(std::unique_ptr<storage::CatalogDb> db, const CatalogState& state,
                         storage::DiskDataCenter& disk, Logger& log, Durable durable)
    : db_(std::move(db)), state_(state), disk_(disk), log_(log), durable_(std::move(durable)) {}

void CatalogFile::add(const v1::CatalogEntry& entry) {
  if (replace_) return;  // the state that will be written has it
  if (waiting_.empty()) not_before_ = std::max(not_before_, now_ + kCollect);
  waiting_.push_back(entry);
  waiting_changes_ += static_cast<std::size_t>(entry.changes_size());
  if (waiting_changes_ > kMostWaitingChanges) replace();
}

void CatalogFile::replace() {
  replace_ = true;
  waiting_.clear();
  waiting_changes_ = 0;
}

void CatalogFile::on_turn(TimePoint now, bool at_once) {
  now_ = now;
  if (writing_ || !behind() || (now < not_before_ && !at_once)) return;
  write();
}

void CatalogFile::write() {
  struct Work {
    std::vector<v1::CatalogEntry> entries;
    Status result;
  };
  auto work = std::make_shared<Work>();
  const bool replaces = std::exchange(replace_, false);
  const CatalogIndex index = state_.index();
  work->entries = replaces ? state_.snapshot() : std::exchange(waiting_, {});
  waiting_changes_ = 0;
  writing_ = true;
  disk_.run_in_background(
      [db = db_, work, replaces, index] {
        work->result = replaces ? db->replace_all(work->entries, index) : db->apply(work->entries);
      },
      [this, work, replaces, index] {
        on_written(work->result, replaces, index, std::move(work->entries));
      });
}

void CatalogFile::on_written(const Status& result, bool replaced, CatalogIndex index,
                             std::vector<v1::CatalogEntry> entries) {
  writing_ = false;
  if (result.is_ok()) {
    durable_(index);
    return;
  }
  log_.error("catalog_file_not_written", {{"index", index}, {"reason", result}});
  not_before_ = now_ + kRetry;
  if (replaced || replace_) {
    replace();
    return;
  }
  // What failed goes before what came meanwhile.
  for (v1::CatalogEntry& entry : waiting_) entries.push_back(std::move(entry));
  waiting_ = std::move(entries);
  waiting_changes_ = 0;
  for (const v1::CatalogEntry& entry : waiting_) {
    waiting_changes_ += static_cast<std::size_t>(entry.changes_size());
  }
  if (waiting_changes_ > kMostWaitingChanges) replace();
}

}  // namespace segue::node
