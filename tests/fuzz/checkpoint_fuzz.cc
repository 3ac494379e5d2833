// Any bytes as a checkpoint: read or refused, never a crash; what is read is written as the same
// bytes again. With an odd first byte the checksums are made right, which leads to the list behind
// them.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/bytes.h"
#include "common/check.h"
#include "common/checksum.h"
#include "storage/checkpoint_file.h"

namespace {

constexpr std::size_t kHeaderBytes = 64;

// The header drawn in docs/storage-format.md, for a list and no state behind it.
std::string with_right_checksums(std::string file) {
  if (file.size() < kHeaderBytes) file.resize(kHeaderBytes);
  const segue::storage::Checkpoint empty;
  const std::string model = empty.encode_head();
  std::memcpy(file.data(), model.data(), 16);  // magic, version, shard
  const std::string_view list = std::string_view(file).substr(kHeaderBytes);
  segue::store_le(file.data() + 24, std::uint64_t{list.size()});
  segue::store_le(file.data() + 32, std::uint64_t{0});
  segue::store_le(file.data() + 40, segue::xxh3_64(list));
  segue::store_le(file.data() + 48, segue::xxh3_64(""));
  segue::store_le(file.data() + 56, segue::xxh3_64({file.data(), 56}));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  if (bytes[0] % 2 == 1) file = with_right_checksums(std::move(file));
  const auto checkpoint = segue::storage::Checkpoint::decode(file);
  if (!checkpoint.is_ok()) {
    SEGUE_CHECK(!checkpoint.status().message().empty());
    return 0;
  }
  const auto again = segue::storage::Checkpoint::decode(checkpoint.value().encode_head() +
                                                        checkpoint.value().state);
  SEGUE_CHECK(again.is_ok());
  SEGUE_CHECK(again.value() == checkpoint.value());
  return 0;
}
