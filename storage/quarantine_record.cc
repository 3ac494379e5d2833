#include "storage/quarantine_record.h"

#include <optional>

#include "common/bytes.h"
#include "common/checksum.h"
#include "storage/segment_scanner.h"

namespace segue::storage {

namespace {

constexpr std::string_view kMagic = "SGQR";
constexpr std::uint32_t kVersion = 1;

struct Sizes {
  std::uint32_t name = 0;
  std::uint32_t file = 0;
  std::uint32_t bytes = 0;
  std::uint64_t payload() const { return std::uint64_t{name} + file + bytes; }
};

/// The record's fixed part; nothing if these bytes are none.
std::optional<Sizes> decode_header(std::string_view header, QuarantineRecord& record) {
  if (header.size() < QuarantineRecord::kHeaderBytes || !header.starts_with(kMagic)) return {};
  const char* const at = header.data();
  if (load_le<std::uint64_t>(at + 64) != xxh3_64(header.substr(0, 64))) return {};
  if (load_le<std::uint32_t>(at + 4) != kVersion) return {};
  record.queue = QueueId{load_le<std::uint64_t>(at + 8)};
  record.sequence = Sequence{load_le<std::uint64_t>(at + 16)};
  record.offset = load_le<std::uint64_t>(at + 24);
  record.shard = ShardId{load_le<std::uint16_t>(at + 32)};
  return Sizes{load_le<std::uint32_t>(at + 36), load_le<std::uint32_t>(at + 40),
               load_le<std::uint32_t>(at + 44)};
}

/// The record at `offset`; nothing if there is no whole one.
Result<std::optional<QuarantineRecord>> record_at(SegmentScanner& scanner, std::uint64_t offset) {
  auto header = scanner.bytes(offset, QuarantineRecord::kHeaderBytes);
  if (!header.is_ok()) return header.status();
  QuarantineRecord record;
  const auto sizes = decode_header(*header, record);
  if (!sizes) return std::optional<QuarantineRecord>();
  const std::uint64_t checksum = load_le<std::uint64_t>(header->data() + 56);
  const std::uint64_t begin = offset + QuarantineRecord::kHeaderBytes;
  if (begin + sizes->payload() > scanner.end()) return std::optional<QuarantineRecord>();
  auto payload = scanner.bytes(begin, static_cast<std::size_t>(sizes->payload()));
  if (!payload.is_ok()) return payload.status();
  if (payload->size() < sizes->payload() || xxh3_64(*payload) != checksum) {
    return std::optional<QuarantineRecord>();
  }
  record.queue_name = payload->substr(0, sizes->name);
  record.file = payload->substr(sizes->name, sizes->file);
  record.bytes = payload->substr(std::size_t{sizes->name} + sizes->file);
  return std::optional<QuarantineRecord>(std::move(record));
}

/// The next place at or behind `offset` that may be a record; the scanner's end if there is none.
Result<std::uint64_t> next_magic(SegmentScanner& scanner, std::uint64_t offset) {
  constexpr std::size_t kStep = 64u << 10;
  while (offset < scanner.end()) {
    auto bytes = scanner.bytes(offset, kStep);
    if (!bytes.is_ok()) return bytes.status();
    if (bytes->size() < kMagic.size()) break;
    const std::size_t found = bytes->find(kMagic);
    if (found != std::string_view::npos) return offset + found;
    offset += bytes->size() - (kMagic.size() - 1);
  }
  return scanner.end();
}

}  // namespace

void QuarantineRecord::append_to(std::string& to) const {
  const std::size_t begin = to.size();
  to += kMagic;
  append_le<std::uint32_t>(to, kVersion);
  append_le<std::uint64_t>(to, queue.value);
  append_le<std::uint64_t>(to, sequence.value);
  append_le<std::uint64_t>(to, offset);
  append_le<std::uint16_t>(to, shard.value);
  append_le<std::uint16_t>(to, 0);
  append_le<std::uint32_t>(to, static_cast<std::uint32_t>(queue_name.size()));
  append_le<std::uint32_t>(to, static_cast<std::uint32_t>(file.size()));
  append_le<std::uint32_t>(to, static_cast<std::uint32_t>(bytes.size()));
  append_le<std::uint64_t>(to, 0);
  append_le<std::uint64_t>(to, 0);  // the payload's checksum, below
  append_le<std::uint64_t>(to, 0);  // the header's
  to += queue_name;
  to += file;
  to += bytes;
  char* const header = to.data() + begin;
  store_le<std::uint64_t>(header + 56, xxh3_64(std::string_view(to).substr(begin + kHeaderBytes)));
  store_le<std::uint64_t>(header + 64, xxh3_64({header, 64}));
}

Result<QuarantineScan> scan_quarantine(FileSystem& files, const std::string& path,
                                       const std::function<void(const QuarantineRecord&)>& found) {
  QuarantineScan scan;
  if (!files.exists(path)) return scan;
  auto file = files.open(path, OpenMode::kRead);
  if (!file.is_ok()) return file.status();
  auto size = (*file)->size();
  if (!size.is_ok()) return size.status();
  scan.file_bytes = *size;
  SegmentScanner scanner(**file, *size);
  for (std::uint64_t offset = 0; offset < *size;) {
    auto record = record_at(scanner, offset);
    if (!record.is_ok()) return record.status();
    if (record->has_value()) {
      ++scan.records;
      found(**record);
      offset += (*record)->record_bytes();
      continue;
    }
    auto next = next_magic(scanner, offset + 1);
    if (!next.is_ok()) return next.status();
    if (scan.lost_bytes == 0) scan.lost_at = offset;
    scan.lost_bytes += *next - offset;
    offset = *next;
  }
  return scan;
}

}  // namespace segue::storage
