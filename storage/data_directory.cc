#include "storage/data_directory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "common/checksum.h"
#include "common/counted.h"

namespace segue::storage {

namespace {

constexpr std::uint32_t kFormatVersion = 1;
constexpr std::size_t kMaxIdentityBytes = 64u << 10;
constexpr std::string_view kIdentityName = "/identity";
constexpr std::string_view kTemporaryName = "/identity.new";
constexpr std::string_view kLockName = "/node.lock";
constexpr std::chrono::milliseconds kLockAgain{20};

std::string checksum_of(std::string_view lines) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(xxh3_64(lines)));
  return std::string(text.data(), 16);
}

Status refuse(std::string text) {
  return Status(Code::kInvalidConfig, std::move(text));
}

std::string format_identity(const Identity& identity) {
  const std::string lines = "segue-identity " + std::to_string(kFormatVersion) +
                            "\ncluster: " + identity.cluster + "\nnode: " + identity.node_id +
                            "\nshards: " + std::to_string(identity.shard_count) + "\n";
  return lines + "checksum: " + checksum_of(lines) + "\n";
}

/// Takes "<label><value>\n" off the front of `text`.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view label) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(label)) return std::nullopt;
  const std::string_view value = text.substr(label.size(), end - label.size());
  text.remove_prefix(end + 1);
  return value;
}

std::optional<std::uint32_t> number(std::optional<std::string_view> text) {
  std::uint32_t value = 0;
  if (!text || text->empty()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

/// The version is looked at before the checksum, so that a newer format is named as such.
Result<Identity> parse_identity(const std::string& path, std::string_view text) {
  const Status corrupt(
      Code::kCorruption,
      path +
          ": damaged: it fails its checksum. Restore it from a backup, or compare it "
          "with another node's identity file and write it anew");
  std::string_view rest = text;
  const std::optional<std::uint32_t> version = number(take_line(rest, "segue-identity "));
  if (!version) return corrupt;
  if (*version > kFormatVersion) {
    return refuse(path + ": the data directory has format version " + std::to_string(*version) +
                  ", this program knows up to version " + std::to_string(kFormatVersion) +
                  ": start it with the newer Segue that wrote it");
  }
  const auto cluster = take_line(rest, "cluster: ");
  const auto node = take_line(rest, "node: ");
  const auto shards = number(take_line(rest, "shards: "));
  const std::string_view lines = text.substr(0, text.size() - rest.size());
  const auto checksum = take_line(rest, "checksum: ");
  if (!cluster || !node || !shards || !checksum || !rest.empty() ||
      *checksum != checksum_of(lines)) {
    return corrupt;
  }
  return Identity{std::string(*cluster), std::string(*node), *shards};
}

Result<Identity> read_identity_file(FileSystem& files, const std::string& path) {
  auto file = files.open(path, OpenMode::kRead);
  if (!file) return file.status();
  std::string text(kMaxIdentityBytes, '\0');
  auto size = (*file)->read(0, text.data(), text.size());
  if (!size) return size.status();
  text.resize(*size);
  return parse_identity(path, text);
}

/// Whole or not at all, also when the power goes.
Status write_identity(FileSystem& files, const std::string& directory, const Identity& identity) {
  const std::string temporary = directory + std::string(kTemporaryName);
  SEGUE_RETURN_IF_ERROR(files.remove(temporary));
  auto file = files.open(temporary, OpenMode::kReadWrite);
  if (!file) return file.status();
  const std::string text = format_identity(identity);
  const std::string_view piece = text;
  SEGUE_RETURN_IF_ERROR((*file)->write(0, std::span(&piece, 1)));
  SEGUE_RETURN_IF_ERROR((*file)->sync());
  SEGUE_RETURN_IF_ERROR(files.rename(temporary, directory + std::string(kIdentityName)));
  return files.sync_directory(directory);
}

Status compare(const std::string& path, const Identity& found, const Identity& expected) {
  if (found.cluster != expected.cluster) {
    return refuse(path + ": the data directory belongs to cluster '" + found.cluster +
                  "', the configuration says '" + expected.cluster +
                  "': correct the cluster's name or point data_dir to another directory");
  }
  if (found.node_id != expected.node_id) {
    return refuse(path + ": the data directory belongs to node '" + found.node_id +
                  "', this node is '" + expected.node_id + "': start it with --id " +
                  found.node_id + " or point data_dir to its own directory");
  }
  if (found.shard_count != expected.shard_count) {
    return refuse(path + ": the data directory was made with " +
                  counted(found.shard_count, "shard") + ", the configuration says " +
                  std::to_string(expected.shard_count) +
                  ": the number of shards is fixed when a cluster is created; set it back to " +
                  std::to_string(found.shard_count));
  }
  return Status::ok();
}

Status check_expected(const Identity& expected) {
  const auto one_line = [](const std::string& text) {
    return !text.empty() && text.size() <= 1024 && text.find('\n') == std::string::npos;
  };
  if (one_line(expected.cluster) && one_line(expected.node_id)) return Status::ok();
  return refuse(
      "the names of the cluster and of the node must have 1 to 1024 bytes and no line break");
}

/// Only what a start that was cut short may leave.
Status check_empty(FileSystem& files, const std::string& path) {
  auto names = files.list(path);
  if (!names) return names.status();
  for (const std::string& name : *names) {
    if (name == kLockName.substr(1) || name == kTemporaryName.substr(1) || name == "lost+found") {
      continue;
    }
    return refuse(path + ": has no file 'identity' but is not empty ('" + name +
                  "'): point data_dir to an empty directory, or restore the identity file");
  }
  return Status::ok();
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status make_durable(FileSystem& files, const std::string& path) {
  std::vector<std::string> parents;  // that get a new name
  for (std::string at = path; !files.exists(at); at = parent_of(at))
    parents.push_back(parent_of(at));
  SEGUE_RETURN_IF_ERROR(files.make_directories(path));
  for (const std::string& parent : parents) SEGUE_RETURN_IF_ERROR(files.sync_directory(parent));
  return Status::ok();
}

Result<std::unique_ptr<FileLock>> take_lock(FileSystem& files, const std::string& directory,
                                            const std::string& else_do,
                                            std::chrono::milliseconds patience = {}) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto lock = files.lock(directory + std::string(kLockName));
    if (lock || lock.status().code() != Code::kResourceLocked) return lock;
    if (std::chrono::steady_clock::now() >= deadline) {
      return refuse(directory + ": the data directory is in use by another process (" +
                    lock.status().message() + "): stop that process" +
                    (else_do.empty() ? "" : " " + else_do));
    }
    std::this_thread::sleep_for(kLockAgain);
  }
}

}  // namespace

Result<Identity> DataDirectory::read_identity(FileSystem& files, const std::string& path) {
  return read_identity_file(files, path + std::string(kIdentityName));
}

Result<std::unique_ptr<FileLock>> DataDirectory::lock_existing(FileSystem& files,
                                                               const std::string& path) {
  if (!files.exists(path + std::string(kLockName))) return std::unique_ptr<FileLock>();
  return take_lock(files, path, "");
}

Result<std::unique_ptr<DataDirectory>> DataDirectory::open(FileSystem& files, std::string path,
                                                           const Identity& expected,
                                                           std::chrono::milliseconds patience) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  SEGUE_RETURN_IF_ERROR(check_expected(expected));
  SEGUE_RETURN_IF_ERROR(make_durable(files, path));
  auto lock = take_lock(files, path, "or point data_dir to another directory", patience);
  if (!lock) return lock.status();

  const std::string identity_path = path + std::string(kIdentityName);
  const bool is_new = !files.exists(identity_path);
  if (is_new) {
    SEGUE_RETURN_IF_ERROR(check_empty(files, path));
    SEGUE_RETURN_IF_ERROR(write_identity(files, path, expected));
  } else {
    auto found = read_identity_file(files, identity_path);
    if (!found) return found.status();
    SEGUE_RETURN_IF_ERROR(compare(identity_path, *found, expected));
    // A start that was killed may have left the name unsynced.
    SEGUE_RETURN_IF_ERROR(files.sync_directory(path));
  }
  return std::unique_ptr<DataDirectory>(
      new DataDirectory(std::move(path), std::move(*lock), is_new));
}

}  // namespace segue::storage
