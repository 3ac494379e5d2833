#include "storage/manifest_check.h"

#include <cstdint>
#include <string_view>

#include "common/checksum.h"
#include "storage/backup_manifest.h"

namespace segue::storage {

namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

Result<BackupFile> measure(FileSystem& files, const std::string& directory,
                           const std::string& path) {
  auto file = files.open(directory + "/" + path, OpenMode::kRead);
  if (!file.is_ok()) return file.status();
  StreamingChecksum checksum;
  std::string piece(kPieceBytes, '\0');
  BackupFile measured{path, 0, 0};
  while (true) {
    const auto got = (*file)->read(measured.bytes, piece.data(), piece.size());
    if (!got.is_ok()) return got.status();
    if (*got == 0) break;
    checksum.update(std::string_view(piece.data(), *got));
    measured.bytes += *got;
  }
  measured.checksum = checksum.digest();
  return measured;
}

}  // namespace

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
    const auto found = measure(files, directory, wanted.path);
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
