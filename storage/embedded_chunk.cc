#include "storage/embedded_chunk.h"

namespace segue::storage {

std::vector<EmbeddedChunk> chunks_of(const std::vector<MessageRun>& runs,
                                     std::vector<Sequence>& damaged) {
  std::vector<EmbeddedChunk> chunks;
  const char* end = nullptr;  // of the chunk's bytes
  for (const MessageRun& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const std::uint32_t message = run.begin + i;
      const std::string_view body = run.batch->body(message);
      EmbeddedBlock block;
      if (!decode_block(run.first.value + i, run.batch->header(message), body, block)) {
        damaged.push_back(run.first.next(i));
        continue;
      }
      if (chunks.empty() || end != body.data() ||
          chunks.back().bytes.owner() != run.batch->bodies().owner()) {
        chunks.push_back({run.batch->body_run(message, 1), {}, true});
      } else {
        SharedBytes& bytes = chunks.back().bytes;
        bytes = SharedBytes(bytes.owner(), bytes.data(), bytes.size() + body.size());
      }
      end = body.data() + body.size();
      chunks.back().blocks.push_back(block);
    }
  }
  return chunks;
}

}  // namespace segue::storage
