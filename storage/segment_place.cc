#include "storage/segment_place.h"

#include <string>
#include <utility>

#include "storage/segment_format.h"

namespace segue::storage {

namespace {

Result<std::string> read_some(File& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  auto read = file.read(offset, bytes.data(), bytes.size());
  if (!read.is_ok()) return read.status();
  bytes.resize(*read);
  return bytes;
}

Status stands_wrong(const std::string& path, std::uint64_t offset, const std::string& what,
                    const QueueFiles& queue) {
  return Status(Code::kCorruption, path + ": is " + what + ", as offset " + std::to_string(offset) +
                                       " says, but stands in the folder of queue " +
                                       std::to_string(queue.id.value) +
                                       ": files were moved or exchanged. Put them back, or let "
                                       "segue check --repair do it");
}

/// Whether the first message is one that the segment may have. Only known if it can be read.
Status check_first_record(const QueueFiles& queue, const CheckpointSegment& named, File& data) {
  constexpr std::uint64_t kOffset = SegmentHeader::kSize;
  const auto bytes = read_some(data, kOffset, MessageRecord::kTimedSize);
  if (!bytes.is_ok()) return {};
  const auto record = MessageRecord::decode(*bytes, queue.id);
  if (!record || (record->sequence >= named.first && record->sequence <= named.last)) return {};
  return stands_wrong(data.path(), kOffset, "another segment of the same queue", queue);
}

}  // namespace

Status check_place(const QueueFiles& queue, const CheckpointSegment& named, File& data) {
  const auto bytes = read_some(data, 0, SegmentHeader::kSize);
  if (!bytes.is_ok()) return {};
  const auto header = SegmentHeader::decode(*bytes);
  if (!header.is_ok()) return {};
  if (header->queue != queue.id) {
    return stands_wrong(data.path(), 16, "of queue " + std::to_string(header->queue.value), queue);
  }
  // A repair keeps messages in segments that begin earlier than they do.
  if (header->first == named.first) return {};
  return check_first_record(queue, named, data);
}

}  // namespace segue::storage
