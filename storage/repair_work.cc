#include "storage/repair_work.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace segue::storage {

namespace {

constexpr std::size_t kCopyBytes = 1u << 20;

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

RepairLoss& RepairLoss::operator+=(const RepairLoss& other) {
  log_records += other.log_records;
  messages += other.messages;
  untraced += other.untraced;
  returned += other.returned;
  more = more || other.more;
  return *this;
}

RepairWork::RepairWork(FileSystem& files, std::string root, std::string directory,
                       std::string folder, Told told)
    : files_(files),
      root_(std::move(root)),
      directory_(std::move(directory)),
      folder_(std::move(folder)),
      told_(std::move(told)),
      no_log_(null_log_sink(), clock_, Logger::Options{LogLevel::kOff, 0}),
      context_{files_, no_log_, directory_, 0,
               [this](const Status& status) { failure_ = status; }} {}

std::string RepairWork::below(const std::string& root, const std::string& path) const {
  return path.starts_with(root + "/") ? path.substr(root.size() + 1) : path;
}

void RepairWork::done(const std::string& path, std::string what, std::string queue,
                      const RepairLoss& loss) {
  told_({true, below(root_, path), std::move(queue), std::move(what), loss});
}

void RepairWork::cannot(const std::string& path, std::string what, std::string queue) {
  told_({false, below(root_, path), std::move(queue), std::move(what), {}});
}

Result<std::string> RepairWork::place_for(const std::string& path) {
  const std::string place = path_of(folder_) + "/" + below(directory_, path);
  SEGUE_RETURN_IF_ERROR(files_.make_directories(parent_of(place)));
  for (std::string made = parent_of(place); made.size() > directory_.size();) {
    made = parent_of(made);
    SEGUE_RETURN_IF_ERROR(files_.sync_directory(made));
  }
  return place;
}

Status RepairWork::move_aside(const std::string& path) {
  if (!files_.exists(path)) return {};
  keeps_ = true;
  auto place = place_for(path);
  if (!place.is_ok()) return place.status();
  SEGUE_RETURN_IF_ERROR(files_.rename(path, *place));
  // The new name first: a crash may leave both, never none.
  SEGUE_RETURN_IF_ERROR(files_.sync_directory(parent_of(*place)));
  return files_.sync_directory(parent_of(path));
}

Status RepairWork::keep_copy(const std::string& path, std::uint64_t offset) {
  if (!files_.exists(path)) return {};
  keeps_ = true;
  auto place = place_for(path);
  if (!place.is_ok()) return place.status();
  auto from = files_.open(path, OpenMode::kRead);
  if (!from.is_ok()) return from.status();
  auto to = files_.open(*place, OpenMode::kReadWrite);
  if (!to.is_ok()) return to.status();
  SEGUE_RETURN_IF_ERROR((*to)->truncate(0));
  std::string piece(kCopyBytes, '\0');
  for (std::uint64_t at = offset;;) {
    auto read = (*from)->read(at, piece.data(), piece.size());
    if (!read.is_ok()) return read.status();
    if (*read == 0) break;
    const std::string_view bytes(piece.data(), *read);
    SEGUE_RETURN_IF_ERROR((*to)->write(at - offset, std::span(&bytes, 1)));
    at += *read;
  }
  SEGUE_RETURN_IF_ERROR((*to)->sync());
  return files_.sync_directory(parent_of(*place));
}

}  // namespace segue::storage
