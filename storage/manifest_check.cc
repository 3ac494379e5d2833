#include "storage/manifest_check.h"

#include "storage/backup_manifest.h"

namespace segue::storage {

void check_manifest(FileSystem& files, const std::string& directory, CheckReport& report) {
  const std::string path = directory + "/" + kBackupManifestName;
  if (!files.exists(path)) return;
  report.file();
  const auto manifest = read_backup_manifest(files, directory);
  if (!manifest.is_ok()) return report.problem(path, manifest.status());
  for (const BackupFile& wanted : manifest->files) {
    const std::string name = directory + "/" + wanted.path;
    if (!files.exists(name)) {
      report.problem(name, "is missing: the manifest names it, and restore refuses the backup");
      continue;
    }
    const auto found = measure_backup_file(files, directory, wanted.path);
    if (!found.is_ok()) {
      report.problem(name, found.status());
    } else if (found->bytes != wanted.bytes) {
      report.problem(name, "has " + std::to_string(found->bytes) + " bytes, the manifest says " +
                               std::to_string(wanted.bytes) + ": restore refuses the backup");
    } else if (found->checksum != wanted.checksum) {
      report.problem(name, "fails its checksum in the manifest: restore refuses the backup");
    }
  }
}

}  // namespace segue::storage
