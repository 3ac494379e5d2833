#include "storage/offline_backup.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/backup_copy.h"
#include "storage/data_directory.h"
#include "storage/node_directories.h"
#include "storage/wal_format.h"

namespace segue::storage {

namespace {

constexpr const char* kLockName = "node.lock";

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Everything that a start reads; the identity last.
Result<std::vector<std::string>> files_of(FileSystem& files, const std::string& directory) {
  std::vector<std::string> paths;
  if (files.exists(directory + "/wal")) {
    auto names = files.list(directory + "/wal");
    if (!names.is_ok()) return names.status();
    for (const std::string& name : *names) {
      if (parse_wal_file_name(name)) paths.push_back("wal/" + name);
    }
  }
  for (const char* const name : {"catalog.db", "catalog.db-wal"}) {
    if (files.exists(directory + "/" + name)) paths.emplace_back(name);
  }
  BackupWalk walk(files, directory);
  for (Result<bool> more = true; *more;) {
    more = walk.next(paths);
    if (!more.is_ok()) return more.status();
  }
  paths.emplace_back("identity");
  return paths;
}

/// A directory that is being filled, and emptied again unless that succeeds.
class Target {
 public:
  Target(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  ~Target() {
    if (!ours_ || kept_) return;
    for (const std::string& name : names_) (void)remove_tree(files_, path_ + "/" + name);
    if (!made_.empty()) (void)remove_tree(files_, path_);
    (void)remove_made_directories(files_, path_, made_);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  Status prepare(const std::string& ignored) {
    SEGUE_RETURN_IF_ERROR(prepare_empty_directory(files_, path_, ignored, made_));
    ours_ = true;
    return {};
  }
  /// A path below it, whose directory is made.
  Result<std::string> place(const std::string& path) {
    const std::string first = path.substr(0, path.find('/'));
    if (names_.empty() || names_.back() != first) names_.push_back(first);
    const std::string whole = path_ + "/" + path;
    if (parent_of(whole) != directory_) {
      directory_ = parent_of(whole);
      SEGUE_RETURN_IF_ERROR(files_.make_directories(directory_));
    }
    return whole;
  }
  void keep() { kept_ = true; }
  const std::string& path() const { return path_; }

 private:
  FileSystem& files_;
  const std::string path_;
  std::vector<std::string> names_;  // right below, that were made
  std::string directory_;           // made last
  std::string made_;                // the highest directory that was made for it
  bool ours_ = false;
  bool kept_ = false;
};

class Copying {
 public:
  Copying(FileSystem& files, Target& target, const BackupProgress& progress, std::uint64_t total)
      : files_(files), target_(target), progress_(progress), total_(total) {}

  Result<BackupFile> copy(const std::string& from, const std::string& path) {
    auto to = target_.place(path);
    if (!to.is_ok()) return to.status();
    auto copy = FileCopy::open(files_, from, *to);
    if (!copy.is_ok()) return copy.status();
    Result<bool> ended = false;
    while (!*ended) {
      const std::uint64_t before = (*copy)->bytes();
      ended = (*copy)->step();
      if (!ended.is_ok()) return ended.status();
      copied_ += (*copy)->bytes() - before;
      if (progress_ && !progress_(copied_, total_)) {
        return Status(Code::kConnectionForced, "it was interrupted");
      }
    }
    return BackupFile{path, (*copy)->bytes(), (*copy)->checksum()};
  }

 private:
  FileSystem& files_;
  Target& target_;
  const BackupProgress& progress_;
  const std::uint64_t total_;
  std::uint64_t copied_ = 0;
};

Result<Identity> identity_of(FileSystem& files, const std::string& directory) {
  auto identity = DataDirectory::read_identity(files, directory);
  if (identity.is_ok() || files.exists(directory + "/identity")) return identity;
  std::string nodes;
  if (const auto names = files.list(directory); names.is_ok()) {
    for (const std::string& name : *names) {
      if (files.exists(directory + "/" + name + "/identity")) {
        nodes += (nodes.empty() ? "" : ", ") + name;
      }
    }
  }
  return Status(Code::kInvalidConfig,
                directory + ": is no data directory of a node: it has no file 'identity'" +
                    (nodes.empty() ? "; give the directory that the configuration's data_dir names"
                                   : ". Right below it are those of " + nodes + ": name one"));
}

Status check_apart(const std::string& directory, const std::string& target) {
  if (target != directory && !target.starts_with(directory + "/") &&
      !directory.starts_with(target + "/")) {
    return {};
  }
  return Status(Code::kInvalidConfig, target + " and " + directory +
                                          " are the same directory, or one is in the other: "
                                          "give another target");
}

Result<std::uint64_t> total_bytes(FileSystem& files, const std::string& directory,
                                  const std::vector<std::string>& paths) {
  std::uint64_t total = 0;
  for (const std::string& path : paths) {
    auto file = files.open(directory + "/" + path, OpenMode::kRead);
    if (!file.is_ok()) return file.status();
    auto size = (*file)->size();
    if (!size.is_ok()) return size.status();
    total += *size;
  }
  return total;
}

}  // namespace

Result<BackupManifest> back_up(FileSystem& files, const Clock& clock, const std::string& directory,
                               const std::string& target_path, const BackupProgress& progress) {
  const std::string root = without_slash(directory);
  Target target(files, without_slash(target_path));
  SEGUE_RETURN_IF_ERROR(check_apart(root, target.path()));
  SEGUE_RETURN_IF_ERROR(expect_directory(files, root));
  auto identity = identity_of(files, root);
  if (!identity.is_ok()) return identity.status();
  auto lock = DataDirectory::lock_existing(files, root);
  if (!lock.is_ok()) {
    return Status(lock.status().code(),
                  lock.status().message() +
                      ", or let the node itself make the backup: segue backup --online TARGET");
  }
  BackupManifest manifest;
  manifest.identity = std::move(*identity);
  manifest.taken_ms = clock.wall_ms();
  auto paths = files_of(files, root);
  if (!paths.is_ok()) return paths.status();
  auto total = total_bytes(files, root, *paths);
  if (!total.is_ok()) return total.status();
  SEGUE_RETURN_IF_ERROR(target.prepare(""));
  SEGUE_RETURN_IF_ERROR(check_room(files, target.path(), *total, paths->size(), 0));
  Copying copying(files, target, progress, *total);
  for (const std::string& path : *paths) {
    auto file = copying.copy(root + "/" + path, path);
    if (!file.is_ok()) return file.status();
    manifest.files.push_back(std::move(*file));
  }
  SEGUE_RETURN_IF_ERROR(files.sync_all(target.path()));
  SEGUE_RETURN_IF_ERROR(target.place(kBackupManifestName).status());
  SEGUE_RETURN_IF_ERROR(write_backup_manifest(files, target.path(), manifest));
  target.keep();
  return manifest;
}

Result<BackupManifest> restore(FileSystem& files, const std::string& source,
                               const std::string& directory, const BackupProgress& progress) {
  const std::string from = without_slash(source);
  Target target(files, without_slash(directory));
  SEGUE_RETURN_IF_ERROR(check_apart(from, target.path()));
  SEGUE_RETURN_IF_ERROR(expect_directory(files, from));
  auto manifest = read_backup_manifest(files, from);
  if (!manifest.is_ok()) return manifest.status();
  SEGUE_RETURN_IF_ERROR(target.prepare(kLockName));
  const std::string lock_path = target.path() + "/" + kLockName;
  auto lock = files.lock(lock_path);
  if (!lock.is_ok()) {
    return Status(Code::kInvalidConfig, target.path() +
                                            ": is in use by another process (it holds node.lock): "
                                            "stop that, or give another directory");
  }
  SEGUE_RETURN_IF_ERROR(target.place(kLockName).status());
  SEGUE_RETURN_IF_ERROR(
      check_room(files, target.path(), manifest->bytes(), manifest->files.size(), 0));
  Copying copying(files, target, progress, manifest->bytes());
  // The identity is the last in the list; a list in another order is nobody's harm but its own.
  for (const BackupFile& wanted : manifest->files) {
    if (wanted.path == "identity") SEGUE_RETURN_IF_ERROR(files.sync_all(target.path()));
    const std::string path = from + "/" + wanted.path;
    if (!files.exists(path)) {
      return Status(Code::kCorruption, path +
                                           ": is missing: the manifest names it. Use another "
                                           "backup; nothing was restored");
    }
    auto copied = copying.copy(path, wanted.path);
    if (!copied.is_ok()) return copied.status();
    if (*copied == wanted) continue;
    const std::string what = copied->bytes == wanted.bytes
                                 ? "fails its checksum"
                                 : "has " + std::to_string(copied->bytes) +
                                       " bytes, the manifest says " + std::to_string(wanted.bytes);
    return Status(Code::kCorruption,
                  path + ": is damaged: it " + what + ". Use another backup; nothing was restored");
  }
  SEGUE_RETURN_IF_ERROR(files.sync_all(target.path()));
  SEGUE_RETURN_IF_ERROR(files.sync_directory(parent_of(target.path())));
  target.keep();
  return manifest;
}

}  // namespace segue::storage
