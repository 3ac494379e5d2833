#include "storage/backup_manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "common/checksum.h"

namespace segue::storage {

namespace {

constexpr std::uint32_t kFormatVersion = 1;
constexpr std::uint64_t kMaxBytes = 1u << 30;
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kPieceBytes = 1u << 20;
constexpr std::string_view kTitle = "segue-backup ";

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return std::string(text.data(), 16);
}

template <typename Number>
std::optional<Number> number(std::string_view text, int base = 10) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The rest of the next line, if it begins with `key`.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key)) return std::nullopt;
  const std::string_view value = text.substr(key.size(), end - key.size());
  if (key.size() > end) return std::nullopt;
  text.remove_prefix(end + 1);
  return value;
}

std::optional<std::string_view> take_word(std::string_view& line) {
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end + 1);
  return word;
}

/// A name below a directory that cannot lead out of it.
bool is_below(std::string_view path) {
  if (path.empty() || path.size() > kMaxPath || path.back() == '/') return false;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return true;
}

std::optional<BackupFile> parse_file(std::string_view line) {
  const auto checksum_text = take_word(line);
  const auto bytes_text = take_word(line);
  if (!checksum_text || !bytes_text || checksum_text->size() != 16 || !is_below(line)) return {};
  const auto checksum = number<std::uint64_t>(*checksum_text, 16);
  const auto bytes = number<std::uint64_t>(*bytes_text);
  if (!checksum || !bytes) return {};
  return BackupFile{std::string(line), *bytes, *checksum};
}

std::optional<BackupManifest> parse_lines(std::string_view lines) {
  const auto cluster = take_line(lines, "cluster: ");
  const auto node = take_line(lines, "node: ");
  const auto shards = number<std::uint32_t>(take_line(lines, "shards: ").value_or(""));
  const auto taken = number<std::int64_t>(take_line(lines, "taken ms: ").value_or(""));
  const auto mode = take_line(lines, "mode: ");
  const auto count = number<std::uint64_t>(take_line(lines, "files: ").value_or(""));
  const auto bytes = number<std::uint64_t>(take_line(lines, "bytes: ").value_or(""));
  if (!cluster || !node || !shards || !taken || !count || !bytes) return {};
  if (mode != "online" && mode != "offline") return {};
  BackupManifest manifest;
  manifest.identity = {std::string(*cluster), std::string(*node), *shards};
  manifest.taken_ms = *taken;
  manifest.online = mode == "online";
  std::set<std::string_view> names;
  while (!lines.empty()) {
    const auto line = take_line(lines, "file: ");
    auto file = line ? parse_file(*line) : std::nullopt;
    if (!file) return {};
    if (!names.insert(line->substr(line->size() - file->path.size())).second) return {};
    manifest.files.push_back(*std::move(file));
  }
  if (manifest.files.size() != *count || manifest.bytes() != *bytes) return {};
  // Restored last, since no node starts without it.
  if (manifest.files.empty() || manifest.files.back().path != "identity") return {};
  return manifest;
}

}  // namespace

std::uint64_t BackupManifest::bytes() const {
  std::uint64_t sum = 0;
  for (const BackupFile& file : files) sum += file.bytes;
  return sum;
}

std::string format_backup_manifest(const BackupManifest& manifest) {
  std::string lines = std::string(kTitle) + std::to_string(kFormatVersion) +
                      "\ncluster: " + manifest.identity.cluster +
                      "\nnode: " + manifest.identity.node_id +
                      "\nshards: " + std::to_string(manifest.identity.shard_count) +
                      "\ntaken ms: " + std::to_string(manifest.taken_ms) +
                      "\nmode: " + (manifest.online ? "online" : "offline") +
                      "\nfiles: " + std::to_string(manifest.files.size()) +
                      "\nbytes: " + std::to_string(manifest.bytes()) + "\n";
  for (const BackupFile& file : manifest.files) {
    lines +=
        "file: " + hex(file.checksum) + " " + std::to_string(file.bytes) + " " + file.path + "\n";
  }
  return lines + "checksum: " + hex(xxh3_64(lines)) + "\n";
}

Result<BackupManifest> parse_backup_manifest(const std::string& path, std::string_view text) {
  const Status damaged(Code::kCorruption,
                       path +
                           ": is damaged: it fails its checksum, so what belongs to this backup "
                           "is not known. Use another one");
  std::string_view rest = text;
  const auto version = number<std::uint32_t>(take_line(rest, kTitle).value_or(""));
  if (!version || *version == 0) return damaged;
  if (*version > kFormatVersion) {
    return Status(Code::kInvalidConfig, path + ": has format version " + std::to_string(*version) +
                                            ", this program knows up to version " +
                                            std::to_string(kFormatVersion) +
                                            ": restore it with the newer Segue that wrote it");
  }
  constexpr std::size_t kChecksumLine = 10 + 16 + 1;
  if (rest.size() < kChecksumLine) return damaged;
  const std::string_view lines = text.substr(0, text.size() - kChecksumLine);
  const std::string expected = "checksum: " + hex(xxh3_64(lines)) + "\n";
  if (text.substr(lines.size()) != expected) return damaged;
  auto manifest = parse_lines(rest.substr(0, rest.size() - kChecksumLine));
  if (!manifest) return damaged;
  return *std::move(manifest);
}

Result<BackupFile> measure_backup_file(FileSystem& files, const std::string& directory,
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

Status write_backup_manifest(FileSystem& files, const std::string& directory,
                             const BackupManifest& manifest) {
  const std::string path = directory + "/" + kBackupManifestName;
  SEGUE_RETURN_IF_ERROR(files.remove(path + ".new"));
  auto file = files.open(path + ".new", OpenMode::kReadWrite);
  if (!file.is_ok()) return file.status();
  const std::string text = format_backup_manifest(manifest);
  const std::string_view piece = text;
  SEGUE_RETURN_IF_ERROR((*file)->write(0, std::span(&piece, 1)));
  SEGUE_RETURN_IF_ERROR((*file)->sync());
  SEGUE_RETURN_IF_ERROR(files.rename(path + ".new", path));
  return files.sync_directory(directory);
}

Result<BackupManifest> read_backup_manifest(FileSystem& files, const std::string& directory) {
  const std::string path = directory + "/" + kBackupManifestName;
  if (!files.exists(path)) {
    std::string hint;
    const auto names = files.list(directory);
    if (!names.is_ok()) return names.status();
    for (const std::string& name : *names) {
      if (files.exists(directory + "/" + name + "/" + kBackupManifestName)) {
        hint += (hint.empty() ? "" : ", ") + name;
      }
    }
    return Status(Code::kInvalidConfig,
                  directory + ": is no backup: it has no file 'manifest', which is written last" +
                      (hint.empty() ? "" : ". Below it are the backups " + hint + ": name one"));
  }
  auto file = files.open(path, OpenMode::kRead);
  if (!file.is_ok()) return file.status();
  const auto size = (*file)->size();
  if (!size.is_ok()) return size.status();
  if (*size > kMaxBytes) {
    return Status(Code::kCorruption, path + ": is damaged: it has " + std::to_string(*size) +
                                         " bytes, no manifest has more than " +
                                         std::to_string(kMaxBytes));
  }
  std::string text(*size, '\0');
  const auto read = (*file)->read(0, text.data(), text.size());
  if (!read.is_ok()) return read.status();
  text.resize(*read);
  return parse_backup_manifest(path, text);
}

}  // namespace segue::storage
