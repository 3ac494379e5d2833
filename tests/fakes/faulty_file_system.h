#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "storage/file_system.h"
#include "tests/fakes/memory_disk.h"

namespace segue::storage {

/// A file system in memory that breaks on command and forgets what was not synced. Strict: a name
/// is durable only after sync_directory() of its parent (a made directory too, in its own parent),
/// content only after sync() of the file. Safe from several threads; handles die with crash() and
/// kill_process().
class FaultyFileSystem final : public FileSystem {
 public:
  /// Kinds of calls; combine with | for fail_path().
  enum Call : unsigned {
    kOpen = 1,
    kRead = 2,
    kWrite = 4,
    kSync = 8,
    kTruncate = 16,
    kRename = 32,
    kRemove = 64,
    kMakeDirectory = 128,
    kSyncDirectory = 256,
    kList = 512,
    kLock = 1024,
    kAny = ~0u,
  };

  // FileSystem
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status link(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status make_directories(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Status sync_all(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

  // ---- ends of the world

  /// The power goes at the nth call from now (1: the next one): it and every later call fail until
  /// crash(). A write, rename... at which the power goes may still have happened, wholly or in
  /// part.
  void halt_at(std::uint64_t nth);
  bool halted() const;
  /// Power loss and restart: of what was not synced any subset is kept (sectors of 512 bytes,
  /// single renames), chosen by `random`. Handles and locks are gone, faults are cleared.
  void crash(Random& random);
  /// What the disk is at a loss of power, so that several of its outcomes can be looked at.
  MemoryDisk disk() const;
  void put_back(const MemoryDisk& disk);
  /// The process is killed: everything written stays, and stays unsynced. Handles and locks are
  /// gone.
  void kill_process();

  // ---- single faults

  /// The nth call from now fails once with IO_ERROR or NO_SPACE, and does nothing.
  void fail_call(std::uint64_t nth, Code code);
  /// Calls of these kinds on paths that contain `part` fail, `times` times.
  void fail_path(std::string part, unsigned calls, Code code, std::uint64_t times = ~0ull);
  void clear_faults();
  /// Most bytes that all files together may have; a write beyond gives NO_SPACE after filling up
  /// what fits.
  void set_capacity(std::uint64_t bytes);
  /// open() answers NOT_IMPLEMENTED for the direct modes.
  void refuse_direct_io(bool refuse);

  // ---- looking in, and damage

  std::uint64_t calls() const;
  /// Calls of this kind so far, failed ones included.
  std::uint64_t calls(Call kind) const;
  std::uint64_t used_bytes() const;
  /// Every file's path, sorted.
  std::vector<std::string> paths() const;
  std::string content(const std::string& path) const;
  /// Makes or replaces a file, durable at once, with its directories.
  void set_content(const std::string& path, std::string content);
  void flip_bit(const std::string& path, std::uint64_t bit);
  /// Everything as it is now, as if all had been synced.
  MemoryDisk::Image image() const;
  /// Back to an image; handles and locks are gone, faults stay.
  void restore(const MemoryDisk::Image& image);

 private:
  class OpenFile;
  class Lock;
  struct PathFault {
    std::string part;
    unsigned calls;
    Code code;
    std::uint64_t times;
  };

  /// Counts a call and decides its fate. `doomed` is set for the call at which the power goes: it
  /// may take effect, unsynced, but reports failure.
  Status enter(Call kind, const std::string& path, bool* doomed = nullptr);
  Status write_pieces(MemoryDisk::Inode& inode, const std::string& path, std::uint64_t offset,
                      std::span<const std::string_view> pieces);
  static Status error(Code code, const std::string& path, const std::string& action) {
    return Status(code, path + ": " + action);
  }
  Status power_off(const std::string& path) const {
    return error(Code::kIoError, path, "the power is off (simulated)");
  }

  mutable std::mutex mutex_;  // a fake: tests call it from several threads
  MemoryDisk disk_;
  std::uint64_t life_ = 1;  // of handles; goes up with crash() and the like
  std::set<std::string> locked_;
  std::uint64_t calls_ = 0;
  std::map<Call, std::uint64_t> calls_by_kind_;
  std::uint64_t halt_at_ = 0;
  bool halted_ = false;
  std::map<std::uint64_t, Code> call_faults_;
  std::vector<PathFault> path_faults_;
  std::uint64_t capacity_ = ~0ull;
  bool refuse_direct_ = false;
};

}  // namespace segue::storage

#include "tests/fakes/faulty_file_system_calls.h"
