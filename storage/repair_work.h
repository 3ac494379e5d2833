#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/clock.h"
#include "common/logging.h"
#include "common/status.h"
#include "storage/file_system.h"
#include "storage/segment_context.h"

namespace segue::storage {

/// What is gone, whatever a repair does, as far as that is known.
struct RepairLoss {
  std::uint64_t log_records = 0;  // that are missing
  std::uint64_t messages = 0;     // that are lost
  std::uint64_t untraced = 0;     // at most so many messages are lost with the records
  std::uint64_t returned = 0;     // that had been settled, and come back
  bool more = false;  // messages may be lost, or come back, that these numbers do not count

  bool any() const { return more || log_records + messages + untraced + returned > 0; }
  RepairLoss& operator+=(const RepairLoss& other);
};

/// Something that a repair does, or cannot do.
struct RepairStep {
  bool done = true;   // false: somebody has to see to it; the node still does not start
  std::string file;   // below the directory that was given
  std::string queue;  // its name, if it concerns one
  std::string what;   // sentences
  RepairLoss loss;
};

/// What the repair of one node's data directory works with: what is taken out
/// or written over is in a folder of the directory afterwards, so that nothing is lost. One
/// thread.
class RepairWork {
 public:
  using Told = std::function<void(const RepairStep&)>;

  /// `folder`: the name of the folder; made when it is needed.
  RepairWork(FileSystem& files, std::string root, std::string directory, std::string folder,
             Told told);

  FileSystem& files() { return files_; }
  SegmentContext& context() { return context_; }
  const std::string& directory() const { return directory_; }
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  const std::string& folder() const { return folder_; }

  void done(const std::string& path, std::string what, std::string queue = {},
            const RepairLoss& loss = {});
  void cannot(const std::string& path, std::string what, std::string queue = {});

  /// Moves a file or a directory into the folder, to the same place there. None: nothing.
  Status move_aside(const std::string& path);
  /// Puts a copy of the file's bytes from `offset` on into the folder.
  Status keep_copy(const std::string& path, std::uint64_t offset = 0);
  /// A sync failed: what is on the disk is unknown.
  const Status& failure() const { return failure_; }
  /// Something was put into the folder.
  bool keeps() const { return keeps_; }

 private:
  /// Makes the place in the folder for a file of the directory.
  Result<std::string> place_for(const std::string& path);
  std::string below(const std::string& root, const std::string& path) const;

  FileSystem& files_;
  const std::string root_;
  const std::string directory_;
  const std::string folder_;
  const Told told_;
  bool keeps_ = false;
  const SystemClock clock_;
  Logger no_log_;
  Status failure_;
  SegmentContext context_;
};

}  // namespace segue::storage
