#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/status.h"
#include "storage/file_system.h"

namespace segue::storage {

/// Something that a check of a data directory has found.
struct CheckFinding {
  enum class Kind {
    kProblem,  // damage, a loss, or a file that does not belong there
    kNote,     // what a crash leaves behind: the next start deals with it, and loses nothing
  };

  Kind kind = Kind::kProblem;
  std::string file;  // below the directory that was checked
  std::optional<std::uint64_t> offset;
  std::string queue;                      // its name, as its directory has it; may be empty
  std::optional<std::uint64_t> sequence;  // of the message, or of the first of `messages`
  std::uint64_t messages = 0;             // how many it concerns, at least
  std::string what;
};

struct CheckTotals {
  std::uint64_t nodes = 0;
  std::uint64_t files = 0;
  std::uint64_t messages = 0;     // records of messages in queues' files that are as they should be
  std::uint64_t log_records = 0;  // in the write-ahead log
  std::uint64_t bytes = 0;        // that were read
  std::uint64_t problems = 0;
  std::uint64_t notes = 0;
  std::uint64_t lost_messages = 0;  // unsettled ones that a node goes on without
};

/// Takes what a check finds, counts, and hands it on: of each file only the first findings, so that
/// one bad file neither fills the memory nor hides the others. One thread.
class CheckReport {
 public:
  using Found = std::function<void(const CheckFinding&)>;
  using Progress = std::function<void(const CheckTotals&)>;
  static constexpr std::uint64_t kMostPerFile = 20;

  /// `root`: what paths are told without. `progress` is called after each few MiB and each file.
  CheckReport(std::string root, Found found, Progress progress)
      : root_(std::move(root)), found_(std::move(found)), progress_(std::move(progress)) {}

  /// The finding's file is given with its whole path.
  void add(CheckFinding finding);
  void problem(std::string file, std::string what) {
    add({CheckFinding::Kind::kProblem, std::move(file), {}, {}, {}, 0, std::move(what)});
  }
  void problem(std::string file, std::uint64_t offset, std::string what) {
    add({CheckFinding::Kind::kProblem, std::move(file), offset, {}, {}, 0, std::move(what)});
  }
  void note(std::string file, std::string what) {
    add({CheckFinding::Kind::kNote, std::move(file), {}, {}, {}, 0, std::move(what)});
  }
  /// A failure of a reader: its message tells of `file`, or of another file, and perhaps an offset.
  void problem(const std::string& file, const Status& status);
  /// Tells how many findings were left out. To be called at the end.
  void finish() { end_of_file(); }

  void node() { ++totals_.nodes; }
  void file() {
    ++totals_.files;
    tell_progress();
  }
  void messages(std::uint64_t count) { totals_.messages += count; }
  void log_records(std::uint64_t count) { totals_.log_records += count; }
  void lost_messages(std::uint64_t count) { totals_.lost_messages += count; }
  void bytes(std::uint64_t count);
  const CheckTotals& totals() const { return totals_; }

 private:
  void end_of_file();
  void tell_progress() {
    if (progress_) progress_(totals_);
  }
  std::string below_root(const std::string& path) const;

  const std::string root_;
  const Found found_;
  const Progress progress_;
  CheckTotals totals_;
  std::uint64_t bytes_told_ = 0;
  CheckFinding last_;          // of the file that the last finding was in
  std::uint64_t in_file_ = 0;  // findings in it
};

/// Opens a file to be read past the page cache where that is possible: what counts is on the disk.
/// Offsets, sizes and memory of reads are multiples of 4096 (SegmentScanner's are).
Result<std::unique_ptr<File>> open_to_check(FileSystem& files, const std::string& path);

}  // namespace segue::storage
