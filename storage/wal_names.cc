#include "storage/wal_names.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/wal_format.h"

namespace segue::storage {

namespace {

/// Between two names, so that files can change places.
constexpr std::string_view kBetween = ".named";

struct Misnamed {
  std::string name;
  std::uint64_t number;  // as its header says
};

/// The number in the header of a file of this node's log, if that is whole.
Result<std::optional<std::uint64_t>> number_in_header(FileSystem& files, const std::string& path,
                                                      std::uint64_t node_hash) {
  std::optional<std::uint64_t> none;
  auto file = files.open(path, OpenMode::kRead);
  if (!file.is_ok()) return file.status();
  char bytes[WalFileHeader::kBytes];
  const auto read = (*file)->read(0, bytes, sizeof bytes);
  if (!read.is_ok()) return read.status();
  if (*read < sizeof bytes) return none;
  const auto header = WalFileHeader::decode(bytes, path);
  if (!header.is_ok() || header->node_hash != node_hash) return none;
  return std::optional<std::uint64_t>(header->number);
}

/// Files whose names and headers differ, and whose right names nothing else has.
Result<std::vector<Misnamed>> find_misnamed(FileSystem& files, const std::string& directory,
                                            std::uint64_t node_hash) {
  auto names = files.list(directory);
  if (!names.is_ok() && names.status().code() == Code::kNotFound) return std::vector<Misnamed>();
  if (!names.is_ok()) return names.status();
  std::vector<Misnamed> misnamed;
  std::set<std::uint64_t> taken;
  std::set<std::uint64_t> claimed_twice;
  for (const std::string& name : *names) {
    std::string_view plain = name;
    const bool between = plain.ends_with(kBetween);
    if (between) plain.remove_suffix(kBetween.size());
    const auto number = parse_wal_file_name(plain);
    if (!number) continue;
    const auto header = number_in_header(files, directory + "/" + name, node_hash);
    if (!header.is_ok()) return header.status();
    if (*header && (between || **header != *number)) {
      const bool again = std::any_of(misnamed.begin(), misnamed.end(), [&](const Misnamed& other) {
        return other.number == **header;
      });
      if (again) claimed_twice.insert(**header);
      misnamed.push_back({name, **header});
    } else if (!between) {
      taken.insert(*number);
    }
  }
  // A file that stays where it is may keep another from its name.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < misnamed.size(); ++i) {
      const Misnamed file = misnamed[i];
      if (!taken.contains(file.number) && !claimed_twice.contains(file.number)) continue;
      if (const auto number = parse_wal_file_name(file.name)) taken.insert(*number);
      misnamed.erase(misnamed.begin() + static_cast<std::ptrdiff_t>(i));
      changed = true;
      break;
    }
  }
  return misnamed;
}

}  // namespace

Status correct_wal_names(RepairWork& work, const std::string& directory, std::uint64_t node_hash) {
  auto misnamed = find_misnamed(work.files(), directory, node_hash);
  if (!misnamed.is_ok()) return misnamed.status();
  if (misnamed->empty()) return {};
  const auto path = [&](const std::string& name) { return directory + "/" + name; };
  for (const Misnamed& file : *misnamed) {
    const std::string right = wal_file_name(file.number);
    work.done(path(file.name), "is file number " + std::to_string(file.number) +
                                   " of the log, as its header says: it gets the name " + right);
  }
  const auto between = [&](const Misnamed& file) {
    return path(wal_file_name(file.number) + std::string(kBetween));
  };
  for (const Misnamed& file : *misnamed) {
    SEGUE_RETURN_IF_ERROR(work.files().rename(path(file.name), between(file)));
  }
  SEGUE_RETURN_IF_ERROR(work.files().sync_directory(directory));
  for (const Misnamed& file : *misnamed) {
    SEGUE_RETURN_IF_ERROR(work.files().rename(between(file), path(wal_file_name(file.number))));
  }
  return work.files().sync_directory(directory);
}

}  // namespace segue::storage
