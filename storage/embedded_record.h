#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/range_set.h"
#include "common/status.h"

namespace segue::storage {

/// Messages of an embedded queue that the engine keeps as one message: its sequence is the first
/// one's number, its header the count. Framed back to back: a u32 length and the bytes each.
struct EmbeddedBlock {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t bytes = 0;

  std::uint64_t end() const { return first + count; }
};

/// Messages were offered; the blocks' bytes are the record's bodies. Numbers rise from block to
/// block without holes.
struct OfferRecord {
  std::vector<EmbeddedBlock> blocks;
};

/// Messages were settled. `blocks`: those of whose blocks now all messages are settled; any block
/// that begins in one of these ranges.
struct SettleRecord {
  std::vector<NumberRange> messages;
  std::vector<NumberRange> blocks;
};

/// The queue at a checkpoint, but for what its segments hold.
struct EmbeddedState {
  std::uint64_t head = 1;            // every message below is settled
  std::uint64_t next = 1;            // the number of the message offered next
  std::vector<NumberRange> settled;  // above head
};

std::string encode(const OfferRecord& record);
std::string encode(const SettleRecord& record);
std::string encode(const EmbeddedState& state);

/// What a log record is; kCorruption for anything but a record of an embedded queue.
struct EmbeddedRecord {
  enum class Kind { kOffer, kSettle };
  Kind kind = Kind::kOffer;
  OfferRecord offer;
  SettleRecord settle;
};
/// `body_bytes`: of the record's bodies, which the blocks must add up to.
Result<EmbeddedRecord> decode_record(std::string_view bytes, std::uint64_t body_bytes);
Result<EmbeddedState> decode_state(std::string_view bytes);

/// A block's engine header.
std::string encode_count(std::uint32_t count);
/// The block that the engine kept, if its header and its frames say the same; nothing otherwise.
bool decode_block(std::uint64_t first, std::string_view header, std::string_view body,
                  EmbeddedBlock& block);

}  // namespace segue::storage
