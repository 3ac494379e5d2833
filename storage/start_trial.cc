#include "storage/start_trial.h"

#include <memory>
#include <utility>

#include "storage/background_thread.h"
#include "storage/data_directory.h"
#include "storage/file_disk_data_center.h"
#include "storage/rehearsal_file_system.h"

namespace segue::storage {

Status try_start(FileSystem& files, const std::string& directory) {
  auto identity = DataDirectory::read_identity(files, directory);
  if (!identity.is_ok()) return identity.status();
  RehearsalFileSystem trial(files, RehearsalFileSystem::Locks::kCallerHas);
  DiskOptions options;
  options.directory = directory;
  options.cluster = identity->cluster;
  options.node_id = identity->node_id;
  options.shard_count = identity->shard_count;
  options.fatal = [](const Status&) {};
  bool verified = false;
  options.log_verified = [&](const VerifiedLog&) {
    verified = true;
    return Status(Code::kNotAllowed, "is only a trial");
  };
  const auto opened = FileDiskDataCenter::open(
      trial, std::move(options), std::make_unique<InlineExecutor>(),
      [](DiskDataCenter&, const std::vector<RecoveredShard>&) { return Status(); },
      [](const ReplayedRecord&) { return Status(); });
  return verified ? Status() : opened.status();
}

}  // namespace segue::storage
