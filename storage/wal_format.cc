#include "storage/wal_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "common/bytes.h"
#include "common/checksum.h"

namespace segue::storage {

namespace {

constexpr std::uint64_t kFileMagic = 0x4c41574555474553ull;  // "SEGUEWAL"
constexpr std::uint32_t kGroupMagic = 0x50475753u;           // "SWGP"
constexpr std::uint32_t kRecordMagic = 0x43525753u;          // "SWRC"
constexpr std::string_view kFileSuffix = ".wal";
constexpr std::string_view kSpareSuffix = ".spare";

std::uint64_t checksum_of(const char* header, std::size_t header_bytes, std::uint64_t seed) {
  return xxh3_64({header, header_bytes - sizeof(std::uint64_t)}, seed);
}

void seal(char* header, std::size_t header_bytes, std::uint64_t seed) {
  store_le(header + header_bytes - sizeof(std::uint64_t), checksum_of(header, header_bytes, seed));
}

bool is_sealed(const char* header, std::size_t header_bytes, std::uint64_t seed) {
  return load_le<std::uint64_t>(header + header_bytes - sizeof(std::uint64_t)) ==
         checksum_of(header, header_bytes, seed);
}

std::string numbered(std::uint64_t number, std::string_view suffix) {
  std::array<char, 24> digits;
  std::snprintf(digits.data(), digits.size(), "%016llu", static_cast<unsigned long long>(number));
  return digits.data() + std::string(suffix);
}

}  // namespace

void WalFileHeader::encode(char* to) const {
  store_le(to, kFileMagic);
  store_le(to + 8, kWalVersion);
  store_le(to + 12, blocks);
  store_le(to + 16, number);
  store_le(to + 24, node_hash);
  store_le(to + 32, salt);
  seal(to, kBytes, 0);
}

Result<WalFileHeader> WalFileHeader::decode(const char* from, const std::string& path) {
  if (load_le<std::uint64_t>(from) != kFileMagic || !is_sealed(from, kBytes, 0)) {
    return Status(Code::kCorruption, path + ": offset 0: the file header is damaged");
  }
  const auto version = load_le<std::uint32_t>(from + 8);
  if (version != kWalVersion) {
    return Status(Code::kInvalidConfig,
                  path + ": has WAL format version " + std::to_string(version) +
                      ", this program knows version " + std::to_string(kWalVersion) +
                      ": start it with the Segue that wrote it");
  }
  return WalFileHeader{load_le<std::uint64_t>(from + 16), load_le<std::uint64_t>(from + 24),
                       load_le<std::uint64_t>(from + 32), load_le<std::uint32_t>(from + 12)};
}

std::uint64_t WalFileHeader::seed() const {
  char raw[kBytes];
  encode(raw);
  return xxh3_64({raw, kBytes}, salt);
}

void WalGroupHeader::encode(char* to, std::uint64_t seed) const {
  store_le(to, kGroupMagic);
  store_le(to + 4, records);
  store_le(to + 8, sequence);
  store_le(to + 16, synced);
  store_le(to + 24, first);
  store_le(to + 32, bytes);
  seal(to, kBytes, seed);
}

std::optional<WalGroupHeader> WalGroupHeader::decode(const char* from, std::uint64_t seed) {
  if (load_le<std::uint32_t>(from) != kGroupMagic || !is_sealed(from, kBytes, seed))
    return std::nullopt;
  return WalGroupHeader{load_le<std::uint32_t>(from + 4), load_le<std::uint64_t>(from + 8),
                        load_le<std::uint64_t>(from + 16), load_le<std::uint64_t>(from + 24),
                        load_le<std::uint64_t>(from + 32)};
}

void WalRecordHeader::encode(char* to, std::uint64_t seed) const {
  store_le(to, kRecordMagic);
  store_le(to + 4, shard);
  store_le(to + 6, type);
  store_le(to + 8, command_bytes);
  store_le(to + 12, body_bytes);
  store_le(to + 16, epoch);
  store_le(to + 24, index);
  store_le(to + 32, group);
  store_le(to + 40, payload_checksum);
  seal(to, kBytes, seed);
}

std::optional<WalRecordHeader> WalRecordHeader::decode(const char* from, std::uint64_t seed) {
  if (load_le<std::uint32_t>(from) != kRecordMagic || !is_sealed(from, kBytes, seed))
    return std::nullopt;
  return WalRecordHeader{load_le<std::uint16_t>(from + 4),  load_le<std::uint16_t>(from + 6),
                         load_le<std::uint32_t>(from + 8),  load_le<std::uint32_t>(from + 12),
                         load_le<std::uint64_t>(from + 16), load_le<std::uint64_t>(from + 24),
                         load_le<std::uint64_t>(from + 32), load_le<std::uint64_t>(from + 40)};
}

std::string wal_file_name(std::uint64_t number) {
  return numbered(number, kFileSuffix);
}

std::string wal_spare_name(std::uint64_t number) {
  return numbered(number, kSpareSuffix);
}

std::optional<std::uint64_t> parse_wal_file_name(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || wal_file_name(number) != name) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> parse_wal_spare_name(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || wal_spare_name(number) != name) return std::nullopt;
  return number;
}

bool is_wal_spare_name(std::string_view name) {
  return name.ends_with(kSpareSuffix);
}

}  // namespace segue::storage
