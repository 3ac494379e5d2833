#include "storage/node_repair.h"

#include <algorithm>
#include <utility>

#include "common/counted.h"
#include "storage/catalog_db.h"
#include "storage/catalog_image.h"
#include "storage/checkpoint_mend.h"
#include "storage/segment_format.h"
#include "storage/segment_names.h"
#include "storage/shard_names.h"

namespace segue::storage {

namespace {

constexpr const char* kCopyCatalog =
    "Copy the catalog.db of another node, the one that names the highest index "
    "(docs/operations.md, 'When the leader's disk is lost')";

/// What a start tells besides is not what a repair is asked for.
std::string without_advice(const Status& status) {
  const std::string& text = status.message();
  return text.substr(0, text.find(". Files were removed"));
}

}  // namespace

NodeRepair::NodeRepair(RepairWork& work, const DataRepairOptions& options)
    : work_(work), options_(options), log_ends_(work.files(), work.directory()) {}

Status NodeRepair::run() {
  auto identity = DataDirectory::read_identity(work_.files(), work_.directory());
  if (!identity.is_ok()) {
    work_.cannot(work_.path_of("identity"),
                 identity.status().message() +
                     ". It never changes: restore it from any backup of the directory. Nothing "
                     "else is repaired without it");
    return {};
  }
  identity_ = std::move(*identity);
  SEGUE_RETURN_IF_ERROR(finish_interrupted());
  const Status noted = log_ends_.load();  // a damaged one is made anew by the next start
  if (!noted.is_ok() && noted.code() != Code::kCorruption) return noted;
  SEGUE_RETURN_IF_ERROR(correct_shard_names(work_, identity_.shard_count));
  SEGUE_RETURN_IF_ERROR(read_checkpoints());
  SEGUE_RETURN_IF_ERROR(repair_segment_names());
  const Status log = read_log();
  if (log.code() == Code::kInvalidConfig) {
    work_.cannot(work_.path_of("wal"), log.message());
    return {};
  }
  SEGUE_RETURN_IF_ERROR(log);
  SEGUE_RETURN_IF_ERROR(repair_catalog());
  SEGUE_RETURN_IF_ERROR(repair_shards());
  SEGUE_RETURN_IF_ERROR(repair_log());
  return repair_log_ends();
}

// ---- the catalog

/// Only the leader logs the catalog's changes.
bool NodeRepair::leads_catalog() const {
  const auto noted = log_ends_.noted().ends.find(kCatalogShard);
  return survey_.records.contains(kCatalogShard) ||
         (noted != log_ends_.noted().ends.end() && noted->second > LogIndex{0});
}

Status NodeRepair::repair_catalog() {
  const std::string path = work_.path_of("catalog.db");
  if (!work_.files().exists(path)) {
    if (leads_catalog()) {
      work_.cannot(path,
                   "is missing, and this node leads the catalog. " + std::string(kCopyCatalog));
    }
    return {};
  }
  auto image = read_catalog_image(work_.files(), path);
  Status damage = image.status();
  if (image.is_ok()) {
    auto catalog = CatalogDb::open_image(path, image->bytes);
    damage = catalog.status();
    if (damage.is_ok()) {
      const auto content = (*catalog)->load();
      damage = content.status();
      if (content.is_ok()) {
        catalog_ = LogIndex((*catalog)->applied().value);
        queues_.emplace(*content);
      }
    }
  }
  if (damage.is_ok()) return {};
  if (damage.code() == Code::kInvalidConfig) {
    work_.cannot(path, damage.message() +
                           ". If no newer Segue made it, it is damaged: move it away, and the node "
                           "that leads the catalog gives it to this one again. If this one leads "
                           "it: " +
                           kCopyCatalog);
    return {};
  }
  if (damage.code() != Code::kCorruption) return damage;
  if (leads_catalog()) {
    work_.cannot(path, damage.message() + ". This node leads the catalog. " + kCopyCatalog);
    return {};
  }
  if (log_ends_.noted() == LogNote{}) {
    work_.cannot(path,
                 damage.message() +
                     ". Nothing tells whether this node leads the catalog, since log_ends is "
                     "missing or damaged too. If it does not: move catalog.db away, and it is "
                     "given to this node again. If it does: " +
                     kCopyCatalog);
    return {};
  }
  work_.done(path, damage.message() + ". It is moved to " + work_.folder() +
                       "; the node that leads the catalog gives it to this one again");
  for (const char* const name : {"catalog.db-wal", "catalog.db-shm", "catalog.db"}) {
    SEGUE_RETURN_IF_ERROR(work_.move_aside(work_.path_of(name)));
  }
  return {};
}

// ---- the shards

Status NodeRepair::read_checkpoints() {
  for (std::uint32_t number = 0; number < identity_.shard_count; ++number) {
    const ShardId shard{static_cast<std::uint16_t>(number)};
    const std::string directory = work_.path_of("shards/" + std::to_string(number));
    auto read = read_checkpoint(work_.files(), directory);
    if (read.is_ok() && read->has_value() && (*read)->shard != shard) {
      read = another_shards(directory + "/checkpoint", (*read)->shard);
    }
    if (!read.is_ok() && read.status().code() != Code::kCorruption) return read.status();
    if (!read.is_ok()) SEGUE_RETURN_IF_ERROR(mend(shard, directory, read));
    applied_[shard] = read.is_ok() && read->has_value() ? (*read)->applied : LogIndex{0};
    checkpoints_.emplace(shard, std::move(read));
  }
  return {};
}

/// Of a checkpoint in which one byte was damaged nothing is lost.
Status NodeRepair::mend(ShardId shard, const std::string& directory,
                        Result<std::optional<Checkpoint>>& read) {
  const std::string path = directory + "/checkpoint";
  auto file = work_.files().open(path, OpenMode::kRead);
  if (!file.is_ok()) return file.status();
  auto size = (*file)->size();
  if (!size.is_ok()) return size.status();
  std::string bytes(static_cast<std::size_t>(*size), '\0');
  const auto got = (*file)->read(0, bytes.data(), bytes.size());
  if (!got.is_ok()) return got.status();
  bytes.resize(*got);
  const auto mended = mend_checkpoint(std::move(bytes));
  if (!mended) return {};
  auto checkpoint = Checkpoint::decode(mended->bytes);
  if (!checkpoint.is_ok() || checkpoint->shard != shard) return {};
  work_.done(path, read.status().message() + ". One byte was changed, that at offset " +
                       std::to_string(mended->offset) +
                       ": it is set right, and then the checkpoint is whole");
  SEGUE_RETURN_IF_ERROR(work_.keep_copy(path));
  SEGUE_RETURN_IF_ERROR(
      write_checkpoint(work_.files(), directory, *checkpoint, work_.context().fatal));
  read = std::optional<Checkpoint>(std::move(*checkpoint));
  return work_.failure();
}

Status NodeRepair::repair_segment_names() {
  std::map<ShardId, const Checkpoint*> known;
  for (const auto& [shard, read] : checkpoints_) {
    if (read.is_ok() && read->has_value()) known.emplace(shard, &**read);
  }
  return correct_segment_names(work_, known);
}

Status NodeRepair::repair_shards() {
  for (std::uint32_t shard = 0; shard < identity_.shard_count; ++shard) {
    SEGUE_RETURN_IF_ERROR(repair_shard(ShardId{static_cast<std::uint16_t>(shard)}));
  }
  return {};
}

NodeRepair::Fit NodeRepair::fit_of(ShardId shard, const Checkpoint* checkpoint) const {
  const auto in_log = survey_.records.find(shard);
  const auto noted = log_ends_.noted().ends.find(shard);
  const std::uint64_t known = noted == log_ends_.noted().ends.end() ? 0 : noted->second.value;
  const std::uint64_t base = checkpoint == nullptr ? 0 : checkpoint->applied.value;
  // Any start makes the file that tells how far the log was.
  Fit fit{LogIndex{std::max(base, known)}, {}, log_ends_.noted() == LogNote{}};
  std::uint64_t end = known;
  if (in_log != survey_.records.end()) {
    const std::uint64_t first = in_log->second.front().first;
    // A checkpoint that is lost covered what the log does not have any more.
    fit.applied = LogIndex{checkpoint != nullptr && first <= base + 1 ? base : first - 1};
    end = std::max(end, in_log->second.highest());
  }
  const std::uint64_t begin = checkpoint == nullptr ? fit.applied.value : base;
  if (end <= begin) return fit;
  fit.missing.add({begin + 1, end});
  if (in_log == survey_.records.end()) return fit;
  for (const auto& [first, last] : in_log->second.ranges()) fit.missing.remove({first, last});
  return fit;
}

std::string NodeRepair::reason_of(ShardId shard, const Fit& fit, std::uint64_t unlogged) const {
  const auto& read = checkpoints_.at(shard);
  if (!read.is_ok()) return read.status().message();
  const std::string end = std::to_string(applied_.at(shard).value);
  if (!read->has_value()) {
    return fit.applied == LogIndex{0}
               ? "is missing"
               : "is missing, though " + counted(fit.applied.value, "record") +
                     " of the shard are not in the log any more";
  }
  if (!fit.missing.empty()) {
    return "ends at record " + end + ", and the log does not go on behind it without a hole";
  }
  return "ends at record " + end + ", and the queues' files have " + counted(unlogged, "message") +
         " that neither it nor the log knows: the log's last files are lost, or it is an older "
         "copy";
}

Status NodeRepair::repair_shard(ShardId shard) {
  const std::string directory = work_.path_of("shards/" + std::to_string(shard.value));
  auto& read = checkpoints_.at(shard);
  const Checkpoint* const checkpoint = read.is_ok() && read->has_value() ? &**read : nullptr;
  Fit fit = fit_of(shard, checkpoint);
  std::uint64_t unlogged = 0;
  ShardRepair repair(work_, shard, directory, survey_.content, queues_ ? &*queues_ : nullptr);
  if (read.is_ok() && fit.missing.empty()) {
    const auto counted = repair.count_unlogged(checkpoint);
    if (!counted.is_ok()) return counted.status();
    unlogged = *counted;
    // Of what a lost checkpoint covered the log does not have all.
    const bool covered = checkpoint == nullptr && fit.applied > LogIndex{0};
    fit.end_unknown = fit.end_unknown || (unlogged > 0 && !covered);
  }
  if (read.is_ok() && fit.missing.empty() && unlogged == 0) {
    if (checkpoint != nullptr) {
      shards_.push_back({shard, checkpoint->applied, {}, {}, {}});
      return repair.repair_segments(std::move(**read));
    }
    if (fit.applied == LogIndex{0}) return {};  // never was one: all is in the log
  }
  return make_checkpoint(shard, fit, reason_of(shard, fit, unlogged));
}

Status NodeRepair::make_checkpoint(ShardId shard, const Fit& fit, const std::string& reason) {
  const std::string directory = work_.path_of("shards/" + std::to_string(shard.value));
  const auto& read = checkpoints_.at(shard);
  const Checkpoint* const before = read.is_ok() && read->has_value() ? &**read : nullptr;
  applied_[shard] = fit.applied;
  shards_.push_back({shard, fit.applied, {}, {}, {}});
  SEGUE_RETURN_IF_ERROR(
      ShardRepair(work_, shard, directory, survey_.content, queues_ ? &*queues_ : nullptr)
          .make_checkpoint(fit.applied, {reason, fit.missing, fit.end_unknown, before},
                           options_.shard_state));
  SEGUE_RETURN_IF_ERROR(work_.files().sync_directory(work_.path_of("shards")));
  return work_.files().sync_directory(work_.directory());
}

// ---- log_ends

Status NodeRepair::repair_log_ends() {
  Status reached = log_ends_.check(identity_.shard_count, shards_, log_);
  const auto noted = log_ends_.noted().ends.find(kCatalogShard);
  if (reached.is_ok() && catalog_ && noted != log_ends_.noted().ends.end()) {
    LogIndex end = *catalog_;
    for (const Committed& in_log : log_.ends) {
      if (in_log.shard == kCatalogShard) end = std::max(end, in_log.up_to);
    }
    if (end < noted->second) {
      reached = Status(Code::kCorruption, "the catalog ends at change " +
                                              std::to_string(end.value) + ", but change " +
                                              std::to_string(noted->second.value) + " was durable");
    }
  }
  if (reached.is_ok()) return {};
  RepairLoss loss;
  loss.more = true;
  work_.done(work_.path_of("log_ends"),
             without_advice(reached) +
                 ". The node goes on without them, and what they had is lost, but for what the "
                 "queues' files have of it: log_ends, which tells of them, is moved to " +
                 work_.folder() + ", and the next start makes it anew",
             {}, loss);
  tell_of_unknown_queues();
  return work_.move_aside(work_.path_of("log_ends"));
}

/// The leader of a catalog does not start with queues that it cannot know yet.
void NodeRepair::tell_of_unknown_queues() {
  if (!leads_catalog() || !queues_) return;
  QueueId highest{0};
  for (const auto& [id, queue] : survey_.content.queues()) {
    highest = std::max(highest, queue_of_lane(id));
  }
  for (std::uint32_t shard = 0; shard < identity_.shard_count; ++shard) {
    const auto names =
        work_.files().list(work_.path_of("shards/" + std::to_string(shard) + "/queues"));
    if (!names.is_ok()) continue;
    for (const std::string& name : *names) {
      const QueueId id = queue_of_directory_name(name).value_or(QueueId{0});
      highest = std::max(highest, queue_of_lane(id));
    }
  }
  if (highest <= queues_->last_id()) return;
  work_.cannot(work_.path_of("catalog.db"),
               "knows queues up to number " + std::to_string(queues_->last_id().value) +
                   ", but there are messages of queue number " + std::to_string(highest.value) +
                   ": the log that had the catalog's last changes is lost, and this node leads the "
                   "catalog. " +
                   std::string(kCopyCatalog));
}

}  // namespace segue::storage
