// What a repair does with the write-ahead log.
#include <algorithm>
#include <map>
#include <utility>

#include "common/counted.h"
#include "storage/interrupted_repair.h"
#include "storage/node_repair.h"
#include "storage/wal_format.h"

namespace segue::storage {

namespace {

constexpr std::uint64_t kSmallestLogFile = 64u << 10;
constexpr std::uint64_t kLargestLogFile = 64u << 20;
constexpr std::size_t kHolesTold = 5;
// In the log being made, once it is whole, and once the old log is away.
constexpr const char* kWholeMark = "/whole";
constexpr const char* kBegunMark = "/in-place";

std::string shard_text(ShardId shard) {
  return shard == kCatalogShard ? "the catalog" : "shard " + std::to_string(shard.value);
}

std::string holes_text(const std::vector<WalHole>& holes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(holes.size(), kHolesTold); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(holes[i].first.value) + ".." +
            std::to_string(holes[i].last.value) + " of " + shard_text(holes[i].shard);
  }
  if (holes.size() > kHolesTold) text += ", and more";
  return text;
}

}  // namespace

/// INVALID_CONFIG for another node's, or a newer one.
Status NodeRepair::read_log() {
  const std::string directory = work_.path_of("wal");
  const std::uint64_t node_hash = wal_node_hash(identity_.cluster, identity_.node_id);
  SEGUE_RETURN_IF_ERROR(correct_wal_names(work_, directory, node_hash));
  salvage_.emplace(work_.files(), directory, node_hash);
  auto survey = salvage_->survey(applied_, options_.interpret);
  if (!survey.is_ok()) return survey.status();
  survey_ = std::move(*survey);
  return {};
}

/// A repair that ended after it had written a log, or while it did.
Status NodeRepair::finish_interrupted() {
  const std::string made = work_.path_of(kMadeLog);
  if (!work_.files().exists(made)) return {};
  if (work_.files().exists(made + kWholeMark)) {
    RepairLoss loss;
    loss.more = true;
    work_.done(made,
               "is the log that an interrupted repair has made: it takes its place. What was lost, "
               "that repair has told, or would have",
               {}, loss);
    return install_log();
  }
  return remove_made_log();
}

Status NodeRepair::remove_made_log() {
  const std::string made = work_.path_of(kMadeLog);
  // First what says that it counts.
  SEGUE_RETURN_IF_ERROR(work_.files().remove(made + kWholeMark));
  SEGUE_RETURN_IF_ERROR(work_.files().sync_directory(made));
  auto names = work_.files().list(made);
  if (!names.is_ok()) return names.status();
  for (const std::string& name : *names) {
    SEGUE_RETURN_IF_ERROR(work_.files().remove(made + "/" + name));
  }
  SEGUE_RETURN_IF_ERROR(work_.files().remove_directory(made));
  return work_.files().sync_directory(work_.directory());
}

/// From now on the log that was made counts, also if what follows is interrupted.
Status NodeRepair::mark_made_log() {
  const std::string made = work_.path_of(kMadeLog);
  auto mark = work_.files().open(made + kWholeMark, OpenMode::kReadWrite);
  if (!mark.is_ok()) return mark.status();
  SEGUE_RETURN_IF_ERROR((*mark)->sync());
  SEGUE_RETURN_IF_ERROR(work_.files().sync_directory(made));
  return work_.files().sync_directory(work_.directory());
}

/// Takes the old log away and puts the one that was made in its place. Its files have higher
/// numbers.
Status NodeRepair::install_log() {
  FileSystem& files = work_.files();
  const std::string made = work_.path_of(kMadeLog);
  const std::string log = work_.path_of("wal");
  auto made_names = files.list(made);
  if (!made_names.is_ok()) return made_names.status();
  SEGUE_RETURN_IF_ERROR(files.make_directories(log));
  auto names = files.list(log);
  if (!names.is_ok()) return names.status();
  // Before the first new file has its name there, none of the old ones is left.
  const bool begun = files.exists(made + kBegunMark);
  for (const std::string& name : *names) {
    if (begun || !parse_wal_file_name(name)) continue;
    SEGUE_RETURN_IF_ERROR(work_.move_aside(log + "/" + name));
  }
  auto mark = files.open(made + kBegunMark, OpenMode::kReadWrite);
  if (!mark.is_ok()) return mark.status();
  SEGUE_RETURN_IF_ERROR((*mark)->sync());
  SEGUE_RETURN_IF_ERROR(files.sync_directory(made));
  for (const std::string& name : *made_names) {
    if (!parse_wal_file_name(name)) continue;
    SEGUE_RETURN_IF_ERROR(files.rename(made + "/" + name, log + "/" + name));
  }
  SEGUE_RETURN_IF_ERROR(files.sync_directory(log));
  SEGUE_RETURN_IF_ERROR(files.sync_directory(made));
  return remove_made_log();
}

WalRecoveryOptions NodeRepair::log_options() const {
  return {work_.path_of("wal"), wal_node_hash(identity_.cluster, identity_.node_id), applied_};
}

Status NodeRepair::repair_log() {
  auto log =
      recover_wal(work_.files(), log_options(), [](const ReplayedRecord&) { return Status(); });
  if (!log.is_ok() && log.status().code() != Code::kCorruption) return log.status();
  if (!log.is_ok()) return rewrite_log(log.status().message());
  const auto changes = survey_.records.find(kCatalogShard);
  if (catalog_ && changes != survey_.records.end() &&
      changes->second.front().first > catalog_->next().value) {
    return rewrite_log(
        "the log goes on with change " + std::to_string(changes->second.front().first) +
        " of the catalog, but catalog.db ends at " + std::to_string(catalog_->value));
  }
  log_ = std::move(*log);
  return {};
}

Status NodeRepair::rewrite_log(const std::string& reason) {
  const std::string made = work_.path_of(kMadeLog);
  const std::uint64_t first_file = std::max(survey_.highest_file + 1, log_ends_.noted().last_file);
  WalSalvage::Rules rules{applied_, options_.filler, {kCatalogShard}};
  if (catalog_) rules.applied[kCatalogShard] = *catalog_;
  const std::uint64_t file_bytes =
      std::clamp(survey_.largest_file, kSmallestLogFile, kLargestLogFile);
  auto written = salvage_->write(made, first_file, file_bytes, rules);
  if (!written.is_ok()) return written.status();
  RepairLoss loss;
  std::string what = reason + ". A log is written of the " + counted(written->records, "record") +
                     " that are needed and can be read; the old one is moved to " + work_.folder();
  if (!survey_.unreadable.empty()) {
    what += ". Of " + counted(survey_.unreadable.size(), "file") + " (" +
            survey_.unreadable.front() +
            ") nothing can be read: where the log ends with such a file, nothing tells how many "
            "records, and messages, it had";
    loss.more = true;
  }
  if (!survey_.cut.empty()) {
    what += ". Of " + counted(survey_.cut.size(), "file") + " (" + survey_.cut.front() +
            ") the end is missing: nothing tells how many records, and messages, stood there";
    loss.more = true;
  }
  if (survey_.missing_groups > 0) {
    what += ". " + counted(survey_.missing_groups, "group") +
            " of records in its middle cannot be read: of shards that have no record behind these, "
            "nothing tells how many they had";
    loss.more = true;
  }
  if (!written->holes.empty()) {
    what += ". Missing: records " + holes_text(written->holes) +
            ". In their places stand commands that change nothing";
  }
  for (const auto& [shard, records] : written->dropped) {
    what += ". Left out, since they depend on missing ones: " + counted(records, "record") +
            " of " + shard_text(shard);
    loss.log_records += records;
    loss.more = true;
  }
  for (const WalHole& hole : written->holes) {
    if (hole.shard != kCatalogShard) continue;  // those of shards are told with their checkpoints
    loss.log_records += hole.last.value - hole.first.value + 1;
    loss.more = true;
  }
  work_.done(work_.path_of("wal"), std::move(what), {}, loss);
  for (const auto& [shard, end] : written->ends) log_.ends.push_back({shard, end});
  log_.next_file = first_file + 1;
  log_.numbers = {first_file};
  log_.last_written = first_file;
  SEGUE_RETURN_IF_ERROR(mark_made_log());
  return install_log();
}

}  // namespace segue::storage
