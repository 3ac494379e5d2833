// Any bytes as a WAL file: recovery gives records or an error, never a crash, and gives the same
// twice. An input is an even byte and the file's bytes behind its header; or an odd byte and a row
// of groups whose checksums are right and whose numbers are the input's, which leads past the
// checks that random bytes fail.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/check.h"
#include "common/checksum.h"
#include "storage/wal_format.h"
#include "storage/wal_recovery.h"
#include "tests/fakes/faulty_file_system.h"

namespace {

using namespace segue::storage;
using segue::LogIndex;
using segue::ShardId;

constexpr std::size_t kMostBytes = 256 << 10;

class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return first;
  }
  // Mostly 0, sometimes a little more or less, seldom anything.
  std::uint64_t delta() {
    const std::uint8_t kind = byte();
    if (kind < 200) return 0;
    if (kind < 250) return static_cast<std::uint64_t>(std::int64_t{byte()} - 128);
    std::uint64_t any = 0;
    for (int i = 0; i < 8; ++i) any = any << 8 | byte();
    return any;
  }

 private:
  std::string_view rest_;
};

std::string record(Input& input, std::uint64_t seed, std::uint64_t group, std::uint64_t& index) {
  const std::string payload(input.byte(), static_cast<char>(input.byte()));
  WalRecordHeader header;
  header.shard = static_cast<std::uint16_t>(input.byte() % 3);
  header.type = static_cast<std::uint16_t>(1 + input.delta());
  header.command_bytes = static_cast<std::uint32_t>(payload.size() + input.delta());
  header.body_bytes = static_cast<std::uint32_t>(input.delta());
  header.epoch = 1 + input.delta();
  header.index = ++index + input.delta();
  header.group = group + input.delta();
  header.payload_checksum = segue::xxh3_64(payload, seed) + input.delta();
  std::string bytes(WalRecordHeader::kBytes, '\0');
  header.encode(bytes.data(), seed);
  return bytes + payload;
}

std::string groups(Input& input, std::uint64_t seed) {
  std::string file;
  std::uint64_t sequence = 0;
  std::uint64_t index = 0;
  while (!input.empty() && file.size() < kMostBytes) {
    WalGroupHeader group;
    group.sequence = ++sequence + input.delta();
    group.synced = sequence - 1 + input.delta();
    group.first = 1 + input.delta();
    std::string records;
    const int count = input.byte() % 4;
    for (int i = 0; i < count; ++i) records += record(input, seed, group.sequence, index);
    group.records = static_cast<std::uint32_t>(static_cast<std::uint64_t>(count) + input.delta());
    group.bytes = WalGroupHeader::kBytes + records.size() + input.delta();
    std::string bytes(WalGroupHeader::kBytes, '\0');
    group.encode(bytes.data(), seed);
    file += bytes + records;
    file.resize(wal_round_up(file.size()));
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  std::string_view rest(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  WalRecoveryOptions options;
  options.directory = "/wal";
  options.node_hash = wal_node_hash("cluster", "n1");
  options.applied[ShardId{0}] = LogIndex{0};
  WalFileHeader header{1, options.node_hash, 7};
  std::string file(kWalBlock, '\0');
  header.encode(file.data());
  if (bytes[0] % 2 == 0) {
    file += rest;
  } else {
    Input input(rest);
    file += groups(input, header.seed());
  }
  FaultyFileSystem files;
  files.set_content("/wal/" + wal_file_name(1), file);
  std::uint64_t records[2] = {0, 0};
  std::string said[2];
  for (int turn = 0; turn < 2; ++turn) {
    const auto recovered = recover_wal(files, options, [&](const ReplayedRecord& record) {
      SEGUE_CHECK(record.command.size() + record.bodies.size() <= file.size());
      ++records[turn];
      return segue::Status::ok();
    });
    said[turn] = recovered.status().to_string();
  }
  SEGUE_CHECK(records[0] == records[1] && said[0] == said[1]);
  SEGUE_CHECK(files.content("/wal/" + wal_file_name(1)) == file);
  return 0;
}
