// Any bytes as a segment's files: entries and records are read, rebuilt or refused, never a crash.
// An input is a byte of choices, a u16 (little-endian) with the size of the index, the index, the
// data. By the choices, headers, entries and record headers get right checksums over what the input
// says.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/check.h"
#include "storage/segment_format.h"
#include "storage/segment_index.h"
#include "tests/fakes/faulty_file_system.h"

namespace {

using namespace segue::storage;
using segue::QueueId;
using segue::Sequence;

constexpr QueueId kQueue{7};
constexpr Sequence kFirst{100};

std::uint32_t word(const std::string& bytes, std::size_t at) {
  char raw[4] = {};
  if (at < bytes.size())
    std::memcpy(raw, bytes.data() + at, std::min<std::size_t>(4, bytes.size() - at));
  return segue::load_le<std::uint32_t>(raw);
}

std::string with_headers(std::string index, bool timed) {
  index.resize(std::max(index.size(), IndexHeader::kSize));
  IndexHeader{kQueue, kFirst, timed}.encode(index.data());
  return index;
}

std::string with_entries(std::string index, bool timed) {
  const std::size_t size = IndexEntry::size(timed);
  for (std::size_t at = IndexHeader::kSize; at + size <= index.size(); at += size) {
    IndexEntry entry;
    entry.sequence_offset = word(index, at) % 1000;
    entry.data_offset = word(index, at + 4) % 5000;
    entry.body_bytes = word(index, at + 8) % 3000;
    entry.flags = word(index, at + 12) % 2;
    if (timed) {
      entry.arrived_ms = word(index, at + 16) % 3;
      entry.expiration_ms = word(index, at + 24) % 5;
    }
    entry.encode(index.data() + at, kFirst, timed);
  }
  return index;
}

std::string with_records(std::string data, bool timed) {
  data.resize(std::max(data.size(), SegmentHeader::kSize));
  SegmentHeader header;
  header.queue = kQueue;
  header.first = kFirst;
  header.timed = timed;
  header.encode(data.data());
  std::uint64_t sequence = kFirst.value;
  std::size_t at = SegmentHeader::kSize;
  while (at + MessageRecord::size(timed) <= data.size()) {
    MessageRecord record;
    record.header_bytes = word(data, at) % 40;
    record.body_bytes = word(data, at + 4) % 200;
    sequence += word(data, at + 8) % 3;
    record.sequence = Sequence{sequence};
    if (timed) record.arrived_ms = word(data, at + 16) % 3;
    const std::size_t payload = at + record.head_bytes();
    const std::size_t bytes =
        std::min<std::size_t>(record.header_bytes + record.body_bytes, data.size() - payload);
    record.payload_checksum =
        MessageRecord::checksum_payload(std::string_view(data).substr(payload, bytes), kQueue);
    record.encode(data.data() + at, kQueue);
    at = payload + bytes;
  }
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 3) return 0;
  const std::uint8_t choices = bytes[0];
  const std::string_view rest(reinterpret_cast<const char*>(bytes) + 3, size - 3);
  const std::size_t index_size = std::min<std::size_t>(bytes[1] | bytes[2] << 8, rest.size());
  std::string index(rest.substr(0, index_size));
  std::string data(rest.substr(index_size));
  const bool timed = (choices & 8) != 0;
  if (choices & 1) index = with_headers(std::move(index), timed);
  if (choices & 2) index = with_entries(std::move(index), timed);
  if (choices & 4) data = with_records(std::move(data), timed);

  (void)SegmentHeader::decode(data);
  (void)SegmentFooter::decode(
      std::string_view(data).substr(0, std::min(data.size(), SegmentFooter::kSize)));
  FaultyFileSystem files;
  files.set_content("/q/s.index", index);
  files.set_content("/q/s.data", data);
  const auto index_file = files.open("/q/s.index", OpenMode::kReadWrite);
  const auto data_file = files.open("/q/s.data", OpenMode::kReadWrite);
  SEGUE_CHECK(index_file.is_ok() && data_file.is_ok());
  const auto count = static_cast<std::uint32_t>(index.size() / IndexEntry::kSize + 1);
  (void)scan_index(**index_file, kQueue, kFirst, count, data.size(), [](const IndexEntry&) {});
  (void)read_index(**index_file, kFirst, 0, count);
  auto rebuilt = rebuild_index(**data_file, index_file->get(), kQueue, kFirst, data.size());
  if (!rebuilt.is_ok()) return 0;
  // What was rebuilt is an index that can be read.
  SEGUE_CHECK(write_index(**index_file, kQueue, kFirst, rebuilt->entries).is_ok());
  std::vector<IndexEntry> seen;
  const auto scanned =
      scan_index(**index_file, kQueue, kFirst, static_cast<std::uint32_t>(rebuilt->entries.size()),
                 data.size(), [&](const IndexEntry& entry) { seen.push_back(entry); });
  SEGUE_CHECK(!scanned.is_ok() || seen == rebuilt->entries);
  return 0;
}
