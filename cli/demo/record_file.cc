#include "cli/demo/record_file.h"
#include "cli/table_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "cli/demo/topic_key.h"
#include "common/checksum.h"

namespace segue::cli::demo {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Takes the first line off `rest`, its newline included.
std::string_view take_line(std::string_view& rest) {
  const std::size_t newline = rest.find('\n');
  const std::string_view line = rest.substr(0, newline == rest.npos ? newline : newline + 1);
  rest.remove_prefix(line.size());
  return line;
}

// Takes the first paragraph off `rest`, with blank lines before it; empty when only such are left.
std::string_view take_paragraph(std::string_view& rest) {
  std::string_view from = rest;
  while (!rest.empty()) {
    from = rest;
    if (!trimmed(take_line(rest)).empty()) break;
    from = rest;
  }
  std::string_view after = rest;
  while (!rest.empty() && !trimmed(take_line(rest)).empty()) after = rest;
  return from.substr(0, from.size() - after.size());
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// The first line of a field's value; nothing when the paragraph has no such field.
std::optional<std::string_view> field(std::string_view paragraph, std::string_view name) {
  while (!paragraph.empty()) {
    const std::string_view line = take_line(paragraph);
    if (line[0] == ' ' || line[0] == '\t') continue;  // goes on with the field before
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !equal_ignoring_case(trimmed(line.substr(0, colon)), name)) continue;
    return trimmed(line.substr(colon + 1));
  }
  return std::nullopt;
}

Status io_error(const std::string& action, const std::string& path) {
  return Status(Code::kIoError, "cannot " + action + " '" + path + "': " + std::strerror(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<std::string> read_whole(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return io_error("open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return io_error("look at", path);
  if (S_ISDIR(status.st_mode)) {
    return Status(Code::kIoError, "'" + path + "' is a directory; give a file");
  }
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::string text;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + kBlock);
    const ssize_t count = ::read(file.get(), text.data() + size, kBlock);
    text.resize(size + static_cast<std::size_t>(count < 0 ? 0 : count));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("read", path);
    if (count == 0) return text;
    if (text.size() > RecordFile::kMaxFileBytes) {
      return Status(Code::kContentTooLarge, "'" + path + "' has more than " +
                                                std::to_string(RecordFile::kMaxFileBytes) +
                                                " bytes; give a smaller file");
    }
  }
}

}  // namespace

std::uint64_t body_hash(std::string_view body) {
  return xxh3_64(body);
}

RecordFile::RecordFile(std::string text)
    : text_(std::make_unique<const std::string>(std::move(text))) {
  std::string_view rest = *text_;
  if (field(take_paragraph(rest), "Package")) {
    kind_ = Kind::kPackages;
    cut_packages();
  } else {
    cut_lines();
  }
}

void RecordFile::cut_packages() {
  std::string_view rest = *text_;
  for (;;) {
    const std::string_view paragraph = take_paragraph(rest);
    if (paragraph.empty()) return;
    add(paragraph, topic_key(field(paragraph, "Section").value_or(std::string_view()),
                             field(paragraph, "Priority").value_or(std::string_view())));
  }
}

void RecordFile::cut_lines() {
  std::string_view rest = *text_;
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    if (line.back() == '\n') line.remove_suffix(1);
    add(line, kLineKey);
  }
}

void RecordFile::add(std::string_view body, std::string key) {
  bytes_ += body.size();
  records_.push_back({body, std::move(key), body_hash(body)});
}

Result<RecordFile> RecordFile::parse(std::string text, const std::string& name) {
  if (text.empty()) {
    return Status(Code::kPreconditionFailed, "'" + name + "' is empty: there is nothing to send");
  }
  RecordFile file(std::move(text));
  if (file.records_.size() > kMaxRecords) {
    return Status(Code::kContentTooLarge,
                  "'" + name + "' has " + counted(file.records_.size(), "record") +
                      "; the demo takes at most " + std::to_string(kMaxRecords));
  }
  for (std::size_t i = 0; i < file.records_.size(); ++i) {
    const std::size_t size = file.records_[i].body.size();
    if (size <= kMaxRecordBytes) continue;
    return Status(Code::kContentTooLarge, "record " + std::to_string(i + 1) + " of '" + name +
                                              "' has " + std::to_string(size) +
                                              " bytes; a message may have " +
                                              std::to_string(kMaxRecordBytes));
  }
  return file;
}

Result<RecordFile> RecordFile::load(const std::string& path) {
  Result<std::string> text = read_whole(path);
  if (!text) return text.status();
  return parse(std::move(text).value(), path);
}

}  // namespace segue::cli::demo
