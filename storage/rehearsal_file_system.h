#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// The files of another file system as they would be after the changes that are made here: those
/// are kept in memory only, and nothing below is changed. Locks are taken below, which may make the
/// lock's file. What is written needs as much memory, but for zeros at a file's end. For a
/// rehearsal of work that needs no links. One thread; files keep it alive no longer than it lives.
class RehearsalFileSystem final : public FileSystem {
 public:
  enum class Locks {
    kTaken,      // below
    kCallerHas,  // they are not taken again
  };
  /// `below`: outlives this.
  explicit RehearsalFileSystem(FileSystem& below, Locks locks = Locks::kTaken)
      : below_(below), locks_(locks) {}

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

  /// What a changed file has: pieces that were written, over the beginning of a file below.
  struct Content {
    std::string below;             // its path; empty: none
    std::uint64_t below_size = 0;  // so much of it counts
    std::uint64_t size = 0;
    std::map<std::uint64_t, std::string> pieces;  // by offset; they do not overlap

    void write(std::uint64_t offset, std::string_view bytes);
    void truncate(std::uint64_t to);

   private:
    void clear(std::uint64_t offset, std::uint64_t end);
  };

 private:
  bool is_below(const std::string& path);
  bool is_directory(const std::string& path);
  /// The file's content, to be changed.
  Result<std::shared_ptr<Content>> take(const std::string& path);
  Status rename_directory(const std::string& from, const std::string& to);
  void forget(const std::string& path);

  FileSystem& below_;
  const Locks locks_;
  std::map<std::string, std::shared_ptr<Content>> files_;  // that were changed, made or renamed
  std::set<std::string> directories_;                      // that were made
  std::set<std::string> gone_;                             // paths that are below, but not here
};

}  // namespace segue::storage
