#include "storage/embedded_record.h"

#include "common/bytes.h"

namespace segue::storage {

namespace {

// Numbers are little-endian.
//
//   offer    u8 1  u32 blocks  u64 first number  (u32 messages  u32 bytes)*
//   settle   u8 2  u32 ranges of messages  u32 ranges of blocks  (u64 first  u64 last)*
//   state    u8 3  u32 ranges  u64 head  u64 next  (u64 first  u64 last)*
constexpr char kOffer = 1;
constexpr char kSettle = 2;
constexpr char kState = 3;
constexpr std::size_t kFrameBytes = 4;

Status damaged(const char* what) {
  return Status(Code::kCorruption, std::string("not a record of an embedded queue: ") + what);
}

void append_ranges(std::string& to, const std::vector<NumberRange>& ranges) {
  for (const NumberRange& range : ranges) {
    append_le(to, range.first);
    append_le(to, range.last);
  }
}

/// Takes numbers off the front. What is not there reads as 0, and then failed() is true.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  Number take() {
    if (bytes_.size() < sizeof(Number)) {
      failed_ = true;
      return 0;
    }
    const auto number = load_le<Number>(bytes_.data());
    bytes_.remove_prefix(sizeof(Number));
    return number;
  }
  std::vector<NumberRange> ranges(std::uint32_t count) {
    std::vector<NumberRange> ranges;
    if (bytes_.size() / (2 * sizeof(std::uint64_t)) < count) failed_ = true;
    for (std::uint32_t i = 0; i < count && !failed_; ++i) {
      NumberRange range;
      range.first = take<std::uint64_t>();
      range.last = take<std::uint64_t>();
      if (range.last < range.first || range.last == ~0ull) failed_ = true;
      ranges.push_back(range);
    }
    return ranges;
  }
  std::size_t left() const { return bytes_.size(); }
  bool is_whole() const { return !failed_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

Result<EmbeddedRecord> decode_offer(Reader reader, std::uint64_t body_bytes) {
  EmbeddedRecord record;
  record.kind = EmbeddedRecord::Kind::kOffer;
  const auto count = reader.take<std::uint32_t>();
  auto number = reader.take<std::uint64_t>();
  if (count == 0 || reader.left() != std::uint64_t{count} * 2 * sizeof(std::uint32_t)) {
    return damaged("the number of blocks is wrong");
  }
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    EmbeddedBlock block{number, reader.take<std::uint32_t>(), reader.take<std::uint32_t>()};
    if (block.count == 0 || block.end() <= number || block.bytes < kFrameBytes * block.count) {
      return damaged("a block is empty");
    }
    number = block.end();
    bytes += block.bytes;
    record.offer.blocks.push_back(block);
  }
  if (bytes != body_bytes) return damaged("the blocks do not add up to the record's bodies");
  return record;
}

}  // namespace

std::string encode(const OfferRecord& record) {
  std::string to(1, kOffer);
  to.reserve(13 + 8 * record.blocks.size());
  append_le(to, static_cast<std::uint32_t>(record.blocks.size()));
  append_le(to, record.blocks.front().first);
  for (const EmbeddedBlock& block : record.blocks) {
    append_le(to, block.count);
    append_le(to, block.bytes);
  }
  return to;
}

std::string encode(const SettleRecord& record) {
  std::string to(1, kSettle);
  append_le(to, static_cast<std::uint32_t>(record.messages.size()));
  append_le(to, static_cast<std::uint32_t>(record.blocks.size()));
  append_ranges(to, record.messages);
  append_ranges(to, record.blocks);
  return to;
}

std::string encode(const EmbeddedState& state) {
  std::string to(1, kState);
  append_le(to, static_cast<std::uint32_t>(state.settled.size()));
  append_le(to, state.head);
  append_le(to, state.next);
  append_ranges(to, state.settled);
  return to;
}

Result<EmbeddedRecord> decode_record(std::string_view bytes, std::uint64_t body_bytes) {
  if (bytes.empty()) return damaged("it is empty");
  Reader reader(bytes.substr(1));
  if (bytes[0] == kOffer) return decode_offer(reader, body_bytes);
  if (bytes[0] != kSettle) return damaged("of an unknown kind; a newer version may have made it");
  EmbeddedRecord record;
  record.kind = EmbeddedRecord::Kind::kSettle;
  const auto messages = reader.take<std::uint32_t>();
  const auto blocks = reader.take<std::uint32_t>();
  record.settle.messages = reader.ranges(messages);
  record.settle.blocks = reader.ranges(blocks);
  if (!reader.is_whole()) return damaged("a list of ranges is wrong");
  return record;
}

Result<EmbeddedState> decode_state(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != kState) return damaged("the checkpoint's state is another's");
  Reader reader(bytes.substr(1));
  EmbeddedState state;
  const auto ranges = reader.take<std::uint32_t>();
  state.head = reader.take<std::uint64_t>();
  state.next = reader.take<std::uint64_t>();
  state.settled = reader.ranges(ranges);
  if (!reader.is_whole() || state.head == 0 || state.next < state.head) {
    return damaged("the checkpoint's state is damaged");
  }
  return state;
}

std::string encode_count(std::uint32_t count) {
  std::string header;
  append_le(header, count);
  return header;
}

bool decode_block(std::uint64_t first, std::string_view header, std::string_view body,
                  EmbeddedBlock& block) {
  if (header.size() != sizeof(std::uint32_t)) return false;
  block = {first, load_le<std::uint32_t>(header.data()), static_cast<std::uint32_t>(body.size())};
  std::uint32_t left = block.count;
  while (body.size() >= kFrameBytes && left > 0) {
    const std::uint64_t frame = kFrameBytes + std::uint64_t{load_le<std::uint32_t>(body.data())};
    if (frame > body.size()) return false;
    body.remove_prefix(frame);
    --left;
  }
  return left == 0 && body.empty() && block.count > 0;
}

}  // namespace segue::storage
