#include "storage/node_check.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "common/counted.h"
#include "storage/backup_manifest.h"
#include "storage/catalog_db.h"
#include "storage/catalog_image.h"
#include "storage/checkpoint_file.h"
#include "storage/interrupted_repair.h"
#include "storage/manifest_check.h"
#include "storage/online_backup.h"
#include "storage/quarantine_record.h"
#include "storage/queue_check.h"
#include "storage/queue_salvage.h"
#include "storage/wal_check.h"

namespace segue::storage {

namespace {

std::optional<std::uint16_t> shard_number(std::string_view name) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || std::to_string(number) != name) return {};
  return number;
}

}  // namespace

NodeCheck::NodeCheck(FileSystem& files, CheckReport& report, std::string directory,
                     const DataCheckOptions& options)
    : files_(files),
      report_(report),
      directory_(std::move(directory)),
      options_(options),
      no_log_(null_log_sink(), clock_, Logger::Options{LogLevel::kOff, 0}),
      context_{files_, no_log_, directory_, 0, [](const Status&) {}},
      log_ends_(files_, directory_) {}

void NodeCheck::run() {
  report_.node();
  check_names();
  check_manifest(files_, directory_, report_);
  check_identity();
  check_log_ends_file();
  check_quarantine();
  check_shards();
  check_log();
  if (options_.catalog) check_catalog();
  check_ends();
  report_losses();
  report_unnamed();
}

void NodeCheck::check_names() {
  const std::set<std::string> known{"identity",       "node.lock",        "wal",
                                    "shards",         "catalog.db",       "catalog.db-wal",
                                    "catalog.db-shm", "log_ends",         "lost+found",
                                    "quarantine",     kBackupManifestName};
  const std::set<std::string> unfinished{"identity.new", "log_ends.new", "catalog.db-journal",
                                         "wal.repaired"};
  const auto names = files_.list(directory_);
  if (!names.is_ok()) return report_.problem(directory_, names.status());
  for (const std::string& name : *names) {
    if (known.contains(name)) continue;
    if (name.starts_with("repair-")) {
      report_.note(path_of(name), "what a repair has replaced; remove it when all is well");
      continue;
    }
    if (name == kMovedSegments || name == kMovedShards) {
      report_.problem(
          path_of(name),
          "files that an interrupted repair was moving: run segue check --repair again; "
          "the node does not start before that");
    } else if (name == kMadeLog && files_.exists(path_of(kMadeLogCounts))) {
      report_.problem(
          path_of(name),
          "the log that an interrupted repair has made: run segue check --repair again; "
          "the node does not start before that");
    } else if (name == kBackupLinksName) {
      report_.note(path_of(name),
                   "second names that a backup needed when the process ended; the next start "
                   "removes them");
    } else if (unfinished.contains(name)) {
      report_.note(path_of(name), "was being written when the process ended; it means nothing");
    } else {
      report_.problem(path_of(name), "is no file of Segue; it is left alone");
    }
  }
}

void NodeCheck::check_identity() {
  auto identity = DataDirectory::read_identity(files_, directory_);
  if (identity.is_ok()) {
    report_.file();
    identity_ = std::move(*identity);
  } else if (identity.status().code() == Code::kNotFound || !files_.exists(path_of("identity"))) {
    report_.problem(path_of("identity"),
                    "is missing: the node does not start. Restore it from a backup");
  } else {
    report_.problem(path_of("identity"), identity.status());
  }
}

void NodeCheck::check_log_ends_file() {
  if (!files_.exists(path_of("log_ends"))) {
    // Every start writes it, unless the disk was full.
    if (files_.exists(path_of("wal")) || files_.exists(path_of("shards"))) {
      report_.note(
          path_of("log_ends"),
          "is missing: nothing tells whether checkpoints, or files of the log, are missing "
          "too, or older copies. The next start makes it");
    }
    return;
  }
  report_.file();
  const Status loaded = log_ends_.load();
  if (!loaded.is_ok()) report_.problem(path_of("log_ends"), loaded);
}

void NodeCheck::check_quarantine() {
  const std::string path = path_of("quarantine");
  if (!files_.exists(path)) return;
  report_.file();
  const auto scan = scan_quarantine(files_, path, [&](const QuarantineRecord& record) {
    damaged_.set_aside(record.queue, record.sequence);
  });
  if (!scan.is_ok()) return report_.problem(path, scan.status());
  report_.bytes(scan->file_bytes);
  if (scan->records > 0) {
    CheckFinding finding;
    finding.kind = CheckFinding::Kind::kNote;
    finding.file = path;
    finding.messages = scan->records;
    finding.what = "has " + std::to_string(scan->records) +
                   " damaged messages that were set aside; their queues went on without them";
    report_.add(std::move(finding));
  }
  if (scan->lost_bytes > 0) {
    CheckFinding finding;
    finding.file = path;
    finding.offset = scan->lost_at;
    finding.what = std::to_string(scan->lost_bytes) +
                   " bytes are no record of a message that was set aside: damaged, or half-written";
    report_.add(std::move(finding));
  }
}

// ---- shards

void NodeCheck::check_shards() {
  const std::string shards = path_of("shards");
  const auto names = files_.list(shards);
  if (!names.is_ok()) {
    if (names.status().code() != Code::kNotFound) report_.problem(shards, names.status());
  } else {
    for (const std::string& name : *names) {
      const auto number = shard_number(name);
      if (!number || (identity_ && *number >= identity_->shard_count)) {
        report_.problem(shards + "/" + name, "is no shard of this node's; it is left alone");
        continue;
      }
      applied_.emplace(ShardId{*number}, LogIndex{0});
      check_shard(ShardId{*number}, shards + "/" + name);
    }
  }
  for (std::uint32_t shard = 0; identity_ && shard < identity_->shard_count; ++shard) {
    const auto id = ShardId{static_cast<std::uint16_t>(shard)};
    const bool damaged = std::any_of(shards_.begin(), shards_.end(), [&](const auto& one) {
      return one.shard == id && one.applied.value == std::numeric_limits<std::uint64_t>::max();
    });
    if (!damaged) applied_.emplace(id, LogIndex{0});
  }
}

void NodeCheck::check_shard(ShardId shard, const std::string& directory) {
  const auto names = files_.list(directory);
  if (!names.is_ok()) return report_.problem(directory, names.status());
  for (const std::string& name : *names) {
    if (name == "checkpoint.new") {
      report_.note(directory + "/" + name,
                   "a checkpoint that was not finished; the next start "
                   "removes it");
    } else if (name != "checkpoint" && name != "queues") {
      report_.problem(directory + "/" + name, "is no file of Segue; it is left alone");
    }
  }
  const std::string path = directory + "/checkpoint";
  auto checkpoint = read_checkpoint(files_, directory);
  if (checkpoint.is_ok() && checkpoint->has_value() && (*checkpoint)->shard != shard) {
    checkpoint = another_shards(path, (*checkpoint)->shard);
  }
  if (!checkpoint.is_ok()) {
    report_.file();
    report_.problem(path, checkpoint.status());
    // What depends on it is not judged: the log may begin anywhere, and ends nowhere.
    applied_.erase(shard);
    shards_.push_back({shard, LogIndex{std::numeric_limits<std::uint64_t>::max()}, {}, {}, {}});
    return;
  }
  const bool there = checkpoint->has_value();
  const Checkpoint read = std::move(*checkpoint).value_or(Checkpoint{shard, {}, {}, {}});
  if (there) {
    report_.file();
    report_.bytes(read.state.size());
    applied_[shard] = read.applied;
    shards_.push_back({shard, read.applied, {}, {}, {}});
  }
  for (const CheckpointQueue& queue : read.queues) {
    check_queue(context_, report_, directory + "/queues", queue, missing_, unnamed_, damaged_);
  }
  check_queue_names(directory + "/queues", read);
}

void NodeCheck::check_queue_names(const std::string& queues, const Checkpoint& checkpoint) {
  std::set<std::string> named;
  for (const CheckpointQueue& queue : checkpoint.queues) named.insert(queue.directory);
  const auto names = files_.list(queues);
  if (!names.is_ok()) {
    if (names.status().code() != Code::kNotFound) report_.problem(queues, names.status());
    return;
  }
  for (const std::string& name : *names) {
    if (named.contains(name)) continue;
    if (const auto id = queue_of_directory_name(name)) {
      CheckFinding note;
      note.kind = CheckFinding::Kind::kNote;
      note.file = queues + "/" + name;
      note.queue = queue_name_of_directory(name);
      note.what = "the checkpoint does not name this queue: stored since, or deleted";
      unnamed_.push_back({std::move(note), *id, queues + "/" + name, Sequence{0}});
    } else {
      report_.problem(queues + "/" + name, "is no queue's: the next start removes it");
    }
  }
}

// ---- the log

void NodeCheck::check_log() {
  for (const MissingSegment& segment : missing_) losses_.add(segment);
  WalRecoveryOptions options;
  options.directory = path_of("wal");
  options.applied = applied_;
  if (identity_) {
    options.node_hash = wal_node_hash(identity_->cluster, identity_->node_id);
  } else {
    options.node_hash = node_hash_in_wal(files_, options.directory).value_or(0);
  }
  log_ = check_wal(files_, report_, options, [this](const ReplayedRecord& record) {
    if (record.shard == kCatalogShard) return;
    if (options_.interpret && !losses_.empty()) options_.interpret(record, losses_);
    if (options_.content && !(unnamed_.empty() && damaged_.empty())) {
      options_.content(record, content_);
    }
  });
}

void NodeCheck::check_ends() {
  if (!log_) return;
  if (identity_) {
    const Status reached = log_ends_.check(identity_->shard_count, shards_, *log_);
    if (!reached.is_ok()) report_.problem(path_of("log_ends"), reached);
  }
  const auto noted = log_ends_.noted().ends.find(kCatalogShard);
  if (!catalog_ || noted == log_ends_.noted().ends.end()) return;
  std::uint64_t end = catalog_->applied;
  for (const Committed& in_log : log_->ends) {
    if (in_log.shard == kCatalogShard) end = std::max(end, in_log.up_to.value);
  }
  if (end >= noted->second.value) return;
  report_.problem(path_of("catalog.db"),
                  "the catalog ends at change " + std::to_string(end) +
                      " here and in the log, but "
                      "change " +
                      std::to_string(noted->second.value) +
                      " was durable: it, or files of the log, were replaced by older copies");
}

void NodeCheck::report_losses() {
  report_.lost_messages(damaged_.lost(content_, [&](QueueId queue) { return is_gone(queue); }));
  if (!log_) return;  // only a whole log tells what was settled
  for (const MissingMessages::Loss& loss : losses_.losses()) {
    if (is_gone(loss.queue)) continue;
    report_.lost_messages(loss.messages);
    CheckFinding finding;
    finding.file = loss.path;
    const std::string directory = loss.path.substr(0, loss.path.rfind('/'));
    finding.queue = queue_name_of_directory(directory.substr(directory.rfind('/') + 1));
    finding.messages = loss.messages;
    finding.what = "is missing (" + counted(loss.files, "file") +
                   " of the queue): the checkpoint names it, and the log does not say that "
                   "its messages were settled. After a loss of power these may be messages that "
                   "were settled in the last moment";
    report_.add(std::move(finding));
  }
}

void NodeCheck::report_unnamed() {
  for (UnnamedFiles& files : unnamed_) report_unnamed(files);
}

void NodeCheck::report_unnamed(UnnamedFiles& files) {
  CheckFinding& finding = files.note;
  if (!log_) {
    finding.what += "; it stays as long as the start is refused, and a repair may need it";
    return report_.add(std::move(finding));
  }
  const LogContent::Queue* const in_log = content_.find(files.queue);
  const bool gone = (in_log != nullptr && in_log->deleted) || is_gone(files.queue);
  if (options_.content && !gone) {
    const auto unlogged = count_unlogged(files_, files.queue, files.directory, files.above, in_log);
    if (!unlogged.is_ok()) return report_.problem(files.directory, unlogged.status());
    if (*unlogged > 0) {
      finding.kind = CheckFinding::Kind::kProblem;
      finding.messages = *unlogged;
      report_.lost_messages(*unlogged);
      finding.what += "; but " + counted(*unlogged, "message") +
                      " there are not in the log, and a start would remove them: "
                      "files of the log are lost, or the checkpoint is an older copy. segue check "
                      "--repair keeps them";
      return report_.add(std::move(finding));
    }
  }
  finding.what += "; what counts is in the log, and the next start removes it";
  report_.add(std::move(finding));
}

// ---- the catalog

/// Only the leader logs the catalog's changes.
bool NodeCheck::leads_catalog() const {
  const auto noted = log_ends_.noted().ends.find(kCatalogShard);
  if (noted != log_ends_.noted().ends.end() && noted->second > LogIndex{0}) return true;
  return log_ && std::any_of(log_->ends.begin(), log_->ends.end(),
                             [](const Committed& end) { return end.shard == kCatalogShard; });
}

void NodeCheck::check_catalog() {
  const std::string path = path_of("catalog.db");
  if (!files_.exists(path)) {
    if (identity_ == Identity::of_embedded_queue()) return;
    const bool used = !shards_.empty() || (log_ && log_->records > 0);
    if (used && leads_catalog()) {
      report_.problem(path,
                      "is missing, and this node leads the catalog: the node does not know its "
                      "queues. Copy the catalog.db of another node");
    } else if (used) {
      report_.note(path, "is missing: the node that leads the catalog gives it to this one again");
    }
    return;
  }
  report_.file();
  auto image = read_catalog_image(files_, path);
  if (!image.is_ok()) return report_.problem(path, image.status());
  report_.bytes(image->bytes_read);
  if (image->torn_at) {
    CheckFinding finding;
    finding.kind = CheckFinding::Kind::kNote;
    finding.file = path + "-wal";
    finding.offset = image->torn_at;
    finding.what =
        "the last transaction of the catalog is half-written: normal after a loss of "
        "power; the log has it";
    report_.add(std::move(finding));
  }
  auto catalog = CatalogDb::open_image(path, image->bytes);
  if (!catalog.is_ok()) return report_.problem(path, catalog.status());
  const auto content = (*catalog)->load();
  if (!content.is_ok()) return report_.problem(path, content.status());
  catalog_.emplace(Catalog{(*catalog)->applied().value, CatalogQueues(*content)});
  check_catalog_content(*content);
}

void NodeCheck::check_catalog_content(const v1::CatalogEntry& catalog) {
  for (const v1::CatalogChange& change : catalog.changes()) {
    if (!change.has_cluster_created() || !identity_) continue;
    const v1::ClusterCreated& cluster = change.cluster_created();
    if (cluster.cluster().empty()) continue;  // not heard of yet
    if (cluster.cluster() == identity_->cluster &&
        cluster.shard_count() == identity_->shard_count) {
      continue;
    }
    report_.problem(path_of("catalog.db"), "is the catalog of cluster '" + cluster.cluster() +
                                               "' with " + counted(cluster.shard_count(), "shard") +
                                               ", identity says '" + identity_->cluster +
                                               "' with " + std::to_string(identity_->shard_count));
  }
}

}  // namespace segue::storage
