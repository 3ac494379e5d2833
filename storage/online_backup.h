#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/logging.h"
#include "storage/background_thread.h"
#include "storage/backup_copy.h"
#include "storage/backup_manifest.h"
#include "storage/disk_data_center.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

/// The directory below a data directory that holds second names of files while they are copied. A
/// start removes it.
inline constexpr const char* kBackupLinksName = "backup.links";

/// Makes a backup of a data directory in use: what a crash at one moment would leave.
///
/// In one job, between two others, all files of segments, the checkpoints and log_ends get second
/// names, so that nothing that is removed or replaced later is gone. From then until they are
/// copied, log, indexes and checkpoints are held: no checkpoint begins, which alone would change
/// an index, and no file of the log is used again. What is left then, the messages' records, only
/// grows, and is copied at leisure.
///
/// Lives on the reactor's thread; the executor is stopped or abandoned before it ends.
class OnlineBackup {
 public:
  struct Parts {
    FileSystem& files;
    BackgroundExecutor& executor;
    Logger& log;
    const Clock& clock;
    std::string root;  // the data directory
    Identity identity;
    /// True: no checkpoint may begin and no file of the log be recycled, until false is said.
    std::function<void(bool)> hold;
    /// The log as it was committed so far.
    std::function<std::vector<WalFileUse>()> log_extent;
  };
  explicit OnlineBackup(Parts parts) : parts_(std::move(parts)) {}

  Status begin(BackupOptions options);
  void cancel();
  /// Goes on with what had to wait for its time.
  void poll(TimePoint now);
  const BackupState& state() const { return state_; }

 private:
  enum class Phase { kLink, kCatalog, kHeld, kFree, kFinish, kCleanUp };
  /// A file to be copied.
  struct Item {
    std::string from;  // absolute
    std::string path;  // in the backup
    std::uint64_t bytes = 0;
    std::uint64_t padded = 0;  // zeros follow, up to this size
  };
  /// One backup's work; touched by one job at a time, and between jobs by the reactor's thread.
  struct Work {
    BackupOptions options;
    std::string made_target;  // the highest directory that was made for it
    bool target_is_ours = false;
    std::vector<Item> held;  // copied while checkpoints wait
    std::vector<Item> free;
    std::size_t next = 0;  // of the list that is being copied
    std::unique_ptr<FileCopy> copy;
    std::unique_ptr<BackupWalk> walk;
    BackupManifest manifest;
    std::uint64_t log_bytes = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t job_bytes = 0;  // copied by the job that is running
    std::uint64_t job_cost = 0;   // the same, and something for each file
    std::string directory_made;   // last
    Status status;
    bool finished = false;  // the phase
  };

  using Step = Result<bool> (OnlineBackup::*)(Work&) const;
  void post(Step step, bool idle, std::uint64_t most_cost);
  void post_next();
  void on_job_done();
  void enter(Phase phase);
  void fail(const Status& status);
  void end_hold();
  void take_log_extent();

  Result<bool> link_some(Work& work) const;
  Status prepare(Work& work) const;
  Status link_files(Work& work, const std::vector<std::string>& paths) const;
  Result<bool> copy_catalog_file(Work& work) const;
  Result<bool> copy_held(Work& work) const { return copy_some(work, work.held); }
  Result<bool> copy_free(Work& work) const { return copy_some(work, work.free); }
  Result<bool> copy_some(Work& work, const std::vector<Item>& items) const;
  Status open_next(Work& work, const Item& item) const;
  Result<bool> finish(Work& work) const;
  Result<bool> clean_up(Work& work) const;
  std::string links() const { return parts_.root + "/" + kBackupLinksName; }

  const Parts parts_;
  BackupState state_;
  std::shared_ptr<Work> work_;
  Phase phase_ = Phase::kLink;
  bool holds_ = false;
  bool busy_ = false;  // a job is on its way
  bool cancelled_ = false;
  TimePoint now_{};
  TimePoint next_at_{};
  TimePoint held_since_{};
};

}  // namespace segue::storage
