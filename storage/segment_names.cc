#include "storage/segment_names.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/interrupted_repair.h"
#include "storage/segment_format.h"

namespace segue::storage {

namespace {

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

/// Names in a directory; none if it is missing.
Result<std::vector<std::string>> list(FileSystem& files, const std::string& path) {
  auto names = files.list(path);
  if (!names.is_ok() && names.status().code() == Code::kNotFound) return std::vector<std::string>();
  return names;
}

/// What a file says of itself.
struct Identity {
  QueueId queue;
  Sequence first;
  std::optional<bool> copy;
  Sequence replaced_last;  // of a copy
};

/// A file of a segment.
struct Found {
  std::string path;
  SegmentName name;
  std::uint64_t bytes = 0;
  std::optional<Identity> identity;
  std::string wanted;       // the path that it should have
  bool on_its_way = false;  // an interrupted repair was moving it there
};

class SegmentNames {
 public:
  SegmentNames(RepairWork& work, const std::map<ShardId, const Checkpoint*>& known)
      : work_(work), known_(known), moved_(work.path_of(kMovedSegments)) {}

  Status run() {
    SEGUE_RETURN_IF_ERROR(find_files());
    SEGUE_RETURN_IF_ERROR(find_on_their_way(moved_));
    for (Found& file : data_) place_data(file);
    drop_conflicts(data_);
    for (Found& file : indexes_) place_index(file);
    drop_conflicts(indexes_);
    std::vector<const Found*> moves;
    for (const std::vector<Found>* const files : {&data_, &indexes_}) {
      for (const Found& file : *files) {
        if (file.wanted != file.path) moves.push_back(&file);
        if (file.wanted == file.path && file.on_its_way) SEGUE_RETURN_IF_ERROR(give_up(file));
      }
    }
    return move(moves);
  }

 private:
  // ---- what is there

  Status find_files() {
    const std::string shards = work_.path_of("shards");
    auto shard_names = list(work_.files(), shards);
    if (!shard_names.is_ok()) return shard_names.status();
    std::set<QueueId> twice;
    for (const std::string& shard : *shard_names) {
      const std::string queues = shards + "/" + shard + "/queues";
      const auto names = work_.files().list(queues);
      if (!names.is_ok()) continue;  // none, or no directory
      for (const std::string& name : *names) {
        const auto queue = queue_of_directory_name(name);
        if (!queue) continue;
        const std::string directory = queues + "/" + name;
        if (!homes_.emplace(*queue, directory).second) twice.insert(*queue);
        SEGUE_RETURN_IF_ERROR(find_files_of(*queue, directory));
      }
    }
    for (const QueueId queue : twice) homes_.erase(queue);
    for (const auto& [shard, checkpoint] : known_) {
      for (const CheckpointQueue& queue : checkpoint->queues) {
        if (twice.contains(queue.id)) continue;
        homes_.emplace(queue.id,
                       shards + "/" + std::to_string(shard.value) + "/queues/" + queue.directory);
        for (const CheckpointSegment& segment : queue.segments) {
          named_[queue.id].push_back(segment);
        }
      }
    }
    return {};
  }

  Status find_files_of(QueueId queue, const std::string& directory) {
    const auto names = work_.files().list(directory);
    if (!names.is_ok()) return {};  // no directory: moved away later
    for (const std::string& name : *names) {
      const auto data = segment_of_file_name(name, ".data");
      const auto index = segment_of_file_name(name, ".index");
      if (!data && !index) continue;
      Found file;
      file.path = file.wanted = directory + "/" + name;
      file.name = data ? *data : *index;
      const Status read = data ? read_data(queue, file) : read_index(file);
      SEGUE_RETURN_IF_ERROR(read);
      (data ? data_ : indexes_).push_back(std::move(file));
    }
    return {};
  }

  Status find_on_their_way(const std::string& directory) {
    auto names = list(work_.files(), directory);
    if (!names.is_ok()) return names.status();
    for (const std::string& name : *names) {
      const auto data = segment_of_file_name(name, ".data");
      const auto index = segment_of_file_name(name, ".index");
      Found file;
      file.path = directory + "/" + name;
      if (!data && !index) {
        SEGUE_RETURN_IF_ERROR(find_on_their_way(file.path));
        continue;
      }
      file.name = data ? *data : *index;
      file.wanted = work_.directory() + file.path.substr(moved_.size());
      file.on_its_way = true;
      (data ? data_ : indexes_).push_back(std::move(file));
    }
    return {};
  }

  Status read_data(QueueId queue, Found& file) {
    auto opened = work_.files().open(file.path, OpenMode::kRead);
    if (!opened.is_ok()) return opened.status();
    auto size = (*opened)->size();
    if (!size.is_ok()) return size.status();
    file.bytes = *size;
    auto head = read(**opened, 0, SegmentHeader::kSize + MessageRecord::kTimedSize);
    if (!head.is_ok()) return head.status();
    if (const auto header = SegmentHeader::decode(*head); header.is_ok()) {
      file.identity = Identity{header->queue, header->first, header->replaced_last.value > 0,
                               header->replaced_last};
      return {};
    }
    if (file.bytes > SegmentHeader::kSize + SegmentFooter::kSize) {
      auto foot = read(**opened, file.bytes - SegmentFooter::kSize, SegmentFooter::kSize);
      if (!foot.is_ok()) return foot.status();
      if (const auto footer = SegmentFooter::decode(*foot);
          footer.is_ok() && footer->records_end == file.bytes - SegmentFooter::kSize) {
        file.identity = Identity{footer->queue, footer->first, {}, footer->last};
        return {};
      }
    }
    // No message is in front of the first one that its segment is named by.
    if (head->size() < SegmentHeader::kSize + MessageRecord::kSize) return {};
    const auto record = MessageRecord::decode(head->substr(SegmentHeader::kSize), queue);
    if (record && record->sequence < file.name.first) {
      file.identity = Identity{queue, record->sequence, {}, {}};
    }
    return {};
  }

  Status read_index(Found& file) {
    auto opened = work_.files().open(file.path, OpenMode::kRead);
    if (!opened.is_ok()) return opened.status();
    auto head = read(**opened, 0, IndexHeader::kSize);
    if (!head.is_ok()) return head.status();
    if (const auto header = IndexHeader::decode(*head); header.is_ok()) {
      file.identity = Identity{header->queue, header->first, {}, {}};
    }
    return {};
  }

  static Result<std::string> read(File& file, std::uint64_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    auto read = file.read(offset, bytes.data(), size);
    if (!read.is_ok()) return read.status();
    bytes.resize(*read);
    return bytes;
  }

  // ---- where it should be

  void place_data(Found& file) {
    if (!file.identity) return;  // or is on its way
    const auto home = homes_.find(file.identity->queue);
    if (home == homes_.end()) return;
    const SegmentName name{file.identity->first, generation_of(file, home->second)};
    file.wanted = home->second + "/" + segment_file_name(name, ".data");
  }

  /// Of a copy nothing in it tells it. The checkpoint may, and its name, if that can be believed.
  std::uint32_t generation_of(const Found& file, const std::string& home) {
    const Identity& its = *file.identity;
    const std::uint32_t own = file.name.generation;
    if (!its.copy.value_or(own > 0)) return 0;
    const auto begins = [&](std::uint32_t generation) {
      return home + "/" + segment_file_name({its.first, generation}, ".");
    };
    const bool believed = own > 0 && file.path.starts_with(begins(own));
    std::uint32_t least = 1;
    for (const CheckpointSegment& segment : named_[its.queue]) {
      const bool itself = segment.first == its.first && segment.data_bytes == file.bytes;
      if (itself && (!believed || segment.generation > own)) {
        if (!is_right(begins(segment.generation) + "data")) return segment.generation;
      }
      // A copy is of a higher one than what it stands for.
      if (segment.first <= its.replaced_last && segment.last >= its.first) {
        least = std::max(least, segment.generation + 1);
      }
    }
    if (believed) return own;
    for (const Found& index : indexes_) {
      const bool of_it = index.identity && index.identity->queue == its.queue &&
                         index.identity->first == its.first && index.name.generation >= least &&
                         index.path == begins(index.name.generation) + "index";
      if (of_it && !is_right(begins(index.name.generation) + "data") && fits(index, file)) {
        return index.name.generation;
      }
    }
    return least;
  }

  /// A file has this path, and says that it is the right one.
  bool is_right(const std::string& path) const {
    return std::any_of(data_.begin(), data_.end(), [&](const Found& file) {
      if (file.path != path || !file.identity) return false;
      const auto home = homes_.find(file.identity->queue);
      return home != homes_.end() &&
             path.starts_with(home->second + "/" + first_part(file.identity->first));
    });
  }

  /// With its segment's data.
  void place_index(Found& file) {
    if (!file.identity) return;
    const auto own = std::find_if(data_.begin(), data_.end(), [&](const Found& data) {
      return index_of(data.path) == file.path && data.identity &&
             data.identity->queue == file.identity->queue &&
             data.identity->first == file.identity->first;
    });
    if (own != data_.end()) {
      file.wanted = index_of(own->wanted);
      return;
    }
    const auto home = homes_.find(file.identity->queue);
    if (home == homes_.end()) return;
    const std::string begin = home->second + "/" + first_part(file.identity->first);
    for (const Found& data : data_) {
      if (!data.wanted.starts_with(begin) || index_of(data.wanted) == file.path) continue;
      const std::string index = index_of(data.wanted);
      if ((!work_.files().exists(index) || is_anothers(index)) && fits(file, data)) {
        file.wanted = index;
        return;
      }
    }
  }

  static std::string index_of(const std::string& data) {
    return data.substr(0, data.size() - std::string_view(".data").size()) + ".index";
  }
  static std::string first_part(Sequence first) {
    const std::string name = segment_file_name(SegmentName{first}, ".data");
    return name.substr(0, name.size() - std::string_view(".data").size());
  }
  /// What has this path says that it is another segment's.
  bool is_anothers(const std::string& path) const {
    const auto file = std::find_if(indexes_.begin(), indexes_.end(),
                                   [&](const Found& one) { return one.path == path; });
    if (file == indexes_.end() || !file->identity) return false;
    const auto home = homes_.find(file->identity->queue);
    return home != homes_.end() &&
           !path.starts_with(home->second + "/" + first_part(file->identity->first));
  }
  /// The last entry of the index names a record of the data.
  bool fits(const Found& index, const Found& data) {
    const auto opened = work_.files().open(index.path, OpenMode::kRead);
    const auto records = work_.files().open(data.path, OpenMode::kRead);
    if (!opened.is_ok() || !records.is_ok()) return false;
    const auto size = (*opened)->size();
    const auto head = read(**opened, 0, IndexHeader::kSize);
    if (!size.is_ok() || !head.is_ok()) return false;
    const auto header = IndexHeader::decode(*head);
    if (!header.is_ok() || *size < IndexEntry::place(1, header->timed)) return false;
    const std::size_t entry_bytes = IndexEntry::size(header->timed);
    const auto ordinal = static_cast<std::uint32_t>((*size - IndexHeader::kSize) / entry_bytes - 1);
    const auto last = read(**opened, IndexEntry::place(ordinal, header->timed), entry_bytes);
    if (!last.is_ok() || last->size() < entry_bytes) return false;
    const auto entry = IndexEntry::decode(last->data(), index.identity->first, header->timed);
    if (!entry) return false;
    const auto bytes = read(**records, entry->data_offset, MessageRecord::kTimedSize);
    if (!bytes.is_ok()) return false;
    const auto record = MessageRecord::decode(*bytes, index.identity->queue);
    return record && record->sequence == index.identity->first.next(entry->sequence_offset);
  }

  /// What would get a path that another file keeps, or gets too, stays where it is; and so may keep
  /// another from its place.
  static void drop_conflicts(std::vector<Found>& files) {
    std::map<std::string, std::size_t> wanted;
    for (const Found& file : files) ++wanted[file.wanted];
    for (bool changed = true; changed;) {
      changed = false;
      for (Found& file : files) {
        if (file.wanted == file.path || wanted[file.wanted] < 2) continue;
        ++wanted[file.path];
        file.wanted = file.path;
        changed = true;
      }
    }
  }

  // ---- moving

  std::string between(const std::string& path) const {
    return moved_ + path.substr(work_.directory().size());
  }

  Status move(const std::vector<const Found*>& moves) {
    std::set<std::string> touched;
    for (const Found* const file : moves) {
      const std::string queue = file->wanted.substr(0, file->wanted.rfind('/'));
      work_.done(file->path, "is " + below(file->wanted) + ", as it says itself: it is moved there",
                 queue_name_of_directory(queue.substr(queue.rfind('/') + 1)));
      touched.insert(parent_of(file->path));
      touched.insert(parent_of(file->wanted));
    }
    for (const Found* const file : moves) {
      if (file->on_its_way) continue;
      const std::string place = between(file->wanted);
      SEGUE_RETURN_IF_ERROR(make_directories(parent_of(place)));
      SEGUE_RETURN_IF_ERROR(work_.files().rename(file->path, place));
      SEGUE_RETURN_IF_ERROR(work_.files().sync_directory(parent_of(place)));
    }
    for (const Found* const file : moves) {
      touched.insert(parent_of(between(file->wanted)));
      SEGUE_RETURN_IF_ERROR(make_directories(parent_of(file->wanted)));
      SEGUE_RETURN_IF_ERROR(work_.files().rename(between(file->wanted), file->wanted));
    }
    for (const std::string& directory : touched) {
      SEGUE_RETURN_IF_ERROR(work_.files().sync_directory(directory));
    }
    return remove_moved(moved_);
  }

  /// The node was started meanwhile, and has made such a file.
  Status give_up(const Found& file) {
    work_.done(file.path,
               "was being moved, and its place is taken: it is moved to " + work_.folder());
    return work_.move_aside(file.path);
  }

  /// Nothing but directories is left.
  Status remove_moved(const std::string& directory) {
    auto names = list(work_.files(), directory);
    if (!names.is_ok()) return names.status();
    for (const std::string& name : *names) {
      SEGUE_RETURN_IF_ERROR(remove_moved(directory + "/" + name));
    }
    if (!work_.files().exists(directory)) return {};
    SEGUE_RETURN_IF_ERROR(work_.files().remove_directory(directory));
    return work_.files().sync_directory(parent_of(directory));
  }

  std::string below(const std::string& path) const {
    return path.substr(work_.directory().size() + 1);
  }

  Status make_directories(const std::string& path) {
    if (work_.files().exists(path)) return {};
    SEGUE_RETURN_IF_ERROR(work_.files().make_directories(path));
    for (std::string made = path; made.size() > work_.directory().size();) {
      made = parent_of(made);
      SEGUE_RETURN_IF_ERROR(work_.files().sync_directory(made));
    }
    return {};
  }

  RepairWork& work_;
  const std::map<ShardId, const Checkpoint*>& known_;
  const std::string moved_;
  std::map<QueueId, std::string> homes_;  // their directories
  std::map<QueueId, std::vector<CheckpointSegment>> named_;
  std::vector<Found> data_;
  std::vector<Found> indexes_;
};

}  // namespace

Status correct_segment_names(RepairWork& work, const std::map<ShardId, const Checkpoint*>& known) {
  return SegmentNames(work, known).run();
}

}  // namespace segue::storage
