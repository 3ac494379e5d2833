#include "storage/backup_copy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "storage/segment_format.h"

namespace segue::storage {

namespace {

constexpr std::uint64_t kSyncEvery = 8u << 20;
/// What a small file takes on the disk.
constexpr std::uint64_t kBytesPerFile = 4096;

bool is_shard_name(std::string_view name) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size();
}

}  // namespace

FileCopy::FileCopy(std::unique_ptr<File> from, std::unique_ptr<File> to, std::uint64_t most,
                   std::uint64_t padded)
    : from_(std::move(from)), to_(std::move(to)), most_(most), padded_(padded) {}

Result<std::unique_ptr<FileCopy>> FileCopy::open(FileSystem& files, const std::string& from,
                                                 const std::string& to, std::uint64_t most,
                                                 std::uint64_t padded) {
  auto source = files.open(from, OpenMode::kRead);
  if (!source.is_ok()) return source.status();
  auto copy = files.open(to, OpenMode::kReadWrite);
  if (!copy.is_ok()) return copy.status();
  SEGUE_RETURN_IF_ERROR((*copy)->truncate(0));
  return std::unique_ptr<FileCopy>(
      new FileCopy(std::move(*source), std::move(*copy), most, padded));
}

Result<bool> FileCopy::step() {
  const std::size_t wanted = std::min<std::uint64_t>(kPiece, most_ - offset_);
  if (buffer_.size() < wanted) {
    // Small files need no megabyte.
    const auto size = from_->size();
    if (!size.is_ok()) return size.status();
    const std::uint64_t left = *size > offset_ ? *size - offset_ : 0;
    buffer_.resize(std::min<std::uint64_t>(wanted, left + 1));
  }
  const std::size_t room = std::min(wanted, buffer_.size());
  const auto read =
      room == 0 ? Result<std::size_t>(std::size_t{0}) : from_->read(offset_, buffer_.data(), room);
  if (!read.is_ok()) return read.status();
  const std::string_view piece(buffer_.data(), *read);
  if (!piece.empty()) {
    SEGUE_RETURN_IF_ERROR(to_->write(offset_, std::span(&piece, 1)));
    checksum_.update(piece);
    offset_ += piece.size();
  }
  const bool ended = piece.size() < room || offset_ == most_;
  if (ended && offset_ < padded_) SEGUE_RETURN_IF_ERROR(pad());
  if (offset_ - synced_ >= kSyncEvery || (ended && synced_ > 0)) {
    SEGUE_RETURN_IF_ERROR(to_->sync());
    synced_ = offset_;
  }
  return ended;
}

Status FileCopy::pad() {
  SEGUE_RETURN_IF_ERROR(to_->truncate(padded_));
  const std::string zeros(std::min<std::uint64_t>(kPiece, padded_ - offset_), '\0');
  while (offset_ < padded_) {
    const std::uint64_t bytes = std::min<std::uint64_t>(zeros.size(), padded_ - offset_);
    checksum_.update(std::string_view(zeros).substr(0, bytes));
    offset_ += bytes;
  }
  return {};
}

Result<std::vector<std::string>> BackupWalk::list(const std::string& below) const {
  auto names = files_.list(root_ + "/" + below);
  if (!names.is_ok() && names.status().code() == Code::kNotFound) return std::vector<std::string>();
  return names;
}

Result<bool> BackupWalk::next(std::vector<std::string>& paths) {
  if (!begun_) {
    begun_ = true;
    for (const char* const name : {"log_ends", "quarantine"}) {
      if (files_.exists(root_ + "/" + name)) paths.emplace_back(name);
    }
    auto shards = list("shards");
    if (!shards.is_ok()) return shards.status();
    for (const std::string& name : *shards) {
      if (is_shard_name(name)) shards_.push_back("shards/" + name);
    }
    return true;
  }
  if (!queues_.empty()) {
    const std::string queue = std::move(queues_.back());
    queues_.pop_back();
    auto names = list(queue);
    if (!names.is_ok()) return names.status();
    for (const std::string& name : *names) {
      if (segment_of_file_name(name, ".data") || segment_of_file_name(name, ".index")) {
        paths.push_back(queue + "/" + name);
      }
    }
    return true;
  }
  if (shards_.empty()) return false;
  const std::string shard = std::move(shards_.back());
  shards_.pop_back();
  if (files_.exists(root_ + "/" + shard + "/checkpoint")) paths.push_back(shard + "/checkpoint");
  auto queues = list(shard + "/queues");
  if (!queues.is_ok()) return queues.status();
  for (const std::string& name : *queues) {
    if (queue_of_directory_name(name)) queues_.push_back(shard + "/queues/" + name);
  }
  return true;
}

Result<std::uint64_t> end_of_indexed(FileSystem& files, const std::string& data,
                                     std::uint64_t size) {
  constexpr std::uint64_t kBlock = 4096;  // only what is still written to ends with a whole one
  constexpr std::string_view kData = ".data";
  const std::size_t slash = data.rfind('/');
  const auto name = segment_of_file_name(std::string_view(data).substr(slash + 1), kData);
  const auto queue = queue_of_directory_name(
      data.substr(data.rfind('/', slash - 1) + 1, slash - data.rfind('/', slash - 1) - 1));
  const std::string index_path = data.substr(0, data.size() - kData.size()) + ".index";
  if (size == 0 || size % kBlock != 0 || !name || !queue || !files.exists(index_path)) return size;
  auto index = files.open(index_path, OpenMode::kRead);
  if (!index.is_ok()) return index.status();
  auto index_size = (*index)->size();
  if (!index_size.is_ok()) return index_size.status();
  char head[IndexHeader::kSize];
  auto read = (*index)->read(0, head, sizeof head);
  if (!read.is_ok()) return read.status();
  const auto header = IndexHeader::decode({head, *read});
  if (!header.is_ok() || *index_size < IndexEntry::place(1, header->timed)) return size;
  const std::size_t entry_bytes = IndexEntry::size(header->timed);
  const auto last =
      static_cast<std::uint32_t>((*index_size - IndexHeader::kSize) / entry_bytes - 1);
  char bytes[MessageRecord::kTimedSize];
  read = (*index)->read(IndexEntry::place(last, header->timed), bytes, entry_bytes);
  if (!read.is_ok()) return read.status();
  const auto entry = *read == entry_bytes ? IndexEntry::decode(bytes, name->first, header->timed)
                                          : std::optional<IndexEntry>();
  if (!entry) return size;
  auto records = files.open(data, OpenMode::kRead);
  if (!records.is_ok()) return records.status();
  char foot[SegmentFooter::kSize];
  read = (*records)->read(size - sizeof foot, foot, sizeof foot);
  if (!read.is_ok()) return read.status();
  const auto footer = SegmentFooter::decode({foot, *read});
  if (footer.is_ok() && footer->records_end == size - sizeof foot) return size;
  read = (*records)->read(entry->data_offset, bytes, sizeof bytes);
  if (!read.is_ok()) return read.status();
  const auto record = MessageRecord::decode({bytes, *read}, *queue);
  if (!record) return size;
  return std::min(size, entry->data_offset + record->record_bytes());
}

Status remove_tree(FileSystem& files, const std::string& path) {
  if (!files.exists(path)) return {};
  const auto names = files.list(path);
  if (!names.is_ok()) return files.remove(path);
  for (const std::string& name : *names) {
    SEGUE_RETURN_IF_ERROR(remove_tree(files, path + "/" + name));
  }
  return files.remove_directory(path);
}

namespace {

/// Files of others do not belong there, and would go when the node is restored.
Status check_outside_data(FileSystem& files, const std::string& path) {
  for (std::size_t end = path.rfind('/'); end != std::string::npos && end > 0;
       end = path.rfind('/', end - 1)) {
    const std::string parent = path.substr(0, end);
    if (!files.exists(parent + "/identity")) continue;
    return Status(Code::kInvalidConfig, path + ": is in " + parent +
                                            ", which is a node's data directory or a backup: give "
                                            "a directory outside of it; nothing was written");
  }
  return {};
}

}  // namespace

Status prepare_empty_directory(FileSystem& files, const std::string& path,
                               const std::string& ignored, std::string& made) {
  SEGUE_RETURN_IF_ERROR(check_outside_data(files, path));
  made.clear();
  for (std::string at = path; !at.empty() && !files.exists(at);) {
    made = at;
    const std::size_t slash = at.rfind('/');
    at.resize(slash == std::string::npos ? 0 : slash);
  }
  const auto cannot = [&](const char* what, const Status& status) {
    // Of another kind are a full disk, or one that fails.
    if (status.code() != Code::kIoError && status.code() != Code::kNotFound) return status;
    return Status(Code::kInvalidConfig, path + ": " + what + " (" + status.message() +
                                            "): give a directory that is empty or not there yet");
  };
  if (!made.empty()) {
    const Status status = files.make_directories(path);
    return status ? status : cannot("cannot be made", status);
  }
  const auto names = files.list(path);
  if (!names.is_ok()) return cannot("is no directory", names.status());
  for (const std::string& name : *names) {
    if (name == ignored || name == "lost+found") continue;
    return Status(Code::kInvalidConfig, path + ": is not empty ('" + name +
                                            "'): give a directory that is empty or not there yet; "
                                            "nothing was written");
  }
  return {};
}

Status remove_made_directories(FileSystem& files, const std::string& path,
                               const std::string& made) {
  if (made.empty()) return {};
  SEGUE_RETURN_IF_ERROR(files.remove_directory(path));
  for (std::string at = path; at.size() > made.size();) {
    at.resize(at.rfind('/'));
    const auto names = files.list(at);
    if (!names.is_ok() || !names->empty()) break;  // of another node
    SEGUE_RETURN_IF_ERROR(files.remove_directory(at));
  }
  return {};
}

Status check_room(FileSystem& files, const std::string& path, std::uint64_t bytes,
                  std::uint64_t count, std::uint64_t keep_free) {
  const auto free = files.free_bytes(path);
  if (!free.is_ok()) return free.status();
  const std::uint64_t needed = bytes + count * kBytesPerFile;
  if (*free >= needed && *free - needed >= keep_free) return {};
  std::string text = path + ": " + std::to_string(needed) + " bytes are needed, " +
                     std::to_string(*free) + " are free";
  if (keep_free > 0) {
    text += ", of which " + std::to_string(keep_free) + " are to stay free (free_disk_limit)";
  }
  return Status(Code::kNoSpace,
                text +
                    ": make room there, or give a directory on another disk; nothing was "
                    "written");
}

}  // namespace segue::storage
