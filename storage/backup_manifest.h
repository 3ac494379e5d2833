#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "storage/data_directory.h"
#include "storage/file_system.h"

namespace segue::storage {

/// The manifest's name in a backup.
inline constexpr const char* kBackupManifestName = "manifest";

/// A file of a backup.
struct BackupFile {
  std::string path;  // below the backup's directory
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;  // XXH3-64 of the whole file

  bool operator==(const BackupFile&) const = default;
};

/// What a backup consists of. It is written last, so that a directory without it is no backup.
struct BackupManifest {
  Identity identity;
  std::int64_t taken_ms = 0;  // when, since 1970-01-01 UTC
  bool online = false;        // while the node was running
  std::vector<BackupFile> files;

  std::uint64_t bytes() const;
};

/// Text, for people too; docs/storage-format.md draws it.
std::string format_backup_manifest(const BackupManifest& manifest);
/// Any bytes may be given. CORRUPTION when it is damaged, cut short, or names a file that is not
/// below the backup; INVALID_CONFIG for a newer version. `path` is for messages.
Result<BackupManifest> parse_backup_manifest(const std::string& path, std::string_view text);

/// What a manifest says of a file that is there already: reads all of it.
Result<BackupFile> measure_backup_file(FileSystem& files, const std::string& directory,
                                       const std::string& path);
/// Makes it the directory's manifest, durable, whole or not at all.
Status write_backup_manifest(FileSystem& files, const std::string& directory,
                             const BackupManifest& manifest);
/// As parse_backup_manifest(); INVALID_CONFIG, too, if there is none.
Result<BackupManifest> read_backup_manifest(FileSystem& files, const std::string& directory);

}  // namespace segue::storage
