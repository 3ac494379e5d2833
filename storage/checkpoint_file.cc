#include "storage/checkpoint_file.h"

#include <cstring>
#include <span>

#include "common/bytes.h"
#include "common/checksum.h"
#include "storage/segment_format.h"

namespace segue::storage {

namespace {

constexpr std::string_view kMagic = "SGCHECKP";
constexpr std::uint32_t kVersion = 1;
// magic 8, version 4, shard 4, applied 8, list bytes 8, state bytes 8, list checksum 8, state
// checksum 8, header checksum 8.
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kQueueBytes = 16;  // id 8, name bytes 4, segments 4; the name follows
constexpr std::size_t kSegmentBytes =
    40;  // first 8, last 8, data bytes 8, messages 4, valid 4, flags 4, generation 4
constexpr std::uint32_t kSealedFlag = 1;

Status corrupt(std::size_t offset, const std::string& what) {
  return Status(Code::kCorruption, "damaged at offset " + std::to_string(offset) + ": " + what);
}

/// Takes fixed-size pieces off the list, never beyond its end.
class ListReader {
 public:
  ListReader(std::string_view file, std::size_t begin, std::size_t end)
      : file_(file.substr(0, end)), at_(begin) {}

  /// Null when fewer bytes are left.
  const char* take(std::size_t size) {
    if (size > file_.size() - at_) return nullptr;
    at_ += size;
    return file_.data() + at_ - size;
  }
  std::size_t offset() const { return at_; }
  bool at_end() const { return at_ == file_.size(); }

 private:
  std::string_view file_;
  std::size_t at_;
};

std::optional<CheckpointSegment> take_segment(ListReader& list) {
  const char* const bytes = list.take(kSegmentBytes);
  if (bytes == nullptr) return {};
  CheckpointSegment segment;
  segment.first = Sequence{load_le<std::uint64_t>(bytes)};
  segment.last = Sequence{load_le<std::uint64_t>(bytes + 8)};
  segment.data_bytes = load_le<std::uint64_t>(bytes + 16);
  segment.messages = load_le<std::uint32_t>(bytes + 24);
  segment.valid = load_le<std::uint32_t>(bytes + 28);
  segment.generation = load_le<std::uint32_t>(bytes + 36);
  segment.sealed = (load_le<std::uint32_t>(bytes + 32) & kSealedFlag) != 0;
  return segment;
}

std::optional<CheckpointQueue> take_queue(ListReader& list) {
  const char* const head = list.take(kQueueBytes);
  if (head == nullptr) return {};
  CheckpointQueue queue;
  queue.id = QueueId{load_le<std::uint64_t>(head)};
  const auto name_bytes = load_le<std::uint32_t>(head + 8);
  const auto segments = load_le<std::uint32_t>(head + 12);
  const char* const name = list.take(name_bytes);
  if (name == nullptr) return {};
  queue.directory.assign(name, name_bytes);
  for (std::uint32_t i = 0; i < segments; ++i) {
    const auto segment = take_segment(list);
    if (!segment) return {};
    queue.segments.push_back(*segment);
  }
  return queue;
}

/// Whether what was read can have been written: recovery makes paths and sizes of it.
bool is_sound(const CheckpointQueue& queue) {
  if (queue.directory.find('/') != std::string::npos) return false;
  if (queue_of_directory_name(queue.directory) != queue.id) return false;
  std::optional<Sequence> before;
  for (const CheckpointSegment& segment : queue.segments) {
    const std::uint64_t least = SegmentHeader::kSize + (segment.sealed ? SegmentFooter::kSize : 0);
    if (segment.first > segment.last || segment.data_bytes < least) return false;
    if (before && segment.first <= *before) return false;
    before = segment.last;
  }
  return true;
}

void append_queue(std::string& list, const CheckpointQueue& queue) {
  append_le(list, queue.id.value);
  append_le(list, static_cast<std::uint32_t>(queue.directory.size()));
  append_le(list, static_cast<std::uint32_t>(queue.segments.size()));
  list += queue.directory;
  for (const CheckpointSegment& segment : queue.segments) {
    append_le(list, segment.first.value);
    append_le(list, segment.last.value);
    append_le(list, segment.data_bytes);
    append_le(list, segment.messages);
    append_le(list, segment.valid);
    append_le(list, segment.sealed ? kSealedFlag : std::uint32_t{0});
    append_le(list, segment.generation);
  }
}

}  // namespace

std::string Checkpoint::encode_head() const {
  std::string head(kHeaderBytes, '\0');
  for (const CheckpointQueue& queue : queues) append_queue(head, queue);
  const std::string_view list = std::string_view(head).substr(kHeaderBytes);
  const std::uint64_t list_checksum = xxh3_64(list);
  const std::uint64_t list_bytes = list.size();
  char* const to = head.data();
  std::memcpy(to, kMagic.data(), kMagic.size());
  store_le(to + 8, kVersion);
  store_le(to + 12, std::uint32_t{shard.value});
  store_le(to + 16, applied.value);
  store_le(to + 24, list_bytes);
  store_le(to + 32, std::uint64_t{state.size()});
  store_le(to + 40, list_checksum);
  store_le(to + 48, xxh3_64(state));
  store_le(to + 56, xxh3_64({to, 56}));
  return head;
}

Result<Checkpoint> Checkpoint::decode(std::string_view file) {
  if (file.size() < kHeaderBytes) return corrupt(file.size(), "the header is cut short");
  if (file.substr(0, kMagic.size()) != kMagic) return corrupt(0, "wrong magic number");
  const char* const from = file.data();
  if (load_le<std::uint64_t>(from + 56) != xxh3_64({from, 56})) {
    return corrupt(56, "the header fails its checksum");
  }
  if (const auto version = load_le<std::uint32_t>(from + 8); version != kVersion) {
    return Status(Code::kInvalidConfig, "format version " + std::to_string(version) +
                                            ", this program reads version " +
                                            std::to_string(kVersion));
  }
  const auto list_bytes = load_le<std::uint64_t>(from + 24);
  const auto state_bytes = load_le<std::uint64_t>(from + 32);
  const std::uint64_t rest = file.size() - kHeaderBytes;
  if (list_bytes > rest || state_bytes != rest - list_bytes) {
    return corrupt(file.size(), "the file is " + std::to_string(file.size()) +
                                    " bytes long, its header says otherwise");
  }
  const auto list_size = static_cast<std::size_t>(list_bytes);
  const std::string_view state = file.substr(kHeaderBytes + list_size);
  if (load_le<std::uint64_t>(from + 40) != xxh3_64(file.substr(kHeaderBytes, list_size))) {
    return corrupt(kHeaderBytes, "the list of segments fails its checksum");
  }
  if (load_le<std::uint64_t>(from + 48) != xxh3_64(state)) {
    return corrupt(kHeaderBytes + list_size, "the shard's state fails its checksum");
  }
  Checkpoint checkpoint;
  checkpoint.shard = ShardId{static_cast<std::uint16_t>(load_le<std::uint32_t>(from + 12))};
  checkpoint.applied = LogIndex{load_le<std::uint64_t>(from + 16)};
  checkpoint.state.assign(state);
  ListReader list(file, kHeaderBytes, kHeaderBytes + list_size);
  while (!list.at_end()) {
    auto queue = take_queue(list);
    if (!queue) return corrupt(list.offset(), "the list of segments is cut short");
    if (!is_sound(*queue)) {
      return corrupt(list.offset(), "the entry of queue " + std::to_string(queue->id.value) +
                                        ", which ends there, contradicts itself");
    }
    checkpoint.queues.push_back(std::move(*queue));
  }
  return checkpoint;
}

Status write_checkpoint(FileSystem& files, const std::string& directory,
                        const Checkpoint& checkpoint,
                        const std::function<void(const Status&)>& fatal) {
  const std::string path = directory + "/checkpoint";
  const std::string next = directory + "/checkpoint.new";
  // A left-over of another size must not show through.
  SEGUE_RETURN_IF_ERROR(files.remove(next));
  auto file = files.open(next, OpenMode::kReadWrite);
  if (!file.is_ok()) return file.status();
  const std::string head = checkpoint.encode_head();
  const std::string_view pieces[] = {head, checkpoint.state};
  if (Status written = (*file)->write(0, pieces); !written.is_ok()) {
    file->reset();
    // Its space is needed elsewhere; if this fails too, the next checkpoint removes it.
    (void)files.remove(next);
    return written;
  }
  if (Status synced = (*file)->sync(); !synced.is_ok()) {
    fatal(synced);
    return synced;
  }
  SEGUE_RETURN_IF_ERROR(files.rename(next, path));
  if (Status synced = files.sync_directory(directory); !synced.is_ok()) {
    fatal(synced);
    return synced;
  }
  return {};
}

Status another_shards(const std::string& path, ShardId shard) {
  return Status(Code::kCorruption,
                path + ": is that of shard " + std::to_string(shard.value) +
                    " at offset 12: folders of shards, or their checkpoints, changed places. Put "
                    "them back, or let segue check --repair do it");
}

Result<std::optional<Checkpoint>> read_checkpoint(FileSystem& files, const std::string& directory) {
  const std::string path = directory + "/checkpoint";
  if (!files.exists(path)) return std::optional<Checkpoint>();
  auto file = files.open(path, OpenMode::kRead);
  if (!file.is_ok()) return file.status();
  auto size = (*file)->size();
  if (!size.is_ok()) return size.status();
  std::string bytes(static_cast<std::size_t>(*size), '\0');
  auto read = (*file)->read(0, bytes.data(), bytes.size());
  if (!read.is_ok()) return read.status();
  bytes.resize(*read);
  auto checkpoint = Checkpoint::decode(bytes);
  if (!checkpoint.is_ok()) {
    return Status(checkpoint.status().code(), path + ": " + checkpoint.status().message());
  }
  return std::optional<Checkpoint>(std::move(*checkpoint));
}

}  // namespace segue::storage
