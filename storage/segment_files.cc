#include "storage/segment_files.h"

namespace segue::storage {

namespace {

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

std::string QueueFiles::data_path(SegmentName segment) const {
  return directory + "/" + segment_file_name(segment, ".data");
}
std::string QueueFiles::index_path(SegmentName segment) const {
  return directory + "/" + segment_file_name(segment, ".index");
}

Status SegmentFiles::open_data(const std::string& path, bool direct, OpenSegment& files) {
  if (direct && direct_) {
    auto file = context_.files.open(path, OpenMode::kReadWriteDirect);
    if (file.is_ok()) {
      files.data = std::move(*file);
      files.direct = true;
      return {};
    }
    if (file.status().code() != Code::kNotImplemented) return file.status();
    direct_ = false;
    context_.log.info("segments_through_page_cache", {{"reason", file.status()}});
  }
  auto file = context_.files.open(path, OpenMode::kReadWrite);
  if (!file.is_ok()) return file.status();
  files.data = std::move(*file);
  files.direct = false;
  return {};
}

Status SegmentFiles::make_directory(QueueFiles& queue) {
  if (queue.made) return {};
  SEGUE_RETURN_IF_ERROR(context_.files.make_directories(queue.directory));
  queue.made = true;
  // Its name, and those of the directories above, which may be new as well.
  for (std::string path = queue.directory; path.size() > context_.root.size();) {
    path = parent_of(path);
    unsynced_directories_.insert(path);
  }
  return {};
}

Result<OpenSegment*> SegmentFiles::create(QueueFiles& queue, SegmentName segment, Access access) {
  SEGUE_RETURN_IF_ERROR(make_directory(queue));
  unsynced_directories_.insert(queue.directory);
  auto files = open_or_make(queue, segment, access);
  if (!files.is_ok()) return files;
  // What an earlier, failed attempt may have left.
  SEGUE_RETURN_IF_ERROR((*files)->data->truncate(0));
  SEGUE_RETURN_IF_ERROR((*files)->index->truncate(0));
  (*files)->tail.clear();
  (*files)->tail_end = 0;
  return files;
}

Result<OpenSegment*> SegmentFiles::open(QueueFiles& queue, SegmentName segment, Access access) {
  if (!open_.contains({queue.id, segment}) && !context_.files.exists(queue.data_path(segment))) {
    return Status(Code::kNotFound, queue.data_path(segment) + ": there is no such segment");
  }
  return open_or_make(queue, segment, access);
}

Result<OpenSegment*> SegmentFiles::open_or_make(QueueFiles& queue, SegmentName segment,
                                                Access access) {
  const Key key{queue.id, segment};
  if (const auto found = open_.find(key); found != open_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.place);
    OpenSegment& files = found->second.files;
    if (access == Access::kMuch && direct_ && !files.direct) {
      SEGUE_RETURN_IF_ERROR(open_data(queue.data_path(segment), true, files));
    }
    return &files;
  }
  while (open_.size() >= max_open_) close_oldest();
  OpenSegment files;
  SEGUE_RETURN_IF_ERROR(open_data(queue.data_path(segment), access != Access::kLittle, files));
  auto index = context_.files.open(queue.index_path(segment), OpenMode::kReadWrite);
  if (!index.is_ok()) return index.status();
  files.index = std::move(*index);
  recent_.push_front(key);
  Slot& slot = open_[key];
  slot.files = std::move(files);
  slot.place = recent_.begin();
  if (const auto unsynced = closed_unsynced_.find(key); unsynced != closed_unsynced_.end()) {
    slot.files.data_unsynced = unsynced->second.data;
    slot.files.index_unsynced = unsynced->second.index;
    closed_unsynced_.erase(unsynced);
  }
  return &slot.files;
}

void SegmentFiles::close_oldest() {
  const Key key = recent_.back();
  const OpenSegment& files = open_[key].files;
  // Synced later, through another descriptor. Should the system forget an error of the page cache
  // until then, it is the index that is damaged (data is written past the cache), and that is
  // noticed.
  if (files.data_unsynced || files.index_unsynced) {
    closed_unsynced_[key] = {files.data_unsynced, files.index_unsynced};
  }
  close(key);
}

Status SegmentFiles::sync_file(File& file, bool& unsynced) {
  if (!unsynced) return {};
  Status status = file.sync();
  if (status.is_ok()) {
    unsynced = false;
  } else {
    context_.fatal(status);
  }
  return status;
}

Status SegmentFiles::sync(QueueFiles& queue, SegmentName segment) {
  const Key key{queue.id, segment};
  if (!open_.contains(key) && !closed_unsynced_.contains(key)) return {};
  auto opened = open(queue, segment);
  if (!opened.is_ok()) return opened.status();
  SEGUE_RETURN_IF_ERROR(sync_file(*(*opened)->data, (*opened)->data_unsynced));
  return sync_file(*(*opened)->index, (*opened)->index_unsynced);
}

Status SegmentFiles::sync_everything() {
  if (Status status = context_.files.sync_all(context_.root); !status.is_ok()) {
    context_.fatal(status);
    return status;
  }
  for (auto& [key, slot] : open_) slot.files.data_unsynced = slot.files.index_unsynced = false;
  closed_unsynced_.clear();
  unsynced_directories_.clear();
  return {};
}

Status SegmentFiles::sync_names() {
  while (!unsynced_directories_.empty()) {
    const std::string path = *unsynced_directories_.begin();
    // A queue may be gone since.
    if (context_.files.exists(path)) {
      if (Status status = context_.files.sync_directory(path); !status.is_ok()) {
        context_.fatal(status);
        return status;
      }
    }
    unsynced_directories_.erase(path);
  }
  return {};
}

void SegmentFiles::close(const Key& key) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  recent_.erase(found->second.place);
  open_.erase(found);
}

bool SegmentFiles::remove_file(const std::string& path) {
  const Status status = context_.files.remove(path);
  if (!status.is_ok()) {
    context_.log.warn("segment_file_not_removed", {{"path", path}, {"reason", status}});
  }
  return status.is_ok();
}

void SegmentFiles::remove(QueueFiles& queue, std::span<const SegmentName> segments) {
  // The messages first, and durably: an index without messages is what is left of a removal, but
  // messages without an index would all be valid again.
  std::vector<SegmentName> removed;
  for (const SegmentName& segment : segments) {
    close({queue.id, segment});
    closed_unsynced_.erase({queue.id, segment});
    if (remove_file(queue.data_path(segment))) removed.push_back(segment);
  }
  if (const Status status = context_.files.sync_directory(queue.directory); !status.is_ok()) {
    context_.log.warn("segment_files_not_removed", {{"path", queue.directory}, {"reason", status}});
    return;
  }
  for (const SegmentName& segment : removed) remove_file(queue.index_path(segment));
}

void SegmentFiles::remove_queue(QueueFiles& queue) {
  const auto names = context_.files.list(queue.directory);
  queue.made = false;
  if (!names.is_ok()) return;
  std::vector<SegmentName> segments;
  for (const std::string& name : *names) {
    if (const auto segment = segment_of_file_name(name, ".data")) segments.push_back(*segment);
  }
  if (!segments.empty()) remove(queue, segments);
  for (const std::string& name : *names) {
    if (!segment_of_file_name(name, ".data")) remove_file(queue.directory + "/" + name);
  }
  if (const Status status = context_.files.remove_directory(queue.directory); !status.is_ok()) {
    context_.log.warn("queue_directory_not_removed",
                      {{"path", queue.directory}, {"reason", status}});
  }
}

}  // namespace segue::storage
