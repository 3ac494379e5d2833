#include "storage/log_ends.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "common/checksum.h"
#include "storage/wal_format.h"

namespace segue::storage {

namespace {

constexpr std::uint64_t kFormatVersion = 1;
constexpr std::size_t kMaxBytes = 1u << 20;
constexpr std::string_view kTitle = "segue-log-ends ";
constexpr std::string_view kLastFile = "last file: ";
constexpr std::string_view kShard = "shard ";
constexpr const char* kWhatToDo =
    ". Files were removed, cut short or replaced by older copies. Nothing was removed now: restore "
    "them. To go on without what is lost: segue check --repair moves away what tells of it, ";
constexpr std::string_view kChecksum = "checksum: ";

std::string checksum_of(std::string_view lines) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(xxh3_64(lines)));
  return std::string(text.data(), 16);
}

std::string format(const LogNote& note) {
  std::string lines = std::string(kTitle) + std::to_string(kFormatVersion) + "\n" +
                      std::string(kLastFile) + std::to_string(note.last_file) + "\n";
  for (const auto& [shard, index] : note.ends) {
    lines += std::string(kShard) + std::to_string(shard.value) + ": " +
             std::to_string(index.value) + "\n";
  }
  return lines + std::string(kChecksum) + checksum_of(lines) + "\n";
}

/// Takes a number off the front of `text`, and `behind` after it.
template <typename Number>
std::optional<Number> take_number(std::string_view& text, std::string_view behind) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(behind)) return std::nullopt;
  text.remove_prefix(behind.size());
  return number;
}

Result<LogNote> parse(const std::string& path, std::string_view text) {
  const Status damaged(Code::kCorruption, path + ": is damaged");
  std::string_view rest = text;
  if (!rest.starts_with(kTitle)) return damaged;
  rest.remove_prefix(kTitle.size());
  const auto version = take_number<std::uint64_t>(rest, "\n");
  if (!version) return damaged;
  if (*version > kFormatVersion) {
    return Status(Code::kInvalidConfig, path + ": has format version " + std::to_string(*version) +
                                            ", this program knows up to version " +
                                            std::to_string(kFormatVersion) +
                                            ": start it with the newer Segue that wrote it");
  }
  if (!rest.starts_with(kLastFile)) return damaged;
  rest.remove_prefix(kLastFile.size());
  const auto last_file = take_number<std::uint64_t>(rest, "\n");
  if (!last_file) return damaged;
  LogNote note;
  note.last_file = *last_file;
  while (rest.starts_with(kShard)) {
    rest.remove_prefix(kShard.size());
    const auto shard = take_number<std::uint16_t>(rest, ": ");
    const auto index = shard ? take_number<std::uint64_t>(rest, "\n") : std::nullopt;
    if (!index) return damaged;
    note.ends[ShardId{*shard}] = LogIndex{*index};
  }
  const std::string_view lines = text.substr(0, text.size() - rest.size());
  if (rest != std::string(kChecksum) + checksum_of(lines) + "\n") return damaged;
  return note;
}

}  // namespace

Status LogEndsFile::load() {
  if (!files_.exists(path())) return {};
  auto file = files_.open(path(), OpenMode::kRead);
  if (!file) return file.status();
  std::string text(kMaxBytes, '\0');
  auto size = (*file)->read(0, text.data(), text.size());
  if (!size) return size.status();
  auto note = parse(path(), std::string_view(text).substr(0, *size));
  if (!note) return note.status();
  noted_ = std::move(*note);
  return {};
}

Status LogEndsFile::check(std::uint32_t shard_count, const std::vector<RecoveredShard>& checkpoints,
                          const RecoveredWal& log) const {
  SEGUE_RETURN_IF_ERROR(check_ends(shard_count, checkpoints, log.ends));
  // A later file that only was prepared does not stand for it.
  const bool there = noted_.last_file == 0 || log.last_written > noted_.last_file ||
                     std::binary_search(log.numbers.begin(), log.numbers.end(), noted_.last_file);
  if (there) return {};
  return Status(Code::kCorruption,
                directory_ + "/wal: the log was written in file " +
                    wal_file_name(noted_.last_file) + ", which is missing; " +
                    (log.last_written == 0 ? "no other file has anything of the log"
                                           : "the last one that has something of the log is " +
                                                 wal_file_name(log.last_written)) +
                    kWhatToDo + path());
}

Status LogEndsFile::check_ends(std::uint32_t shard_count,
                               const std::vector<RecoveredShard>& checkpoints,
                               const std::vector<Committed>& log) const {
  std::string first;
  std::uint32_t others = 0;
  for (const auto& [noted_shard, index] : noted_.ends) {
    const ShardId shard = noted_shard;
    if (shard.value >= shard_count) continue;  // its state is elsewhere
    const auto checkpoint =
        std::find_if(checkpoints.begin(), checkpoints.end(),
                     [&](const RecoveredShard& found) { return found.shard == shard; });
    const auto end = std::find_if(log.begin(), log.end(),
                                  [&](const Committed& found) { return found.shard == shard; });
    const bool has_checkpoint = checkpoint != checkpoints.end();
    const LogIndex applied = has_checkpoint ? checkpoint->applied : LogIndex{0};
    const LogIndex found = end == log.end() ? applied : std::max(applied, end->up_to);
    if (found >= index) continue;
    if (!first.empty()) {
      ++others;
      continue;
    }
    const std::string number = std::to_string(shard.value);
    first = "shard " + number + " had " + std::to_string(index.value) +
            " durable records, but of those behind " + std::to_string(found.value) +
            " nothing is left: " + directory_ + "/shards/" + number + "/checkpoint " +
            (has_checkpoint ? "ends at " + std::to_string(applied.value) : "is missing") +
            ", the log in " + directory_ + "/wal " +
            (end == log.end() ? "has none of them" : "ends at " + std::to_string(end->up_to.value));
  }
  if (first.empty()) return {};
  return Status(Code::kCorruption,
                first + (others > 0 ? " (" + std::to_string(others) + " other shards alike)" : "") +
                    kWhatToDo + path());
}

Status LogEndsFile::expect_no_file_behind(const RecoveredWal& log) {
  const std::uint64_t last_used = log.files.empty() ? 0 : log.files.back().number;
  if (noted_.last_file <= last_used) return {};
  noted_.last_file = last_used;
  if (write(noted_)) return {};
  return remove();
}

Status LogEndsFile::remove() const {
  SEGUE_RETURN_IF_ERROR(files_.remove(path()));
  return files_.sync_directory(directory_);
}

bool LogEndsFile::note(const LogNote& now) {
  const LogNote before = noted_;
  noted_.last_file = now.last_file;
  for (const auto& [shard, index] : now.ends) {
    LogIndex& noted = noted_.ends[shard];
    noted = std::max(noted, index);
  }
  return noted_ != before;
}

Status LogEndsFile::write(const LogNote& noted) const {
  const std::string temporary = path() + ".new";
  SEGUE_RETURN_IF_ERROR(files_.remove(temporary));
  auto file = files_.open(temporary, OpenMode::kReadWrite);
  if (!file) return file.status();
  const std::string text = format(noted);
  const std::string_view piece = text;
  SEGUE_RETURN_IF_ERROR((*file)->write(0, std::span(&piece, 1)));
  SEGUE_RETURN_IF_ERROR((*file)->sync());
  SEGUE_RETURN_IF_ERROR(files_.rename(temporary, path()));
  return files_.sync_directory(directory_);
}

}  // namespace segue::storage
