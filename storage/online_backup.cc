#include "storage/online_backup.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "storage/catalog_db.h"
#include "storage/posix_file_system.h"
#include "storage/wal_format.h"

namespace segue::storage {

namespace {

/// A step copies about so much.
constexpr std::uint64_t kPiece = 1u << 20;
/// What is copied at leisure comes in so many parts of a second's bytes.
constexpr std::uint64_t kFreePieces = 10;
/// What a file costs beside its bytes.
constexpr std::uint64_t kFileCost = 16u << 10;
/// The catalog's copy, beside what was measured.
constexpr std::uint64_t kSlack = 1u << 20;

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

bool is_named_below(const std::string& path, std::string directory) {
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  const std::string inside = directory == "/" ? directory : directory + "/";
  return path.starts_with(inside) && path.size() > inside.size() &&
         (path + "/").find("/../") == std::string::npos;
}

/// As the path says: whoever may make links there is trusted; or as the links say that lead there.
bool is_path_below(const std::string& path, const std::string& directory) {
  return is_named_below(path, directory) ||
         is_named_below(resolved_path(path), resolved_path(directory));
}

Result<std::uint64_t> size_of(FileSystem& files, const std::string& path) {
  auto file = files.open(path, OpenMode::kRead);
  if (!file.is_ok()) return file.status();
  return (*file)->size();
}

}  // namespace

Status OnlineBackup::begin(BackupOptions options) {
  if (state_.stage == BackupState::Stage::kRunning) {
    return Status(Code::kPreconditionFailed, "a backup to " + state_.target +
                                                 " is being made: wait for its end, or cancel it");
  }
  while (options.target.size() > 1 && options.target.back() == '/') options.target.pop_back();
  if (!options.target.starts_with('/')) {
    return Status(Code::kPreconditionFailed, "'" + options.target +
                                                 "' is no absolute path: the node needs to know "
                                                 "where on its machine the backup goes");
  }
  if (const std::string& allowed = options.allowed_below;
      !allowed.empty() && !is_path_below(options.target, allowed)) {
    return Status(Code::kPreconditionFailed, options.target + ": is not below " + allowed +
                                                 ", where alone this node makes backups "
                                                 "(storage.backup_directory)");
  }
  if (options.target == parts_.root || is_path_below(options.target, parts_.root)) {
    return Status(Code::kPreconditionFailed, options.target +
                                                 ": is in the node's data directory: give another "
                                                 "directory");
  }
  state_ = {};
  state_.stage = BackupState::Stage::kRunning;
  state_.target = options.target;
  parts_.log.info("backup_begins", {{"target", options.target}});
  cancelled_ = false;
  work_ = std::make_shared<Work>();
  work_->options = std::move(options);
  work_->manifest.identity = parts_.identity;
  work_->manifest.taken_ms = parts_.clock.wall_ms();
  work_->manifest.online = true;
  work_->walk = std::make_unique<BackupWalk>(parts_.files, parts_.root);
  for (const WalFileUse& file : parts_.log_extent()) work_->log_bytes += file.used_bytes;
  held_since_ = parts_.clock.now();
  holds_ = true;
  parts_.hold(true);
  enter(Phase::kLink);
  return {};
}

void OnlineBackup::cancel() {
  if (state_.stage != BackupState::Stage::kRunning || phase_ == Phase::kCleanUp) return;
  cancelled_ = true;
  if (!busy_) fail(Status(Code::kConnectionForced, "it was cancelled"));
}

void OnlineBackup::poll(TimePoint now) {
  now_ = now;
  if (state_.stage == BackupState::Stage::kRunning && !busy_ && now >= next_at_) post_next();
}

// ---- jobs

void OnlineBackup::enter(Phase phase) {
  phase_ = phase;
  work_->next = 0;
  work_->finished = false;
  next_at_ = {};
  if (phase == Phase::kHeld) take_log_extent();
  if (phase == Phase::kFree) end_hold();
  post_next();
}

/// Steps follow each other until the phase is finished or they have cost so much.
void OnlineBackup::post(Step step, bool idle, std::uint64_t most_cost) {
  busy_ = true;
  BackgroundJob job;
  job.step = [this, work = work_, step, most_cost] {
    const Result<bool> done = (this->*step)(*work);
    work->status = done.status();
    work->finished = done.is_ok() && *done;
    return !done.is_ok() || *done || work->job_cost >= most_cost;
  };
  job.done = [this] { on_job_done(); };
  if (idle) {
    parts_.executor.post_idle(std::move(job));
  } else {
    parts_.executor.post(std::move(job));
  }
}

void OnlineBackup::post_next() {
  constexpr std::uint64_t kAll = FileCopy::kAll;
  switch (phase_) {
    case Phase::kLink:
      return post(&OnlineBackup::link_some, false, kAll);
    case Phase::kCatalog:
      return post(&OnlineBackup::copy_catalog_file, false, kAll);
    case Phase::kHeld:
      return post(&OnlineBackup::copy_held, false, kPiece);
    case Phase::kFree:
      return post(&OnlineBackup::copy_free, true,
                  std::max(work_->options.bytes_per_second / kFreePieces, kPiece));
    case Phase::kFinish:
      return post(&OnlineBackup::finish, true, kAll);
    case Phase::kCleanUp:
      return post(&OnlineBackup::clean_up, false, kAll);
  }
}

void OnlineBackup::on_job_done() {
  busy_ = false;
  state_.files = work_->manifest.files.size();
  state_.copied_bytes += std::exchange(work_->job_bytes, 0);
  const std::uint64_t cost = std::exchange(work_->job_cost, 0);
  state_.total_bytes = work_->total_bytes;
  if (phase_ == Phase::kCleanUp) {
    if (!work_->status) {
      parts_.log.warn("backup_not_cleaned_up",
                      {{"target", state_.target}, {"reason", work_->status}});
    }
    state_.stage = BackupState::Stage::kFailed;
    work_.reset();
    return;
  }
  if (!work_->status) return fail(work_->status);
  if (phase_ == Phase::kFinish) {
    state_.stage = BackupState::Stage::kDone;
    parts_.log.info(
        "backup_made",
        {{"target", state_.target}, {"files", state_.files}, {"bytes", state_.copied_bytes}});
    work_.reset();
    return;
  }
  if (cancelled_) return fail(Status(Code::kConnectionForced, "it was cancelled"));
  if (work_->finished) return enter(static_cast<Phase>(static_cast<int>(phase_) + 1));
  if (phase_ != Phase::kFree) return post_next();
  // As much of a second as it copied of a second's bytes.
  const double seconds = static_cast<double>(cost) / static_cast<double>(std::max<std::uint64_t>(
                                                         work_->options.bytes_per_second, 1));
  next_at_ = std::max(next_at_, now_) +
             std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

void OnlineBackup::fail(const Status& status) {
  state_.failure = status;
  parts_.log.error("backup_failed", {{"target", state_.target}, {"reason", status}});
  end_hold();
  enter(Phase::kCleanUp);
}

void OnlineBackup::end_hold() {
  if (!std::exchange(holds_, false)) return;
  parts_.hold(false);
  parts_.log.info("backup_hold_ended",
                  {{"held_ms", std::chrono::duration_cast<std::chrono::milliseconds>(
                                   parts_.clock.now() - held_since_)
                                   .count()}});
}

/// The log goes first: it must not end before what the other files have seen of it, which is so
/// from here on, and later would do no harm.
void OnlineBackup::take_log_extent() {
  std::vector<Item> log;
  for (const WalFileUse& file : parts_.log_extent()) {
    const std::string path = "wal/" + wal_file_name(file.number);
    // A file of the log that is shorter than it was made is taken for damaged.
    log.push_back({parts_.root + "/" + path, path, file.used_bytes, file.file_bytes});
    work_->total_bytes += std::max(file.used_bytes, file.file_bytes);
  }
  work_->held.insert(work_->held.begin(), std::make_move_iterator(log.begin()),
                     std::make_move_iterator(log.end()));
}

// ---- on the background thread

Result<bool> OnlineBackup::link_some(Work& work) const {
  if (!work.target_is_ours) SEGUE_RETURN_IF_ERROR(prepare(work));
  std::vector<std::string> paths;
  auto more = work.walk->next(paths);
  if (!more.is_ok()) return more.status();
  SEGUE_RETURN_IF_ERROR(link_files(work, paths));
  if (*more) return false;
  std::uint64_t needed = work.total_bytes + work.log_bytes + kSlack;
  if (const auto catalog = size_of(parts_.files, parts_.root + "/catalog.db"); catalog.is_ok()) {
    needed += *catalog;
  }
  SEGUE_RETURN_IF_ERROR(check_room(parts_.files, work.options.target, needed,
                                   work.held.size() + work.free.size(), work.options.keep_free));
  return true;
}

Status OnlineBackup::prepare(Work& work) const {
  SEGUE_RETURN_IF_ERROR(
      prepare_empty_directory(parts_.files, work.options.target, "", work.made_target));
  work.target_is_ours = true;
  SEGUE_RETURN_IF_ERROR(remove_tree(parts_.files, links()));
  return parts_.files.make_directories(links());
}

Status OnlineBackup::link_files(Work& work, const std::vector<std::string>& paths) const {
  for (const std::string& path : paths) {
    const std::string to = links() + "/" + path;
    if (parent_of(to) != work.directory_made) {
      work.directory_made = parent_of(to);
      SEGUE_RETURN_IF_ERROR(parts_.files.make_directories(work.directory_made));
    }
    SEGUE_RETURN_IF_ERROR(parts_.files.link(parts_.root + "/" + path, to));
    auto size = size_of(parts_.files, to);
    if (!size.is_ok()) return size.status();
    work.total_bytes += *size;
    if (!path.ends_with(".data")) {
      work.held.push_back({to, path, *size});
      continue;
    }
    // The last block is written again with what is stored later, of which the log's copy may not
    // know.
    auto stored = end_of_indexed(parts_.files, parts_.root + "/" + path, *size);
    if (!stored.is_ok()) return stored.status();
    work.free.push_back({to, path, *stored, *size});
  }
  return {};
}

/// Before the end of the log is taken: what the catalog's copy has, the log's copy has too.
/// Straight to the target: the node's own disk may be full.
Result<bool> OnlineBackup::copy_catalog_file(Work& work) const {
  const std::string from = parts_.root + "/catalog.db";
  if (!parts_.files.exists(from)) return true;
  const std::string& target = work.options.target;
  SEGUE_RETURN_IF_ERROR(copy_catalog(from, target + "/catalog.db"));
  auto copied = measure_backup_file(parts_.files, target, "catalog.db");
  if (!copied.is_ok()) return copied.status();
  work.total_bytes += copied->bytes;
  work.job_bytes += copied->bytes;
  work.manifest.files.push_back(*std::move(copied));
  return true;
}

Result<bool> OnlineBackup::copy_some(Work& work, const std::vector<Item>& items) const {
  std::uint64_t copied = 0;
  while (copied < kPiece && work.next < items.size()) {
    const Item& item = items[work.next];
    if (work.copy == nullptr) SEGUE_RETURN_IF_ERROR(open_next(work, item));
    const std::uint64_t before = work.copy->bytes();
    auto ended = work.copy->step();
    if (!ended.is_ok()) return ended.status();
    const std::uint64_t bytes = work.copy->bytes() - before;
    copied += bytes + kFileCost;
    work.job_bytes += bytes;
    if (!*ended) continue;
    work.manifest.files.push_back({item.path, work.copy->bytes(), work.copy->checksum()});
    work.copy.reset();
    if (item.from.starts_with(links())) SEGUE_RETURN_IF_ERROR(parts_.files.remove(item.from));
    ++work.next;
  }
  work.job_cost += copied;
  return work.next == items.size();
}

Status OnlineBackup::open_next(Work& work, const Item& item) const {
  const std::string to = work.options.target + "/" + item.path;
  if (parent_of(to) != work.directory_made) {
    work.directory_made = parent_of(to);
    SEGUE_RETURN_IF_ERROR(parts_.files.make_directories(work.directory_made));
  }
  auto copy = FileCopy::open(parts_.files, item.from, to, item.bytes, item.padded);
  if (!copy.is_ok()) return copy.status();
  work.copy = std::move(*copy);
  return {};
}

/// Without its identity no node starts on it, without its manifest it is no backup: these are last.
Result<bool> OnlineBackup::finish(Work& work) const {
  SEGUE_RETURN_IF_ERROR(remove_tree(parts_.files, links()));
  const std::string& target = work.options.target;
  auto identity = FileCopy::open(parts_.files, parts_.root + "/identity", target + "/identity");
  if (!identity.is_ok()) return identity.status();
  Result<bool> ended = false;
  while (ended.is_ok() && !*ended) ended = (*identity)->step();
  if (!ended.is_ok()) return ended.status();
  work.manifest.files.push_back({"identity", (*identity)->bytes(), (*identity)->checksum()});
  work.job_bytes += (*identity)->bytes();
  SEGUE_RETURN_IF_ERROR(parts_.files.sync_all(target));
  SEGUE_RETURN_IF_ERROR(write_backup_manifest(parts_.files, target, work.manifest));
  return true;
}

Result<bool> OnlineBackup::clean_up(Work& work) const {
  work.copy.reset();
  SEGUE_RETURN_IF_ERROR(remove_tree(parts_.files, links()));
  if (!work.target_is_ours) return true;
  const std::string& target = work.options.target;
  // Before anything else, so that what is left when this is cut short is no backup.
  for (const char* const name : {"manifest", "manifest.new", "identity", "log_ends", "quarantine",
                                 "catalog.db", "wal", "shards"}) {
    SEGUE_RETURN_IF_ERROR(remove_tree(parts_.files, target + "/" + name));
  }
  SEGUE_RETURN_IF_ERROR(remove_made_directories(parts_.files, target, work.made_target));
  return true;
}

}  // namespace segue::storage
