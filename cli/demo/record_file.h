#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace segue::cli::demo {

/// A file that was cut into the demo's records, in the order of the file. Two kinds:
///
///  - a Debian package database (/var/lib/dpkg/status, or what apt keeps of an archive): paragraphs
///    of "Field: value" lines, separated by blank lines. A paragraph is a record, byte for byte
///    with the newline of its last line; its key is `<section>.<priority>`, see topic_key.h.
///  - anything else: a line, without its newline, is a record; its key is "lines.plain".
///
/// A file is the first kind when its first paragraph has a `Package` field. Immutable once made;
/// any thread.
class RecordFile {
 public:
  enum class Kind { kPackages, kLines };

  struct Record {
    std::string_view body;  // of the file's text, valid as long as the RecordFile
    std::string key;
    std::uint64_t hash = 0;  // body_hash(body)
  };

  /// Files and records may not be larger; the latter is what a cluster takes as one message by
  /// default.
  static constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;
  static constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMaxRecords = 10'000'000;

  /// Reads and cuts a file. IO_ERROR when it is missing, unreadable or a directory;
  /// PRECONDITION_FAILED when it is empty; CONTENT_TOO_LARGE beyond the bounds above.
  static Result<RecordFile> load(const std::string& path);
  /// As load(), of a text in memory; `name` is for messages.
  static Result<RecordFile> parse(std::string text, const std::string& name);

  Kind kind() const { return kind_; }
  const std::vector<Record>& records() const { return records_; }
  /// Body bytes of all records.
  std::uint64_t bytes() const { return bytes_; }

 private:
  explicit RecordFile(std::string text);

  void cut_packages();
  void cut_lines();
  void add(std::string_view body, std::string key);

  std::unique_ptr<const std::string> text_;  // its address stays when this object is moved
  Kind kind_ = Kind::kLines;
  std::vector<Record> records_;
  std::uint64_t bytes_ = 0;
};

/// What tells bodies apart in the demo's content check.
std::uint64_t body_hash(std::string_view body);

}  // namespace segue::cli::demo
