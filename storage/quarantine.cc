#include "storage/quarantine.h"

#include <span>
#include <string_view>

namespace segue::storage {

Quarantine::Quarantine(SegmentContext& context, std::uint64_t most_bytes)
    : context_(context), path_(context.root + "/quarantine"), most_bytes_(most_bytes) {}

std::string Quarantine::below_root(const std::string& path) const {
  return path.starts_with(context_.root + "/") ? path.substr(context_.root.size() + 1) : path;
}

Status Quarantine::load() {
  auto scan = scan_quarantine(context_.files, path_, [this](const QuarantineRecord& record) {
    known_[{record.queue, record.sequence}] = true;
  });
  if (!scan.is_ok()) return scan.status();
  count_ = scan->records;
  if (scan->records > 0) {
    context_.log.warn("quarantine_not_empty",
                      {{"path", path_}, {"messages", scan->records}, {"bytes", scan->file_bytes}});
  }
  if (scan->lost_bytes > 0) {
    context_.log.warn("quarantine_damaged",
                      {{"path", path_},
                       {"offset", scan->lost_at},
                       {"bytes", scan->lost_bytes},
                       {"reason", "no whole record; half-written, or damage"}});
  }
  return {};
}

std::vector<Sequence> Quarantine::set_aside(const std::vector<QuarantineRecord>& damaged) {
  std::vector<const QuarantineRecord*> fresh;
  std::vector<Sequence> left;
  for (const QuarantineRecord& record : damaged) {
    const auto known = known_.find({record.queue, record.sequence});
    if (known == known_.end() || !known->second) fresh.push_back(&record);
  }
  if (fresh.empty()) return left;
  std::uint64_t size = 0;
  if (context_.files.exists(path_)) {
    const auto file = context_.files.open(path_, OpenMode::kRead);
    const auto bytes = file.is_ok() ? (*file)->size() : Result<std::uint64_t>(file.status());
    size = bytes.is_ok() ? *bytes : most_bytes_;
  }
  std::string bytes;
  std::vector<const QuarantineRecord*> taken;
  Status full;
  for (const QuarantineRecord* const record : fresh) {
    if (size + bytes.size() + record->record_bytes() <= most_bytes_) {
      record->append_to(bytes);
      taken.push_back(record);
    } else if (full.is_ok()) {
      full = Status(Code::kNoSpace, path_ + " has " + std::to_string(size + bytes.size()) +
                                        " bytes and may have " + std::to_string(most_bytes_));
    }
  }
  const Status written = taken.empty() ? Status() : append(bytes);
  std::size_t next = 0;
  for (const QuarantineRecord* const record : fresh) {
    const bool was_taken = next < taken.size() && taken[next] == record;
    if (was_taken) ++next;
    const bool in_file = was_taken && written.is_ok();
    const auto [known, first] = known_.try_emplace({record->queue, record->sequence}, in_file);
    known->second = in_file;
    if (first) ++found_;
    if (in_file) ++count_;
    if (!in_file) left.push_back(record->sequence);
    if (first) tell(*record, in_file, written.is_ok() ? full : written);
  }
  if (!full.is_ok() && !told_full_) {
    told_full_ = true;
    context_.log.error(
        "quarantine_full",
        {{"path", path_},
         {"bytes", size},
         {"most_bytes", most_bytes_},
         {"effect",
          "damaged messages that do not fit stay in their files: they are left out when "
          "their queues are read, and met again after the next start"},
         {"advice",
          "the disk seems to fail: replace it. Move the file away and restart the node "
          "to have more set aside"}});
  }
  return left;
}

Status Quarantine::append(const std::string& bytes) {
  auto file = context_.files.open(path_, OpenMode::kReadWrite);
  if (!file.is_ok()) return file.status();
  auto size = (*file)->size();
  if (!size.is_ok()) return size.status();
  const std::string_view piece = bytes;
  SEGUE_RETURN_IF_ERROR((*file)->write(*size, std::span(&piece, 1)));
  Status synced = (*file)->sync();
  if (synced.is_ok() && *size == 0) synced = context_.files.sync_directory(context_.root);
  // As everywhere: what is on the disk is unknown now.
  if (!synced.is_ok()) context_.fatal(synced);
  return synced;
}

void Quarantine::tell(const QuarantineRecord& record, bool set_aside, const Status& reason) const {
  context_.log.error("message_corrupt", {{"queue", record.queue_name},
                                         {"queue_id", record.queue},
                                         {"sequence", record.sequence},
                                         {"path", context_.root + "/" + record.file},
                                         {"offset", record.offset},
                                         {"bytes", record.bytes.size()},
                                         {"set_aside", set_aside ? path_ : reason.to_string()}});
}

}  // namespace segue::storage
