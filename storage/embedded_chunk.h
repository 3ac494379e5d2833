#pragma once

#include <cstdint>
#include <vector>

#include "common/bytes.h"
#include "common/check.h"
#include "common/message_batch.h"
#include "storage/embedded_record.h"

namespace segue::storage {

/// Blocks of an embedded queue in memory, back to back, in order.
struct EmbeddedChunk {
  SharedBytes bytes;
  std::vector<EmbeddedBlock> blocks;
  bool stored = false;  // the engine has them in its files, or they are settled

  std::uint64_t first() const { return blocks.front().first; }
  std::uint64_t end() const { return blocks.back().end(); }
};

/// The chunk's blocks that `wanted(block)` chooses, as messages for the engine.
template <typename Wanted>
std::vector<MessageRun> runs_of(const EmbeddedChunk& chunk, Wanted wanted) {
  std::vector<MessageRun> runs;
  MessageBatchBuilder builder;
  std::vector<std::uint64_t> firsts;
  std::size_t offset = 0;
  for (const EmbeddedBlock& block : chunk.blocks) {
    if (wanted(block)) {
      builder.add(encode_count(block.count), chunk.bytes.slice(offset, block.bytes));
      firsts.push_back(block.first);
    }
    offset += block.bytes;
  }
  if (firsts.empty()) return runs;
  auto built = builder.take();
  SharedBytes bodies;
  if (built.bodies.size() == 1) {
    bodies = std::move(built.bodies.front());
  } else {
    std::string joined;
    joined.reserve(built.body_bytes);
    for (const SharedBytes& part : built.bodies) joined.append(part.view());
    bodies = SharedBytes::from(std::move(joined));
  }
  auto batch = MessageBatch::parse(SharedBytes::from(std::move(built.batch)), std::move(bodies));
  SEGUE_CHECK(batch.is_ok());
  runs.reserve(firsts.size());
  for (std::uint32_t i = 0; i < firsts.size(); ++i) {
    runs.push_back({Sequence{firsts[i]}, *batch, i, 1});
  }
  return runs;
}

/// What the engine loaded, as chunks. Blocks whose frames are damaged are left out, and named.
std::vector<EmbeddedChunk> chunks_of(const std::vector<MessageRun>& runs,
                                     std::vector<Sequence>& damaged);

}  // namespace segue::storage
