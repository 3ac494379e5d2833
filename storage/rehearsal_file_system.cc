#include "storage/rehearsal_file_system.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace segue::storage {

namespace {

using Content = RehearsalFileSystem::Content;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? std::string() : path.substr(0, slash);
}

Status not_found(const std::string& path) {
  return Status(Code::kNotFound, path + ": there is no such file");
}

class RehearsalFile final : public File {
 public:
  RehearsalFile(FileSystem& below, std::string path, std::shared_ptr<Content> content)
      : File(std::move(path)), below_(below), content_(std::move(content)) {}

  Result<std::size_t> read(std::uint64_t offset, char* to, std::size_t size) override {
    if (offset >= content_->size) return std::size_t{0};
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, content_->size - offset));
    std::memset(to, 0, size);
    SEGUE_RETURN_IF_ERROR(read_below(offset, to, size));
    auto piece = content_->pieces.upper_bound(offset);
    if (piece != content_->pieces.begin()) --piece;
    for (; piece != content_->pieces.end() && piece->first < offset + size; ++piece) {
      const std::uint64_t begin = std::max(piece->first, offset);
      const std::uint64_t end =
          std::min<std::uint64_t>(piece->first + piece->second.size(), offset + size);
      if (begin >= end) continue;
      std::memcpy(to + (begin - offset), piece->second.data() + (begin - piece->first),
                  static_cast<std::size_t>(end - begin));
    }
    return size;
  }
  Status write(std::uint64_t offset, std::span<const std::string_view> pieces) override {
    for (const std::string_view piece : pieces) {
      content_->write(offset, piece);
      offset += piece.size();
    }
    return {};
  }
  Status sync() override { return {}; }
  Status truncate(std::uint64_t size) override {
    content_->truncate(size);
    return {};
  }
  Result<std::uint64_t> size() override { return content_->size; }

 private:
  Status read_below(std::uint64_t offset, char* to, std::size_t size) {
    if (offset >= content_->below_size) return {};
    if (file_ == nullptr) {
      auto opened = below_.open(content_->below, OpenMode::kRead);
      if (!opened.is_ok()) return opened.status();
      file_ = std::move(*opened);
    }
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, content_->below_size - offset));
    return file_->read(offset, to, size).status();
  }

  FileSystem& below_;
  const std::shared_ptr<Content> content_;
  std::unique_ptr<File> file_;  // below
};

}  // namespace

// ---- Content

/// Takes what stands there out of the pieces.
void RehearsalFileSystem::Content::clear(std::uint64_t offset, std::uint64_t end) {
  auto piece = pieces.upper_bound(offset);
  if (piece != pieces.begin()) --piece;
  while (piece != pieces.end() && piece->first < end) {
    const std::uint64_t first = piece->first;
    std::string bytes = std::move(piece->second);
    const std::uint64_t last = first + bytes.size();
    if (last <= offset) {
      piece->second = std::move(bytes);
      ++piece;
      continue;
    }
    piece = pieces.erase(piece);
    if (last > end) pieces.emplace(end, bytes.substr(static_cast<std::size_t>(end - first)));
    if (first < offset) {
      bytes.resize(static_cast<std::size_t>(offset - first));
      pieces.emplace(first, std::move(bytes));
    }
  }
}

void RehearsalFileSystem::Content::write(std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint64_t end = offset + bytes.size();
  clear(offset, end);
  // What nothing stands at reads as zeros: files are written through with these.
  const bool zeros =
      offset >= below_size && bytes.find_first_not_of('\0') == std::string_view::npos;
  if (!zeros) pieces.emplace(offset, bytes);
  size = std::max(size, end);
}

void RehearsalFileSystem::Content::truncate(std::uint64_t to) {
  if (to < size) clear(to, size);
  below_size = std::min(below_size, to);
  size = to;
}

// ---- names

bool RehearsalFileSystem::is_below(const std::string& path) {
  return !gone_.contains(path) && below_.exists(path);
}

bool RehearsalFileSystem::exists(const std::string& path) {
  return files_.contains(path) || directories_.contains(path) || is_below(path);
}

bool RehearsalFileSystem::is_directory(const std::string& path) {
  if (files_.contains(path)) return false;
  return directories_.contains(path) || (is_below(path) && below_.list(path).is_ok());
}

Result<std::vector<std::string>> RehearsalFileSystem::list(const std::string& path) {
  std::set<std::string> names;
  if (is_below(path)) {
    auto below = below_.list(path);
    if (!below.is_ok()) return below.status();
    for (std::string& name : *below) {
      if (!gone_.contains(path + "/" + name)) names.insert(std::move(name));
    }
  } else if (!directories_.contains(path)) {
    return not_found(path);
  }
  const std::string prefix = path + "/";
  const auto add = [&](const std::string& known) {
    const std::string name = known.substr(prefix.size());
    if (name.find('/') == std::string::npos) names.insert(name);
  };
  for (auto at = files_.lower_bound(prefix); at != files_.end() && at->first.starts_with(prefix);
       ++at) {
    add(at->first);
  }
  for (auto at = directories_.lower_bound(prefix);
       at != directories_.end() && at->starts_with(prefix); ++at) {
    add(*at);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Status RehearsalFileSystem::make_directories(const std::string& path) {
  for (std::string at = path; !at.empty() && !exists(at); at = parent_of(at)) {
    directories_.insert(at);
  }
  return {};
}

/// The name is free from now on.
void RehearsalFileSystem::forget(const std::string& path) {
  files_.erase(path);
  directories_.erase(path);
  if (below_.exists(path)) gone_.insert(path);
}

Status RehearsalFileSystem::remove(const std::string& path) {
  forget(path);
  return {};
}

Status RehearsalFileSystem::remove_directory(const std::string& path) {
  if (!exists(path)) return {};
  auto names = list(path);
  if (!names.is_ok()) return names.status();
  if (!names->empty()) return Status(Code::kIoError, path + ": remove directory: is not empty");
  forget(path);
  return {};
}

Result<std::shared_ptr<Content>> RehearsalFileSystem::take(const std::string& path) {
  if (const auto known = files_.find(path); known != files_.end()) return known->second;
  auto content = std::make_shared<Content>();
  if (is_below(path)) {
    auto file = below_.open(path, OpenMode::kRead);
    if (!file.is_ok()) return file.status();
    auto size = (*file)->size();
    if (!size.is_ok()) return size.status();
    content->below = path;
    content->below_size = content->size = *size;
  } else if (!is_directory(parent_of(path))) {
    return not_found(path);
  }
  files_[path] = content;
  return content;
}

Result<std::unique_ptr<File>> RehearsalFileSystem::open(const std::string& path, OpenMode mode) {
  const bool writes = mode == OpenMode::kReadWrite || mode == OpenMode::kReadWriteDirect;
  if (!writes && !files_.contains(path)) {
    if (gone_.contains(path) || directories_.contains(path)) return not_found(path);
    return below_.open(path, mode);
  }
  auto content = take(path);
  if (!content.is_ok()) return content.status();
  return std::unique_ptr<File>(std::make_unique<RehearsalFile>(below_, path, std::move(*content)));
}

Status RehearsalFileSystem::rename(const std::string& from, const std::string& to) {
  if (!exists(from)) return not_found(from);
  if (!is_directory(parent_of(to))) return not_found(to);
  if (is_directory(from)) return rename_directory(from, to);
  auto content = take(from);
  if (!content.is_ok()) return content.status();
  forget(from);
  files_[to] = std::move(*content);
  return {};
}

Status RehearsalFileSystem::rename_directory(const std::string& from, const std::string& to) {
  auto names = list(from);
  if (!names.is_ok()) return names.status();
  SEGUE_RETURN_IF_ERROR(make_directories(to));
  for (const std::string& name : *names) {
    SEGUE_RETURN_IF_ERROR(rename(from + "/" + name, to + "/" + name));
  }
  forget(from);
  return {};
}

Status RehearsalFileSystem::link(const std::string& from, const std::string& /*to*/) {
  return Status(Code::kNotImplemented, from + ": a rehearsal makes no links");
}

Status RehearsalFileSystem::sync_directory(const std::string& path) {
  return is_directory(path) ? Status() : not_found(path);
}

Status RehearsalFileSystem::sync_all(const std::string& path) {
  return exists(path) ? Status() : not_found(path);
}

Result<std::uint64_t> RehearsalFileSystem::free_bytes(const std::string& path) {
  return below_.free_bytes(path);
}

Result<std::unique_ptr<FileLock>> RehearsalFileSystem::lock(const std::string& path) {
  if (locks_ == Locks::kCallerHas) return std::make_unique<FileLock>();
  return below_.lock(path);
}

}  // namespace segue::storage
