#include "storage/wal_check.h"

#include <memory>

#include "storage/aligned_buffer.h"
#include "storage/wal_format.h"
#include "storage/wal_reader.h"

namespace segue::storage {

namespace {

/// False if one is damaged.
bool check_headers(FileSystem& files, CheckReport& report, const WalRecoveryOptions& options,
                   const std::vector<std::string>& names) {
  bool whole = true;
  for (const std::string& name : names) {
    const std::string path = options.directory + "/" + name;
    const auto number = parse_wal_file_name(name);
    if (!number && !is_wal_spare_name(name)) {
      report.problem(path, "is no file of Segue; it is left alone");
      continue;
    }
    report.file();
    if (!number) continue;  // what a spare holds means nothing
    const auto reader = WalReader::open(files, path, *number, options.node_hash);
    if (reader.is_ok()) continue;
    whole = false;
    report.problem(path, reader.status());
  }
  return whole;
}

}  // namespace

std::optional<RecoveredWal> check_wal(FileSystem& files, CheckReport& report,
                                      const WalRecoveryOptions& options,
                                      const std::function<void(const ReplayedRecord&)>& record) {
  auto names = files.list(options.directory);
  if (!names.is_ok() && names.status().code() != Code::kNotFound) {
    report.problem(options.directory, names.status());
    return {};
  }
  if (names.is_ok() && !check_headers(files, report, options, *names)) return {};
  auto log = recover_wal(files, options, [&](const ReplayedRecord& replayed) {
    report.bytes(replayed.command.size() + replayed.bodies.size());
    record(replayed);
    return Status();
  });
  if (!log.is_ok()) {
    report.problem(options.directory, log.status());
    return {};
  }
  report.log_records(log->records);
  if (log->torn) {
    CheckFinding finding;
    finding.kind = CheckFinding::Kind::kNote;
    finding.file = log->torn->path;
    finding.offset = log->torn->offset;
    finding.what = "the log ends here; " + std::to_string(log->torn->dropped_bytes) +
                   " bytes behind, which nothing proves to have been synced, are half-written: "
                   "normal after a loss of power, and the next start drops them";
    report.add(std::move(finding));
  }
  return std::move(*log);
}

std::optional<std::uint64_t> node_hash_in_wal(FileSystem& files, const std::string& directory) {
  const auto names = files.list(directory);
  if (!names.is_ok()) return {};
  for (const std::string& name : *names) {
    if (!parse_wal_file_name(name)) continue;
    const std::string path = directory + "/" + name;
    auto file = files.open(path, OpenMode::kRead);
    if (!file.is_ok()) continue;
    char bytes[WalFileHeader::kBytes];
    const auto read = (*file)->read(0, bytes, sizeof bytes);
    if (!read.is_ok() || *read < sizeof bytes) continue;
    const auto header = WalFileHeader::decode(bytes, path);
    if (header.is_ok()) return header->node_hash;
  }
  return {};
}

}  // namespace segue::storage
