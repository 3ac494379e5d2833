#include "storage/check_report.h"

#include <charconv>
#include <memory>
#include <string_view>

#include "storage/aligned_buffer.h"
#include "storage/file_system.h"

namespace segue::storage {

namespace {

constexpr std::uint64_t kProgressBytes = 8u << 20;

/// The number behind the first "offset " of a reader's message.
std::optional<std::uint64_t> offset_in(std::string_view message) {
  constexpr std::string_view kWord = "offset ";
  const std::size_t at = message.find(kWord);
  if (at == std::string_view::npos) return {};
  message.remove_prefix(at + kWord.size());
  std::uint64_t offset = 0;
  const auto [end, error] =
      std::from_chars(message.data(), message.data() + message.size(), offset);
  if (error != std::errc() || end == message.data()) return {};
  return offset;
}

}  // namespace

void CheckReport::add(CheckFinding finding) {
  (finding.kind == CheckFinding::Kind::kProblem ? totals_.problems : totals_.notes) += 1;
  finding.file = below_root(finding.file);
  if (finding.file != last_.file || finding.kind != last_.kind) end_of_file();
  last_ = finding;
  if (++in_file_ <= kMostPerFile && found_) found_(finding);
}

void CheckReport::end_of_file() {
  if (in_file_ > kMostPerFile && found_) {
    CheckFinding more;
    more.kind = last_.kind;
    more.file = last_.file;
    more.queue = last_.queue;
    more.what = "and " + std::to_string(in_file_ - kMostPerFile) + " more of the same file";
    found_(more);
  }
  in_file_ = 0;
  last_ = {};
}

void CheckReport::problem(const std::string& file, const Status& status) {
  CheckFinding finding;
  finding.file = file;
  finding.what = status.message();
  // The reader's message begins with the path of what it tells of.
  if (const std::size_t end = finding.what.find(": "); end != std::string::npos) {
    const std::string path = finding.what.substr(0, end);
    if (path == file || path.starts_with(root_ + "/")) {
      finding.file = path;
      finding.what.erase(0, end + 2);
    }
  }
  finding.offset = offset_in(finding.what);
  add(std::move(finding));
}

void CheckReport::bytes(std::uint64_t count) {
  totals_.bytes += count;
  if (totals_.bytes - bytes_told_ < kProgressBytes) return;
  bytes_told_ = totals_.bytes;
  tell_progress();
}

std::string CheckReport::below_root(const std::string& path) const {
  if (path.starts_with(root_ + "/")) return path.substr(root_.size() + 1);
  return path;
}

Result<std::unique_ptr<File>> open_to_check(FileSystem& files, const std::string& path) {
  auto direct = files.open(path, OpenMode::kReadDirect);
  if (direct.is_ok()) {
    // Some file systems take O_DIRECT when a file is opened and refuse it when it is read.
    AlignedBuffer block(AlignedBuffer::kAlignment);
    if ((*direct)->read(0, block.data(), block.size()).is_ok()) return direct;
  }
  return files.open(path, OpenMode::kRead);
}

}  // namespace segue::storage
