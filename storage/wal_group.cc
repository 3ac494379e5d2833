#include "storage/wal_group.h"

#include <algorithm>
#include <cstring>

#include "common/checksum.h"

namespace segue::storage {

namespace {

/// Memory kept between groups; more, for a large record, is given back.
constexpr std::uint64_t kKeptBytes = 2 * kWalGroupBytes;

char* put(char* to, std::string_view bytes) {
  // An empty view may have no address, which memcpy does not allow.
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

}  // namespace

void WalGroup::begin(const WalGroupHeader& header, std::uint64_t seed) {
  buffer_.reserve(kWalGroupBytes, 0);
  header_ = header;
  header_.records = 0;
  seed_ = seed;
  bytes_ = WalGroupHeader::kBytes;
}

void WalGroup::add(const LogRecord& record) {
  const std::uint64_t size = wal_record_bytes(record);
  buffer_.reserve(bytes_ + size, bytes_);
  char* const at = buffer_.data() + bytes_;
  char* const payload = at + WalRecordHeader::kBytes;
  char* end = put(payload, record.command);
  for (const SharedBytes& body : record.bodies) end = put(end, body.view());

  const std::string_view written(payload, static_cast<std::size_t>(end - payload));
  WalRecordHeader header;
  header.shard = record.shard.value;
  header.command_bytes = static_cast<std::uint32_t>(record.command.size());
  header.body_bytes = static_cast<std::uint32_t>(written.size() - record.command.size());
  header.epoch = record.epoch.value;
  header.index = record.index.value;
  header.group = header_.sequence;
  header.payload_checksum = xxh3_64(written);
  header.encode(at, seed_);
  bytes_ += size;
  ++header_.records;
}

std::string_view WalGroup::finish() {
  const std::uint64_t padded = wal_round_up(bytes_);
  buffer_.reserve(padded, bytes_);
  std::memset(buffer_.data() + bytes_, 0, padded - bytes_);
  header_.bytes = bytes_;
  header_.encode(buffer_.data(), seed_);
  return {buffer_.data(), padded};
}

void WalGroup::close() {
  bytes_ = 0;
  if (buffer_.size() > kKeptBytes) buffer_ = AlignedBuffer();
}

}  // namespace segue::storage
