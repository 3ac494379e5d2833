#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace segue::storage {

// The WAL's bytes. All numbers are little-endian; docs/storage-format.md tells the rules of
// reading.
//
//   <number>.wal, 16 decimal digits:  [file header, 1 block][group][group]...   to the end of the
//   file <anything>.spare:                 content without meaning, kept to be recycled
//
//   file header            group (starts at a block)       record
//    0  u64 magic           0  u32 magic                    0  u32 magic
//    8  u32 version         4  u32 records                  4  u16 shard
//   12  u32 blocks          8  u64 sequence                 6  u16 type (1: command)
//   16  u64 file number    16  u64 synced                   8  u32 command bytes
//   24  u64 node hash      24  u64 first                   12  u32 body bytes
//   32  u64 salt           32  u64 bytes                   16  u64 epoch
//   40  u64 checksum       40  u64 checksum                24  u64 index
//                          48  records, back to back       32  u64 group sequence
//                              zeros up to the next block  40  u64 checksum of command and bodies
//                                                          48  u64 checksum
//                                                          56  command, bodies
//
// A header's `checksum` is XXH3-64 of the bytes of the header before it, for groups and records
// seeded with the file's seed, so that nothing that was written to another file, or to this one
// before it was recycled, or as a message's body, can pass.

inline constexpr std::uint64_t kWalBlock =
    4096;  // what O_DIRECT wants; a group starts at a multiple
inline constexpr std::uint32_t kWalVersion = 1;
/// A group is not made larger than this (1 MiB measured fastest), but for a single larger record.
inline constexpr std::uint64_t kWalGroupBytes = 1u << 20;
/// Largest record, command and bodies.
inline constexpr std::uint64_t kWalMaxPayload = 1u << 30;

inline constexpr std::uint64_t wal_round_up(std::uint64_t bytes) {
  return (bytes + kWalBlock - 1) / kWalBlock * kWalBlock;
}

struct WalFileHeader {
  static constexpr std::size_t kBytes = 48;

  std::uint64_t number = 0;
  std::uint64_t node_hash = 0;
  std::uint64_t salt = 0;  // random, new each time the file is recycled
  /// What the file was made with, in units of kWalBlock: it is never shorter. 0: not known.
  std::uint32_t blocks = 0;

  void encode(char* to) const;
  /// CORRUPTION if the checksum is wrong; INVALID_CONFIG for a version that this program does not
  /// know.
  static Result<WalFileHeader> decode(const char* from, const std::string& path);
  /// What the checksums of the file's groups and records are seeded with.
  std::uint64_t seed() const;
};

struct WalGroupHeader {
  static constexpr std::size_t kBytes = 48;

  std::uint32_t records = 0;
  std::uint64_t sequence = 0;  // goes up by one from group to group, through all files
  std::uint64_t synced = 0;    // every group up to this one was synced before this one was written
  std::uint64_t first = 0;     // the sequence of the file's first group
  std::uint64_t bytes = 0;     // header and records, without the zeros behind

  void encode(char* to, std::uint64_t seed) const;
  /// Nothing if these bytes are not a group's header of the file with this seed.
  static std::optional<WalGroupHeader> decode(const char* from, std::uint64_t seed);
};

struct WalRecordHeader {
  static constexpr std::size_t kBytes = 56;
  static constexpr std::uint16_t kCommand = 1;

  std::uint16_t shard = 0;
  std::uint16_t type = kCommand;
  std::uint32_t command_bytes = 0;
  std::uint32_t body_bytes = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::uint64_t group = 0;
  std::uint64_t payload_checksum = 0;

  std::uint64_t payload_bytes() const { return std::uint64_t{command_bytes} + body_bytes; }
  void encode(char* to, std::uint64_t seed) const;
  static std::optional<WalRecordHeader> decode(const char* from, std::uint64_t seed);
};

/// "0000000000000042.wal"
std::string wal_file_name(std::uint64_t number);
/// The number in such a name; nothing for any other name.
std::optional<std::uint64_t> parse_wal_file_name(std::string_view name);
bool is_wal_spare_name(std::string_view name);
/// The number that a spare was given by wal_spare_name().
std::optional<std::uint64_t> parse_wal_spare_name(std::string_view name);
std::string wal_spare_name(std::uint64_t number);

}  // namespace segue::storage
