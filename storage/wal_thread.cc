// The part of WalWriter that runs on the WAL thread, or for whoever owns the log.

#include <pthread.h>

#include <utility>

#include "common/check.h"
#include "storage/wal_writer.h"

namespace segue::storage {

void WalWriter::own() {
  while (owned_.exchange(true, std::memory_order_acquire)) {
    owned_.wait(true, std::memory_order_relaxed);
  }
}

void WalWriter::disown() {
  owned_.store(false, std::memory_order_release);
  owned_.notify_one();
}

void WalWriter::run() {
  ::pthread_setname_np(::pthread_self(), "segue-wal");
  std::vector<Handover> taken;
  while (true) {
    const bool stopping = stopping_.load();
    if (take_handovers(taken)) {
      own();
      write_handovers(taken);
      disown();
      taken.clear();  // frees the bodies
      static_cast<void>(sync_if_due());
      continue;
    }
    if (stopping) return;  // was read before the ring was found empty, so nothing can follow
    signal_.wait(sync_if_due());
  }
}

bool WalWriter::take_handovers(std::vector<Handover>& taken) {
  Handover handover;
  while (handovers_.pop(handover)) taken.push_back(std::move(handover));
  return !taken.empty();
}

void WalWriter::write_handovers(const std::vector<Handover>& taken) {
  if (failed_.load() || !stop_status_) return;
  Report report;
  const Status status = write_records(taken, report);
  if (status.code() == Code::kNoSpace) {
    stop_status_ = status;
    return;
  }
  if (!status) return fail(status);
  for (const Handover& handover : taken) {
    ++report.handovers;
    report.bytes += handover.bytes;
  }
  SEGUE_CHECK(reports_.push(report));  // as many fit as may be in flight
  if (!report_waits_.exchange(true) && options_.wakeup) options_.wakeup();
}

Status WalWriter::write_records(const std::vector<Handover>& taken, Report& report) {
  bool sync = false;
  for (const Handover& handover : taken) {
    for (const LogRecord& record : handover.records) {
      SEGUE_RETURN_IF_ERROR(appender_.add(record, report.progress));
      sync = sync || record.sync;
    }
  }
  SEGUE_RETURN_IF_ERROR(appender_.finish(report.progress));
  if (sync) return sync_log();
  note_unsynced();
  return Status::ok();
}

std::optional<Duration> WalWriter::sync_if_due() {
  own();
  std::optional<Duration> left;
  if (unsynced_since_ && !failed_.load()) {
    left = *unsynced_since_ + options_.sync_interval - clock_.now();
    if (*left <= Duration::zero()) {
      left.reset();
      if (const Status status = sync_log(); !status) fail(status);
    }
  }
  disown();
  return left;
}

Status WalWriter::sync_log() {
  SEGUE_RETURN_IF_ERROR(appender_.sync());
  unsynced_since_.reset();
  return Status::ok();
}

void WalWriter::note_unsynced() {
  if (!unsynced_since_) unsynced_since_ = clock_.now();
}

}  // namespace segue::storage
