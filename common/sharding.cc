#include "common/sharding.h"

#include "common/check.h"
#include "common/checksum.h"

namespace segue {
namespace {

void append_u32le(std::string& to, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(number >> shift & 0xFF);
}

std::uint64_t weight(const std::string& node_id, std::uint32_t shard) {
  std::string key = node_id;
  append_u32le(key, shard);
  return xxh3_64(key);
}

}  // namespace

ShardId shard_of(std::string_view vhost, std::string_view queue_name, std::uint16_t shard_count) {
  SEGUE_CHECK(shard_count > 0);
  std::string key;
  key.reserve(sizeof(std::uint32_t) + vhost.size() + queue_name.size());
  append_u32le(key, static_cast<std::uint32_t>(vhost.size()));
  key += vhost;
  key += queue_name;
  return ShardId(static_cast<std::uint16_t>(xxh3_64(key) % shard_count));
}

std::vector<std::string> place_shards(std::uint16_t shard_count,
                                      const std::vector<std::string>& node_ids) {
  SEGUE_CHECK(!node_ids.empty());
  std::vector<std::string> owners(shard_count);
  for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
    std::uint64_t highest = 0;
    for (const std::string& node_id : node_ids) {
      const std::uint64_t own = weight(node_id, shard);
      std::string& owner = owners[shard];
      // Equal weights are all but impossible; the smaller id wins, so that order never matters.
      if (owner.empty() || own > highest || (own == highest && node_id < owner)) {
        owner = node_id;
        highest = own;
      }
    }
  }
  return owners;
}

}  // namespace segue
