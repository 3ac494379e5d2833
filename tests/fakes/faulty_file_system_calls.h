#pragma once

// The bodies of FaultyFileSystem's calls; included by its header only.

#include "tests/fakes/faulty_file_system.h"

namespace segue::storage {

class FaultyFileSystem::OpenFile final : public File {
 public:
  OpenFile(FaultyFileSystem& owner, std::string path, MemoryDisk::InodePtr inode, OpenMode mode)
      : File(std::move(path)),
        owner_(owner),
        inode_(std::move(inode)),
        mode_(mode),
        life_(owner.life_) {}

  Result<std::size_t> read(std::uint64_t offset, char* to, std::size_t size) override {
    std::lock_guard lock(owner_.mutex_);
    SEGUE_RETURN_IF_ERROR(usable());
    SEGUE_RETURN_IF_ERROR(aligned(offset, to, size));
    SEGUE_RETURN_IF_ERROR(owner_.enter(kRead, path()));
    if (offset >= inode_->now.size()) return std::size_t{0};
    const std::size_t length = std::min<std::size_t>(size, inode_->now.size() - offset);
    std::memcpy(to, inode_->now.data() + offset, length);
    return length;
  }
  Status write(std::uint64_t offset, std::span<const std::string_view> pieces) override {
    std::lock_guard lock(owner_.mutex_);
    SEGUE_RETURN_IF_ERROR(writable());
    for (const std::string_view piece : pieces) {
      SEGUE_RETURN_IF_ERROR(aligned(offset, piece.data(), piece.size()));
    }
    bool doomed = false;
    SEGUE_RETURN_IF_ERROR(owner_.enter(kWrite, path(), &doomed));
    SEGUE_RETURN_IF_ERROR(owner_.write_pieces(*inode_, path(), offset, pieces));
    return doomed ? owner_.power_off(path()) : Status::ok();
  }
  Status sync() override {
    std::lock_guard lock(owner_.mutex_);
    SEGUE_RETURN_IF_ERROR(usable());
    bool doomed = false;
    SEGUE_RETURN_IF_ERROR(owner_.enter(kSync, path(), &doomed));
    if (doomed) return owner_.power_off(path());
    MemoryDisk::sync(*inode_);
    return Status::ok();
  }
  Status truncate(std::uint64_t size) override {
    std::lock_guard lock(owner_.mutex_);
    SEGUE_RETURN_IF_ERROR(writable());
    bool doomed = false;
    SEGUE_RETURN_IF_ERROR(owner_.enter(kTruncate, path(), &doomed));
    MemoryDisk::truncate(*inode_, size);
    return doomed ? owner_.power_off(path()) : Status::ok();
  }
  Result<std::uint64_t> size() override {
    std::lock_guard lock(owner_.mutex_);
    SEGUE_RETURN_IF_ERROR(usable());
    return std::uint64_t{inode_->now.size()};
  }

 private:
  Status usable() const {
    if (life_ == owner_.life_) return Status::ok();
    return error(Code::kIoError, path(), "handle from before a simulated crash");
  }
  Status writable() const {
    SEGUE_RETURN_IF_ERROR(usable());
    if (mode_ == OpenMode::kReadWrite || mode_ == OpenMode::kReadWriteDirect) return Status::ok();
    return error(Code::kIoError, path(), "write: opened for reading only");
  }
  Status aligned(std::uint64_t offset, const char* memory, std::size_t size) const {
    if (mode_ != OpenMode::kReadDirect && mode_ != OpenMode::kReadWriteDirect) return Status::ok();
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    if ((offset | size | address) % 4096 == 0) return Status::ok();
    return error(Code::kIoError, path(), "direct transfer is not aligned to 4096");
  }

  FaultyFileSystem& owner_;
  MemoryDisk::InodePtr inode_;
  OpenMode mode_;
  std::uint64_t life_;
};

class FaultyFileSystem::Lock final : public FileLock {
 public:
  Lock(FaultyFileSystem& owner, std::string path)
      : owner_(owner), path_(std::move(path)), life_(owner.life_) {}
  ~Lock() override {
    std::lock_guard lock(owner_.mutex_);
    if (life_ == owner_.life_) owner_.locked_.erase(path_);
  }

 private:
  FaultyFileSystem& owner_;
  std::string path_;
  std::uint64_t life_;
};

inline Status FaultyFileSystem::enter(Call kind, const std::string& path, bool* doomed) {
  ++calls_;
  ++calls_by_kind_[kind];
  if (halted_) return power_off(path);
  if (halt_at_ != 0 && calls_ >= halt_at_) {
    halted_ = true;
    if (doomed == nullptr) return power_off(path);
    *doomed = true;
    return Status::ok();
  }
  if (const auto fault = call_faults_.find(calls_); fault != call_faults_.end()) {
    const Code code = fault->second;
    call_faults_.erase(fault);
    return error(code, path, "call " + std::to_string(calls_) + " fails (simulated)");
  }
  for (PathFault& fault : path_faults_) {
    if (fault.times == 0 || (fault.calls & kind) == 0) continue;
    if (path.find(fault.part) == std::string::npos) continue;
    --fault.times;
    return error(fault.code, path, "call fails (simulated)");
  }
  return Status::ok();
}

inline Status FaultyFileSystem::write_pieces(MemoryDisk::Inode& inode, const std::string& path,
                                             std::uint64_t offset,
                                             std::span<const std::string_view> pieces) {
  std::string data;
  for (const std::string_view piece : pieces) data.append(piece);
  const std::uint64_t end = offset + data.size();
  if (capacity_ != ~0ull && end > inode.now.size()) {
    const std::uint64_t used = disk_.used_bytes();
    const std::uint64_t room = used < capacity_ ? capacity_ - used : 0;
    if (end - inode.now.size() > room) {
      const std::uint64_t fits = inode.now.size() + room;
      if (fits > offset) MemoryDisk::write(inode, offset, data.substr(0, fits - offset));
      return error(Code::kNoSpace, path,
                   "write of " + std::to_string(data.size()) + " bytes at offset " +
                       std::to_string(offset) + ": no space left on device (simulated)");
    }
  }
  MemoryDisk::write(inode, offset, data);
  return Status::ok();
}

inline Result<std::unique_ptr<File>> FaultyFileSystem::open(const std::string& path,
                                                            OpenMode mode) {
  std::lock_guard lock(mutex_);
  bool doomed = false;
  SEGUE_RETURN_IF_ERROR(enter(kOpen, path, &doomed));
  if (refuse_direct_ && (mode == OpenMode::kReadDirect || mode == OpenMode::kReadWriteDirect)) {
    return error(Code::kNotImplemented, path, "open: direct transfers are refused (simulated)");
  }
  MemoryDisk::InodePtr inode = disk_.find(path);
  if (inode == nullptr) {
    const bool writes = mode == OpenMode::kReadWrite || mode == OpenMode::kReadWriteDirect;
    if (!writes || disk_.is_directory(path)) {
      return error(Code::kNotFound, path, "open: no such file");
    }
    if (!disk_.is_directory(MemoryDisk::parent(path))) {
      return error(Code::kNotFound, path, "open: no such directory");
    }
    inode = disk_.create(path);
  }
  if (doomed) return power_off(path);
  return std::unique_ptr<File>(std::make_unique<OpenFile>(*this, path, std::move(inode), mode));
}

inline Status FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(mutex_);
  bool doomed = false;
  SEGUE_RETURN_IF_ERROR(enter(kRename, from, &doomed));
  if (!disk_.exists(from)) return error(Code::kNotFound, from, "rename: no such file");
  if (disk_.is_directory(from) && disk_.exists(to)) {
    return error(Code::kIoError, from, "rename of a directory: the name is taken");
  }
  if (!disk_.is_directory(MemoryDisk::parent(to))) {
    return error(Code::kNotFound, to, "rename: no such directory");
  }
  disk_.rename(from, to);
  return doomed ? power_off(from) : Status::ok();
}

inline Status FaultyFileSystem::link(const std::string& from, const std::string& to) {
  std::lock_guard lock(mutex_);
  bool doomed = false;
  SEGUE_RETURN_IF_ERROR(enter(kRename, from, &doomed));
  if (disk_.find(from) == nullptr) return error(Code::kNotFound, from, "link: no such file");
  if (disk_.exists(to)) return error(Code::kIoError, to, "link: the name is taken");
  if (!disk_.is_directory(MemoryDisk::parent(to))) {
    return error(Code::kNotFound, to, "link: no such directory");
  }
  disk_.link(from, to);
  return doomed ? power_off(from) : Status::ok();
}

inline Status FaultyFileSystem::remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  bool doomed = false;
  SEGUE_RETURN_IF_ERROR(enter(kRemove, path, &doomed));
  if (disk_.is_directory(path)) return error(Code::kIoError, path, "remove: is a directory");
  if (disk_.find(path) != nullptr) disk_.remove(path);
  return doomed ? power_off(path) : Status::ok();
}

inline Status FaultyFileSystem::remove_directory(const std::string& path) {
  std::lock_guard lock(mutex_);
  bool doomed = false;
  SEGUE_RETURN_IF_ERROR(enter(kRemove, path, &doomed));
  if (!disk_.list(path).empty()) return error(Code::kIoError, path, "remove: directory not empty");
  if (disk_.is_directory(path)) disk_.remove(path);
  return doomed ? power_off(path) : Status::ok();
}

inline Status FaultyFileSystem::make_directories(const std::string& path) {
  std::lock_guard lock(mutex_);
  bool doomed = false;
  SEGUE_RETURN_IF_ERROR(enter(kMakeDirectory, path, &doomed));
  std::vector<std::string> missing;
  for (std::string at = path; !disk_.is_directory(at); at = MemoryDisk::parent(at)) {
    if (disk_.exists(at)) return error(Code::kIoError, at, "make directory: is a file");
    missing.push_back(at);
  }
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) disk_.make_directory(*at);
  return doomed ? power_off(path) : Status::ok();
}

inline Status FaultyFileSystem::sync_directory(const std::string& path) {
  std::lock_guard lock(mutex_);
  bool doomed = false;
  SEGUE_RETURN_IF_ERROR(enter(kSyncDirectory, path, &doomed));
  if (!disk_.is_directory(path)) return error(Code::kNotFound, path, "sync: no such directory");
  if (doomed) return power_off(path);
  disk_.sync_directory(path);
  return Status::ok();
}

inline Status FaultyFileSystem::sync_all(const std::string& path) {
  std::lock_guard lock(mutex_);
  bool doomed = false;
  SEGUE_RETURN_IF_ERROR(enter(kSync, path, &doomed));
  if (doomed) return power_off(path);
  disk_.sync_all();
  return Status::ok();
}

inline Result<std::vector<std::string>> FaultyFileSystem::list(const std::string& path) {
  std::lock_guard lock(mutex_);
  SEGUE_RETURN_IF_ERROR(enter(kList, path));
  if (!disk_.is_directory(path)) return error(Code::kNotFound, path, "list: no such directory");
  return disk_.list(path);
}

inline bool FaultyFileSystem::exists(const std::string& path) {
  std::lock_guard lock(mutex_);
  return disk_.exists(path);
}

inline Result<std::uint64_t> FaultyFileSystem::free_bytes(const std::string& /*path*/) {
  std::lock_guard lock(mutex_);
  if (halted_) return power_off("free bytes");
  if (capacity_ == ~0ull) return std::uint64_t{1} << 40;
  const std::uint64_t used = disk_.used_bytes();
  return used < capacity_ ? capacity_ - used : 0;
}

inline Result<std::unique_ptr<FileLock>> FaultyFileSystem::lock(const std::string& path) {
  std::lock_guard guard(mutex_);
  SEGUE_RETURN_IF_ERROR(enter(kLock, path));
  if (!disk_.is_directory(MemoryDisk::parent(path))) {
    return error(Code::kNotFound, path, "lock: no such directory");
  }
  if (locked_.contains(path))
    return error(Code::kResourceLocked, path, "locked by another process");
  if (disk_.find(path) == nullptr) disk_.create(path);
  locked_.insert(path);
  return std::unique_ptr<FileLock>(std::make_unique<Lock>(*this, path));
}

inline void FaultyFileSystem::halt_at(std::uint64_t nth) {
  std::lock_guard lock(mutex_);
  halt_at_ = calls_ + nth;
}

inline bool FaultyFileSystem::halted() const {
  std::lock_guard lock(mutex_);
  return halted_;
}

inline void FaultyFileSystem::crash(Random& random) {
  std::lock_guard lock(mutex_);
  disk_.crash(random);
  ++life_;
  locked_.clear();
  halted_ = false;
  halt_at_ = 0;
  call_faults_.clear();
  path_faults_.clear();
}

inline MemoryDisk FaultyFileSystem::disk() const {
  std::lock_guard lock(mutex_);
  return disk_.copy();
}

inline void FaultyFileSystem::put_back(const MemoryDisk& disk) {
  std::lock_guard lock(mutex_);
  disk_ = disk.copy();
  ++life_;
  locked_.clear();
}

inline void FaultyFileSystem::kill_process() {
  std::lock_guard lock(mutex_);
  ++life_;
  locked_.clear();
  halted_ = false;
  halt_at_ = 0;
}

inline void FaultyFileSystem::fail_call(std::uint64_t nth, Code code) {
  std::lock_guard lock(mutex_);
  call_faults_[calls_ + nth] = code;
}

inline void FaultyFileSystem::fail_path(std::string part, unsigned calls, Code code,
                                        std::uint64_t times) {
  std::lock_guard lock(mutex_);
  path_faults_.push_back({std::move(part), calls, code, times});
}

inline void FaultyFileSystem::clear_faults() {
  std::lock_guard lock(mutex_);
  call_faults_.clear();
  path_faults_.clear();
}

inline void FaultyFileSystem::set_capacity(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

inline void FaultyFileSystem::refuse_direct_io(bool refuse) {
  std::lock_guard lock(mutex_);
  refuse_direct_ = refuse;
}

inline std::uint64_t FaultyFileSystem::calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}

inline std::uint64_t FaultyFileSystem::calls(Call kind) const {
  std::lock_guard lock(mutex_);
  const auto found = calls_by_kind_.find(kind);
  return found == calls_by_kind_.end() ? 0 : found->second;
}

inline std::uint64_t FaultyFileSystem::used_bytes() const {
  std::lock_guard lock(mutex_);
  return disk_.used_bytes();
}

inline std::vector<std::string> FaultyFileSystem::paths() const {
  std::lock_guard lock(mutex_);
  return disk_.files();
}

inline std::string FaultyFileSystem::content(const std::string& path) const {
  std::lock_guard lock(mutex_);
  const MemoryDisk::InodePtr inode = disk_.find(path);
  SEGUE_CHECK(inode != nullptr);
  return inode->now;
}

inline void FaultyFileSystem::set_content(const std::string& path, std::string content) {
  std::lock_guard lock(mutex_);
  disk_.place(path, std::move(content));
}

inline void FaultyFileSystem::flip_bit(const std::string& path, std::uint64_t bit) {
  std::lock_guard lock(mutex_);
  const MemoryDisk::InodePtr inode = disk_.find(path);
  SEGUE_CHECK(inode != nullptr && bit / 8 < inode->now.size());
  const char mask = static_cast<char>(1 << (bit % 8));
  inode->now[bit / 8] = static_cast<char>(inode->now[bit / 8] ^ mask);
  if (bit / 8 < inode->synced.size()) {
    inode->synced[bit / 8] = static_cast<char>(inode->synced[bit / 8] ^ mask);
  }
}

inline MemoryDisk::Image FaultyFileSystem::image() const {
  std::lock_guard lock(mutex_);
  return disk_.image();
}

inline void FaultyFileSystem::restore(const MemoryDisk::Image& image) {
  std::lock_guard lock(mutex_);
  disk_.restore(image);
  ++life_;
  locked_.clear();
}

}  // namespace segue::storage
