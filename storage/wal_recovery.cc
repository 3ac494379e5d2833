#include "storage/wal_recovery.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/checksum.h"
#include "storage/wal_format.h"
#include "storage/wal_reader.h"

namespace segue::storage {

namespace {

/// Goes through the log's files once, in order.
class Recovery {
 public:
  Recovery(FileSystem& files, const WalRecoveryOptions& options,
           const std::function<Status(const ReplayedRecord&)>& replay)
      : files_(files), options_(options), replay_(replay) {}

  Result<RecoveredWal> run() {
    SEGUE_RETURN_IF_ERROR(find_files());
    std::size_t at = 0;
    while (at < numbers_.size()) {
      SEGUE_RETURN_IF_ERROR(read_file(at));
      auto next = find_continuation(at + 1);
      if (!next) return next.status();
      if (*next == numbers_.size()) break;
      at = *next;
    }
    if (reader_ != nullptr) SEGUE_RETURN_IF_ERROR(judge_end(at));
    return finish();
  }

 private:
  struct Use {
    WalFileUse use;
    std::uint64_t last_group = 0;
  };

  Status find_files();
  Result<std::unique_ptr<WalReader>> open(std::size_t at);
  Status read_file(std::size_t at);
  Result<std::size_t> find_continuation(std::size_t from);
  Status take_group(const WalGroupView& group, WalFileUse& use);
  Status check_index(const WalRecordHeader& record) const;
  Status judge_end(std::size_t at);
  RecoveredWal finish();
  LogIndex applied(ShardId shard) const;
  std::string here() const { return reader_->path() + ": offset " + std::to_string(offset_); }

  FileSystem& files_;
  const WalRecoveryOptions& options_;
  const std::function<Status(const ReplayedRecord&)>& replay_;

  std::vector<std::uint64_t> numbers_;  // of the .wal files, ascending
  std::unique_ptr<WalReader> reader_;   // the file being read
  std::uint64_t offset_ = 0;            // in it: where its valid groups end
  std::uint64_t expected_ = 0;          // the next group; 0: whichever comes first
  std::vector<Use> used_;               // files with valid groups
  std::map<ShardId, LogIndex> ends_;
  RecoveredWal result_;
};

Status Recovery::find_files() {
  auto names = files_.list(options_.directory);
  if (!names) return names.status().code() == Code::kNotFound ? Status::ok() : names.status();
  for (const std::string& name : *names) {
    // A spare may have a higher number after a loss of power. A file that got its number again
    // would replace it when it becomes a spare itself.
    const auto spare = parse_wal_spare_name(name);
    if (spare) result_.next_file = std::max(result_.next_file, *spare + 1);
    if (const auto number = parse_wal_file_name(name)) numbers_.push_back(*number);
  }
  std::sort(numbers_.begin(), numbers_.end());
  if (!numbers_.empty()) result_.next_file = std::max(result_.next_file, numbers_.back() + 1);
  return Status::ok();
}

Result<std::unique_ptr<WalReader>> Recovery::open(std::size_t at) {
  return WalReader::open(files_, options_.directory + "/" + wal_file_name(numbers_[at]),
                         numbers_[at], options_.node_hash, options_.reading);
}

Status Recovery::read_file(std::size_t at) {
  auto reader = open(at);
  if (!reader) return reader.status();
  reader_ = std::move(*reader);
  offset_ = kWalBlock;
  Use file;
  file.use.number = numbers_[at];
  file.use.file_bytes = reader_->size();
  while (true) {
    auto group = reader_->group_at(offset_);
    if (!group) return group.status();
    const bool next =
        *group && (expected_ == 0 ? (*group)->header.first == (*group)->header.sequence
                                  : (*group)->header.sequence == expected_);
    if (!next) break;
    SEGUE_RETURN_IF_ERROR(take_group(**group, file.use));
    file.last_group = (*group)->header.sequence;
    expected_ = file.last_group + 1;
    offset_ = (*group)->next_offset;
  }
  file.use.used_bytes = offset_;
  if (file.last_group != 0) used_.push_back(std::move(file));
  return Status::ok();
}

/// The first file from `from` on that starts with the group expected next; numbers_.size() if none
/// does.
Result<std::size_t> Recovery::find_continuation(std::size_t from) {
  for (std::size_t at = from; at < numbers_.size(); ++at) {
    auto reader = open(at);
    if (!reader) return reader.status();
    auto group = (*reader)->group_at(kWalBlock);
    if (!group) return group.status();
    if (*group && expected_ != 0 && (*group)->header.sequence == expected_) return at;
  }
  return numbers_.size();
}

Status Recovery::take_group(const WalGroupView& group, WalFileUse& use) {
  for (const WalGroupView::Record& record : group.records) {
    const WalRecordHeader& header = record.header;
    if (header.type != WalRecordHeader::kCommand) {
      return Status(Code::kInvalidConfig,
                    here() + ": has a record of type " + std::to_string(header.type) +
                        ", which this program does not know: start it with the "
                        "newer Segue that wrote it");
    }
    SEGUE_RETURN_IF_ERROR(check_index(header));
    const ShardId shard(header.shard);
    const LogIndex index(header.index);
    ends_[shard] = index;
    use.highest[shard] = index;
    ++result_.records;
    if (index <= applied(shard) || header.shard < options_.first_shard) continue;
    const SharedBytes payload = SharedBytes::from(std::string(record.payload));
    SEGUE_RETURN_IF_ERROR(
        replay_({shard, Epoch(header.epoch), index, payload.slice(0, header.command_bytes),
                 payload.slice(header.command_bytes, header.body_bytes)}));
  }
  return Status::ok();
}

Status Recovery::check_index(const WalRecordHeader& record) const {
  const ShardId shard(record.shard);
  const auto end = ends_.find(shard);
  const bool known = end != ends_.end();
  if (!known && !options_.applied.contains(shard)) return Status::ok();
  const std::uint64_t last = known ? end->second.value : 0;
  const std::uint64_t needed = std::max(last, applied(shard).value);
  if (record.index > last && record.index <= needed + 1) return Status::ok();
  const std::string cause =
      known ? "records between them are missing"
      : needed > 0
          ? "the files of the log before this one are missing, or the shard's checkpoint is from "
            "an older copy. Restore them"
          : "the shard's checkpoint is missing, or the files of the log before this one are. "
            "Restore them";
  return Status(Code::kCorruption, here() + ": shard " + std::to_string(record.shard) +
                                       " goes on with index " + std::to_string(record.index) +
                                       " after " + std::to_string(needed) + ": " + cause);
}

LogIndex Recovery::applied(ShardId shard) const {
  const auto found = options_.applied.find(shard);
  return found == options_.applied.end() ? LogIndex{0} : found->second;
}

/// What stands behind the last valid group decides whether the log ends there, torn or not, or is
/// damaged: a later group that says that the expected one was synced proves that it was there.
Status Recovery::judge_end(std::size_t at) {
  auto remains = reader_->has_remains_at(offset_);
  if (!remains) return remains.status();
  WalTornTail torn{reader_->path(), offset_, *remains ? 1u : 0u, *remains ? kWalBlock : 0};
  std::string proof;
  std::unique_ptr<WalReader> later;
  for (std::size_t file = at; file < numbers_.size(); ++file) {
    if (file != at) {
      auto reader = open(file);
      if (!reader) return reader.status();
      later = std::move(*reader);
    }
    WalReader& reader = file == at ? *reader_ : *later;
    SEGUE_RETURN_IF_ERROR(reader.each_header(
        file == at ? offset_ : kWalBlock, [&](std::uint64_t offset, const WalGroupHeader& header) {
          // Of a log without a valid beginning: its first file was in use before any later one.
          const std::uint64_t missing = expected_ != 0 ? expected_ : file == at ? header.first : 0;
          if (header.sequence < missing) return;
          ++torn.dropped_groups;
          torn.dropped_bytes += std::min(header.bytes, reader.size() - offset);
          if (header.synced >= missing && proof.empty()) {
            proof = reader.path() + " at offset " + std::to_string(offset);
          }
        }));
  }
  if (!proof.empty()) {
    return Status(Code::kCorruption, here() + ": the log is damaged here: group " +
                                         std::to_string(expected_) +
                                         " is missing, but it was synced before the group in " +
                                         proof + " was written");
  }
  if (torn.dropped_groups > 0) result_.torn = std::move(torn);
  return Status::ok();
}

RecoveredWal Recovery::finish() {
  result_.numbers = numbers_;
  if (!used_.empty()) result_.last_written = used_.back().use.number;
  // A file behind the last record holds nothing but the mark of a clean stop, or of a start.
  while (!used_.empty() && used_.back().use.highest.empty()) used_.pop_back();
  const std::uint64_t last_used = used_.empty() ? 0 : used_.back().use.number;
  for (const std::uint64_t number : numbers_) {
    if (number > last_used) result_.unused.push_back(number);
  }
  result_.last_group = used_.empty() ? 0 : used_.back().last_group;
  for (Use& file : used_) result_.files.push_back(std::move(file.use));
  for (const auto& [shard, index] : ends_) result_.ends.push_back({shard, index});
  return std::move(result_);
}

}  // namespace

std::uint64_t wal_node_hash(const std::string& cluster, const std::string& node_id) {
  return xxh3_64(cluster + '\0' + node_id);
}

Result<RecoveredWal> recover_wal(FileSystem& files, const WalRecoveryOptions& options,
                                 const std::function<Status(const ReplayedRecord&)>& replay) {
  return Recovery(files, options, replay).run();
}

}  // namespace segue::storage
