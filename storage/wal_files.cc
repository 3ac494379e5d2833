#include "storage/wal_files.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "storage/aligned_buffer.h"
#include "storage/wal_format.h"

namespace segue::storage {

namespace {

constexpr std::chrono::milliseconds kRetry{1000};
/// New files are filled in pieces of this size, so that a sync of the log waits for one piece at
/// most.
constexpr std::size_t kFillBytes = 256u << 10;

/// The reserve, and one more so that the writer need not wait for the next.
std::uint64_t bytes_to_prepare(const WalOptions& options) {
  const std::uint64_t reserve_files =
      (options.reserve_bytes + options.file_bytes - 1) / options.file_bytes;
  return (reserve_files + 1) * (options.file_bytes - kWalBlock);
}

std::uint64_t usable(std::uint64_t file_bytes) {
  return file_bytes - kWalBlock;
}

}  // namespace

WalFiles::WalFiles(FileSystem& files, const WalOptions& options)
    : files_(files),
      options_(options),
      wanted_bytes_(bytes_to_prepare(options)),
      clock_(options.clock != nullptr ? *options.clock : system_clock_),
      random_(options.random != nullptr ? *options.random : system_random_),
      direct_(options.direct_io) {}

Status WalFiles::open(const RecoveredWal& recovered) {
  next_number_ = recovered.next_file;
  SEGUE_RETURN_IF_ERROR(sweep(recovered));
  Status prepared = prepare_one();
  if (!prepared && direct_ && prepared.code() == Code::kIoError) {
    // Some file systems take O_DIRECT when a file is opened and refuse it when it is written.
    direct_ = false;
    prepared = prepare_one();
  }
  if (prepared.code() != Code::kNoSpace) return prepared;
  // Reading and settling may make the space; until then nothing is taken.
  set_problem(prepared);
  return Status::ok();
}

Status WalFiles::sweep(const RecoveredWal& recovered) {
  // What such a file may still hold is unsynced leftovers of a torn tail: without its name, and
  // with a new salt later, none of it counts.
  for (const std::uint64_t number : recovered.unused) {
    SEGUE_RETURN_IF_ERROR(
        files_.rename(path_of(wal_file_name(number)), path_of(wal_spare_name(number))));
  }
  auto names = files_.list(options_.directory);
  if (!names) return names.status();
  for (const std::string& name : *names) {
    if (!is_wal_spare_name(name)) continue;
    auto file = files_.open(path_of(name), OpenMode::kRead);
    if (!file) return file.status();
    auto size = (*file)->size();
    if (!size) return size.status();
    if (*size == options_.file_bytes) {
      spares_.push_back(name);
    } else {
      SEGUE_RETURN_IF_ERROR(files_.remove(path_of(name)));
    }
  }
  return files_.sync_directory(options_.directory);
}

void WalFiles::release(std::uint64_t number, std::uint64_t file_bytes) {
  std::lock_guard lock(mutex_);
  released_.push_back({number, file_bytes});
  count_recyclable();
}

void WalFiles::keep_from(std::uint64_t number) {
  std::lock_guard lock(mutex_);
  keep_from_ = number;
  count_recyclable();
}

void WalFiles::count_recyclable() {
  const auto kept = std::find_if(released_.begin(), released_.end(), [this](const Released& file) {
    return file.number >= keep_from_;
  });
  recyclable_.store(static_cast<std::uint64_t>(kept - released_.begin()),
                    std::memory_order_relaxed);
}

bool WalFiles::wants_preparation() const {
  const bool work = recyclable_.load(std::memory_order_relaxed) > 0 ||
                    prepared_bytes_.load(std::memory_order_relaxed) < wanted_bytes_;
  if (!work) return false;
  return !is_short() ||
         clock_.now().time_since_epoch().count() >= retry_at_.load(std::memory_order_relaxed);
}

void WalFiles::prepare() {
  {
    std::lock_guard lock(mutex_);
    if (preparing_) return;
    preparing_ = true;
  }
  Status status = recycle_released();
  while (status && prepared_bytes() < wanted_bytes_) {
    status = prepare_one();
    wake();  // the writer may be waiting for this one
  }
  if (status) status = drop_surplus();
  if (status) {
    clear_problem();
  } else {
    set_problem(status);
  }
  {
    std::lock_guard lock(mutex_);
    preparing_ = false;
  }
  wake();
}

Status WalFiles::recycle_released() {
  while (true) {
    Released file{};
    {
      std::lock_guard lock(mutex_);
      if (released_.empty() || released_.front().number >= keep_from_) return Status::ok();
      file = released_.front();
    }
    SEGUE_RETURN_IF_ERROR(recycle(file));
    std::lock_guard lock(mutex_);
    released_.pop_front();
    count_recyclable();
  }
}

Status WalFiles::recycle(const Released& file) {
  const std::string name = wal_file_name(file.number);
  const std::string spare = wal_spare_name(file.number);
  const bool keep = file.bytes == options_.file_bytes;
  if (files_.exists(path_of(name))) {  // else an earlier try came this far
    SEGUE_RETURN_IF_ERROR(keep ? files_.rename(path_of(name), path_of(spare))
                               : files_.remove(path_of(name)));
  }
  // Synced one by one: a log that lost a file in its middle, but not the one before, is not one.
  SEGUE_RETURN_IF_ERROR(files_.sync_directory(options_.directory));
  if (keep) spares_.push_back(spare);
  return Status::ok();
}

Status WalFiles::prepare_one() {
  auto spare = next_spare();
  if (!spare) return spare.status();
  const std::uint64_t number = next_number_++;
  const std::string spare_path = path_of(*spare);
  const std::string path = path_of(wal_file_name(number));
  auto file = open_file(spare_path);
  if (!file) return file.status();

  const WalFileHeader header{number, options_.node_hash, random_.next_u64(),
                             static_cast<std::uint32_t>(options_.file_bytes / kWalBlock)};
  AlignedBuffer block(kWalBlock);
  std::memset(block.data(), 0, kWalBlock);
  header.encode(block.data());
  const std::string_view piece(block.data(), kWalBlock);
  SEGUE_RETURN_IF_ERROR((*file)->write(0, std::span(&piece, 1)));
  SEGUE_RETURN_IF_ERROR((*file)->sync());
  // Only now it gets its name: a .wal file's header is always whole.
  SEGUE_RETURN_IF_ERROR(files_.rename(spare_path, path));
  const std::string spare_name = std::move(spares_.front());
  spares_.pop_front();
  const Status synced = files_.sync_directory(options_.directory);
  auto renamed = synced ? open_file(path) : Result<std::unique_ptr<File>>(synced);
  if (!renamed) {
    if (files_.rename(path, spare_path)) spares_.push_front(spare_name);
    return renamed.status();
  }

  std::lock_guard lock(mutex_);
  prepared_.push_back({number, options_.file_bytes, header.seed(), std::move(*renamed)});
  prepared_bytes_.fetch_add(usable(options_.file_bytes), std::memory_order_relaxed);
  return Status::ok();
}

Result<std::string> WalFiles::next_spare() {
  if (!spares_.empty()) return spares_.front();
  const std::string name = wal_spare_name(next_number_);
  const std::string path = path_of(name);
  auto file = open_file(path);
  if (!file) return file.status();
  if (const Status filled = fill(**file); !filled) {
    // Gives back what a full disk has just lent. If that fails too, the next open() removes it.
    static_cast<void>(files_.remove(path));
    return filled;
  }
  spares_.push_back(name);
  return name;
}

Status WalFiles::fill(File& file) {
  AlignedBuffer zeros(kFillBytes);
  std::memset(zeros.data(), 0, kFillBytes);
  for (std::uint64_t at = 0; at < options_.file_bytes; at += kFillBytes) {
    const std::string_view piece(zeros.data(),
                                 std::min<std::uint64_t>(kFillBytes, options_.file_bytes - at));
    SEGUE_RETURN_IF_ERROR(file.write(at, std::span(&piece, 1)));
  }
  return file.sync();
}

Status WalFiles::drop_surplus() {
  while (spares_.size() > options_.spare_files) {
    SEGUE_RETURN_IF_ERROR(files_.remove(path_of(spares_.back())));
    spares_.pop_back();
  }
  return Status::ok();
}

Result<std::unique_ptr<File>> WalFiles::open_file(const std::string& path) {
  if (direct_) {
    auto file = files_.open(path, OpenMode::kReadWriteDirect);
    if (file || file.status().code() != Code::kNotImplemented) return file;
    direct_ = false;
  }
  return files_.open(path, OpenMode::kReadWrite);
}

Result<PreparedWalFile> WalFiles::take(const std::atomic<bool>& stopping) {
  bool waited = false;  // since the last failure
  while (true) {
    bool idle = false;
    std::uint64_t seen = 0;
    {
      std::lock_guard lock(mutex_);
      if (!prepared_.empty()) {
        PreparedWalFile file = std::move(prepared_.front());
        prepared_.pop_front();
        prepared_bytes_.fetch_sub(usable(file.bytes), std::memory_order_relaxed);
        return file;
      }
      idle = !preparing_;
      seen = wakes_;
    }
    if (stopping.load() && is_short()) return Status(Code::kNoSpace, problem());
    if (idle && (waited || !is_short())) {
      prepare();
      waited = false;
    } else {
      wait_for_wake(seen, stopping);
      waited = true;
    }
  }
}

void WalFiles::wait_for_space(const std::atomic<bool>& stopping) {
  std::uint64_t seen = 0;
  {
    std::lock_guard lock(mutex_);
    seen = wakes_;
  }
  wait_for_wake(seen, stopping);
}

void WalFiles::wait_for_wake(std::uint64_t seen, const std::atomic<bool>& stopping) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kRetry, [&] { return wakes_ != seen || stopping.load(); });
}

void WalFiles::wake() {
  {
    std::lock_guard lock(mutex_);
    ++wakes_;
  }
  changed_.notify_all();
}

std::string WalFiles::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

void WalFiles::set_problem(const Status& status) {
  {
    std::lock_guard lock(mutex_);
    problem_ = status.message();
  }
  retry_at_.store((clock_.now() + kRetry).time_since_epoch().count(), std::memory_order_relaxed);
  short_.store(true, std::memory_order_release);
}

void WalFiles::clear_problem() {
  {
    std::lock_guard lock(mutex_);
    problem_.clear();
  }
  short_.store(false, std::memory_order_release);
}

}  // namespace segue::storage
