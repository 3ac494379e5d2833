#include "storage/wal_appender.h"

#include <algorithm>
#include <utility>

#include "storage/wal_format.h"

namespace segue::storage {

WalAppender::WalAppender(WalFiles& files, std::uint64_t last_group,
                         const std::atomic<bool>& stopping)
    : files_(files), stopping_(stopping), next_sequence_(last_group + 1), synced_(last_group) {}

Status WalAppender::start() {
  if (files_.prepared_bytes() == 0) return Status::ok();  // add() waits for one
  SEGUE_RETURN_IF_ERROR(next_file());
  SEGUE_RETURN_IF_ERROR(write_mark());
  return sync();
}

Status WalAppender::write_small(std::span<const LogRecord> records,
                                std::vector<WalFileProgress>& progress) {
  begin_group();
  for (const LogRecord& record : records) {
    group_.add(record);
    note_highest(record, progress);
  }
  return write_gathered(/*may_wait=*/false, progress);
}

Status WalAppender::add(const LogRecord& record, std::vector<WalFileProgress>& progress) {
  const std::uint64_t size = wal_record_bytes(record);
  if (group_.is_open()) {
    const std::uint64_t together = group_.bytes() + size;
    if (together > kWalGroupBytes || !group_fits(together)) {
      SEGUE_RETURN_IF_ERROR(finish(progress));
    }
  }
  if (!group_.is_open()) {
    // A file that holds nothing yet takes a record of any size, and grows.
    const bool fresh = position_ == kWalBlock;
    if (!fresh && !group_fits(WalGroupHeader::kBytes + size)) SEGUE_RETURN_IF_ERROR(next_file());
    begin_group();
  }
  group_.add(record);
  note_highest(record, progress);
  return Status::ok();
}

void WalAppender::note_highest(const LogRecord& record, std::vector<WalFileProgress>& progress) {
  if (progress.empty() || progress.back().number != file_.number) {
    progress.push_back({file_.number, file_.bytes, position_, {}});
  }
  std::vector<Committed>& highest = progress.back().highest;
  if (!highest.empty() && highest.back().shard == record.shard) {
    highest.back().up_to = record.index;
  } else {
    highest.push_back({record.shard, record.index});
  }
}

bool WalAppender::fits(std::uint64_t record_bytes) const {
  const std::uint64_t bytes = WalGroupHeader::kBytes + record_bytes;
  return bytes <= kWalGroupBytes && group_fits(bytes);
}

bool WalAppender::group_fits(std::uint64_t bytes) const {
  return position_ + wal_round_up(bytes) <= file_.bytes;
}

void WalAppender::begin_group() {
  group_.begin({0, next_sequence_, synced_, first_in_file_, 0}, file_.seed);
}

Status WalAppender::finish(std::vector<WalFileProgress>& progress) {
  return write_gathered(/*may_wait=*/true, progress);
}

Status WalAppender::write_gathered(bool may_wait, std::vector<WalFileProgress>& progress) {
  if (!group_.is_open()) return Status::ok();
  SEGUE_RETURN_IF_ERROR(write_group(may_wait));
  progress.back().used_bytes = position_;
  progress.back().file_bytes = file_.bytes;
  return Status::ok();
}

Status WalAppender::write_group(bool may_wait) {
  const std::string_view bytes = group_.finish();
  Status written = file_.file->write(position_, std::span(&bytes, 1));
  // The place is written again from its start; none of it counts before it is synced.
  while (written.code() == Code::kNoSpace && may_wait && !stopping_.load()) {
    files_.set_problem(written);
    files_.wait_for_space(stopping_);
    written = file_.file->write(position_, std::span(&bytes, 1));
  }
  group_.close();
  SEGUE_RETURN_IF_ERROR(written);
  position_ += bytes.size();
  file_.bytes = std::max(file_.bytes, position_);
  room_.store(file_.bytes - position_, std::memory_order_relaxed);
  ++next_sequence_;
  return Status::ok();
}

Status WalAppender::next_file() {
  // Only the log's last file may hold unsynced groups.
  if (!is_synced()) SEGUE_RETURN_IF_ERROR(sync());
  auto next = files_.take(stopping_);
  if (!next) return next.status();
  file_ = std::move(*next);
  position_ = kWalBlock;
  first_in_file_ = next_sequence_;
  room_.store(file_.bytes - position_, std::memory_order_relaxed);
  return Status::ok();
}

Status WalAppender::sync() {
  if (!has_file()) return Status::ok();
  const Status synced = file_.file->sync();
  // A sync that fails is not tried again, for lack of space neither: nothing is known of the
  // writes.
  if (synced.code() == Code::kNoSpace) return Status(Code::kIoError, synced.message());
  SEGUE_RETURN_IF_ERROR(synced);
  synced_ = next_sequence_ - 1;
  return Status::ok();
}

Status WalAppender::write_mark() {
  if (!group_fits(WalGroupHeader::kBytes)) {
    if (files_.prepared_bytes() == 0) return Status::ok();
    SEGUE_RETURN_IF_ERROR(next_file());
  }
  begin_group();
  return write_group(/*may_wait=*/false);
}

}  // namespace segue::storage
