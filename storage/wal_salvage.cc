#include "storage/wal_salvage.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <utility>

#include "storage/wal_appender.h"
#include "storage/wal_files.h"
#include "storage/wal_reader.h"
#include "storage/wal_recovery.h"

namespace segue::storage {

namespace {

/// More missing records than a log can have had are no hole, but an index that makes no sense.
constexpr std::uint64_t kMostFillers = 50'000'000;

/// Writes a log. One thread.
class LogWriter {
 public:
  LogWriter(FileSystem& files, WalOptions options)
      : options_(std::move(options)), wal_files_(files, options_) {}

  Status open(std::uint64_t first_file) {
    RecoveredWal before;
    before.next_file = first_file;
    SEGUE_RETURN_IF_ERROR(wal_files_.open(before));
    appender_ = std::make_unique<WalAppender>(wal_files_, 0, never_wait_);
    return appender_->start();
  }
  Status add(const LogRecord& record) { return appender_->add(record, progress()); }
  /// With a mark at the end: all of it was synced.
  Status close() {
    SEGUE_RETURN_IF_ERROR(appender_->finish(progress()));
    SEGUE_RETURN_IF_ERROR(appender_->sync());
    SEGUE_RETURN_IF_ERROR(appender_->write_mark());
    return appender_->sync();
  }

 private:
  std::vector<WalFileProgress>& progress() {
    // Only the file that is written to matters to the appender.
    if (progress_.size() > 1) progress_.erase(progress_.begin(), progress_.end() - 1);
    if (!progress_.empty()) progress_.back().highest.clear();
    return progress_;
  }

  const WalOptions options_;
  const std::atomic<bool> never_wait_{true};
  WalFiles wal_files_;
  std::unique_ptr<WalAppender> appender_;
  std::vector<WalFileProgress> progress_;
};

/// Takes records in the order of the log, and fills its holes.
class Copying {
 public:
  Copying(const WalSalvage::Rules& rules, LogWriter& writer, WalSalvage::Written& written)
      : rules_(rules), writer_(writer), written_(written) {}

  Status take(const ReplayedRecord& record) {
    LogIndex& end = end_of(record);
    if (record.index <= end) return {};
    if (record.index != end.next()) {
      const WalHole hole{record.shard, end.next(), LogIndex{record.index.value - 1}};
      if (ends_at(hole)) {
        if (written_.dropped[record.shard]++ == 0) written_.holes.push_back(hole);
        return {};
      }
      SEGUE_RETURN_IF_ERROR(fill(hole, record.epoch));
    }
    end = record.index;
    LogRecord copy;
    copy.shard = record.shard;
    copy.epoch = record.epoch;
    copy.index = record.index;
    copy.command = std::string(record.command.view());
    copy.bodies = {record.bodies};
    ++written_.records;
    return writer_.add(copy);
  }

 private:
  LogIndex& end_of(const ReplayedRecord& record) {
    const auto applied = rules_.applied.find(record.shard);
    // Of a shard of which nothing is known the log may begin anywhere.
    const LogIndex before =
        applied != rules_.applied.end() ? applied->second : LogIndex{record.index.value - 1};
    return written_.ends.try_emplace(record.shard, before).first->second;
  }
  bool ends_at(const WalHole& hole) const {
    return hole.last.value - hole.first.value >= kMostFillers ||
           std::find(rules_.strict.begin(), rules_.strict.end(), hole.shard) != rules_.strict.end();
  }
  Status fill(const WalHole& hole, Epoch epoch) {
    written_.holes.push_back(hole);
    LogRecord filler;
    filler.shard = hole.shard;
    filler.epoch = epoch;
    filler.command = rules_.filler;
    for (filler.index = hole.first; filler.index <= hole.last; filler.index = filler.index.next()) {
      SEGUE_RETURN_IF_ERROR(writer_.add(filler));
    }
    return {};
  }

  const WalSalvage::Rules& rules_;
  LogWriter& writer_;
  WalSalvage::Written& written_;
};

}  // namespace

Status WalSalvage::find_groups(LogFile& file, WalSurvey& survey) {
  auto reader = WalReader::open_cut(files_, file.path, file.number, node_hash_);
  if (!reader.is_ok()) {
    if (reader.status().code() != Code::kCorruption) return reader.status();
    survey.unreadable.push_back(file.path);
    return {};
  }
  const std::uint64_t missing = (*reader)->missing_bytes();
  if (missing > 0) survey.cut.push_back(file.path);
  survey.largest_file = std::max(survey.largest_file, (*reader)->size() + missing);
  std::vector<std::uint64_t> offsets;
  SEGUE_RETURN_IF_ERROR((*reader)->each_header(
      kWalBlock, [&](std::uint64_t offset, const WalGroupHeader&) { offsets.push_back(offset); }));
  std::uint64_t next = 0;
  for (const std::uint64_t offset : offsets) {
    auto group = (*reader)->group_at(offset);
    if (!group.is_ok()) return group.status();
    if (!group->has_value() || (*group)->header.sequence < next) continue;
    next = (*group)->header.sequence + 1;
    file.groups.push_back({offset, (*group)->header.sequence});
  }
  return {};
}

Status WalSalvage::find_all_groups(WalSurvey& survey) {
  log_.clear();
  auto names = files_.list(directory_);
  if (!names.is_ok() && names.status().code() != Code::kNotFound) return names.status();
  if (names.is_ok()) {
    for (const std::string& name : *names) {
      const auto number = parse_wal_file_name(name);
      if (number) log_.push_back({*number, directory_ + "/" + name, {}});
    }
  }
  std::sort(log_.begin(), log_.end(),
            [](const LogFile& one, const LogFile& other) { return one.number < other.number; });
  for (LogFile& file : log_) {
    survey.highest_file = file.number;
    SEGUE_RETURN_IF_ERROR(find_groups(file, survey));
  }
  // A file may end with groups that a start dropped as a torn tail: the log went on in the next
  // file with their numbers.
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  for (auto file = log_.rbegin(); file != log_.rend(); ++file) {
    std::erase_if(file->groups, [&](const Place& group) { return group.sequence >= limit; });
    if (!file->groups.empty()) limit = file->groups.front().sequence;
  }
  std::uint64_t next = 0;
  for (const LogFile& file : log_) {
    for (const Place& group : file.groups) {
      if (next != 0) survey.missing_groups += group.sequence - next;
      next = group.sequence + 1;
    }
  }
  return {};
}

Result<WalSurvey> WalSalvage::survey(const std::map<ShardId, LogIndex>& applied,
                                     const Interpret& interpret) {
  WalSurvey survey;
  SEGUE_RETURN_IF_ERROR(find_all_groups(survey));
  const auto note = [&](const ReplayedRecord& record) {
    survey.records[record.shard].add({record.index.value, record.index.value});
    const auto covered = applied.find(record.shard);
    const bool needed = covered == applied.end() || record.index > covered->second;
    if (needed && interpret && record.shard != kCatalogShard) {
      survey.content.set_shard(record.shard);
      interpret(record, survey.content);
    }
    return Status();
  };
  // Wherever the checkpoints end, so that it is the log alone that is judged here.
  const auto log = recover_wal(files_, {directory_, node_hash_, {}}, note);
  survey.joined = log.is_ok();
  if (survey.joined) return survey;
  if (log.status().code() != Code::kCorruption) return log.status();
  survey.records.clear();
  survey.content = {};
  SEGUE_RETURN_IF_ERROR(each_record(note));
  return survey;
}

Status WalSalvage::each_record(const std::function<Status(const ReplayedRecord&)>& take) {
  for (const LogFile& file : log_) {
    if (file.groups.empty()) continue;
    auto reader = WalReader::open_cut(files_, file.path, file.number, node_hash_);
    if (!reader.is_ok()) return reader.status();
    for (const Place& place : file.groups) {
      auto group = (*reader)->group_at(place.offset);
      if (!group.is_ok()) return group.status();
      if (!group->has_value()) {
        return Status(Code::kIoError, file.path +
                                          ": reads differently from one time to the next "
                                          "at offset " +
                                          std::to_string(place.offset));
      }
      for (const WalGroupView::Record& record : (*group)->records) {
        const WalRecordHeader& header = record.header;
        if (header.type != WalRecordHeader::kCommand) {
          return Status(Code::kInvalidConfig, file.path + ": has a record of type " +
                                                  std::to_string(header.type) +
                                                  ": repair it with the newer Segue that wrote it");
        }
        const SharedBytes payload = SharedBytes::from(std::string(record.payload));
        SEGUE_RETURN_IF_ERROR(take({ShardId(header.shard), Epoch(header.epoch),
                                    LogIndex(header.index), payload.slice(0, header.command_bytes),
                                    payload.slice(header.command_bytes, header.body_bytes)}));
      }
    }
  }
  return {};
}

Result<WalSalvage::Written> WalSalvage::write(const std::string& directory,
                                              std::uint64_t first_file, std::uint64_t file_bytes,
                                              const Rules& rules) {
  Written written;
  SEGUE_RETURN_IF_ERROR(files_.make_directories(directory));
  WalOptions options;
  options.directory = directory;
  options.node_hash = node_hash_;
  options.file_bytes = file_bytes;
  options.reserve_bytes = 0;
  options.spare_files = 0;
  LogWriter writer(files_, std::move(options));
  SEGUE_RETURN_IF_ERROR(writer.open(first_file));
  Copying copying(rules, writer, written);
  SEGUE_RETURN_IF_ERROR(
      each_record([&](const ReplayedRecord& record) { return copying.take(record); }));
  SEGUE_RETURN_IF_ERROR(writer.close());
  SEGUE_RETURN_IF_ERROR(files_.sync_directory(directory));
  return written;
}

}  // namespace segue::storage
