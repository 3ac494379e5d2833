#include "common/export_stream.h"

#include <algorithm>
#include <utility>

#include "common/bytes.h"
#include "common/checksum.h"
#include "common/counted.h"
#include "segue/v1/types.pb.h"

namespace segue {

namespace {

constexpr std::string_view kMagic = "SGEXPORT";
constexpr std::string_view kBlockMagic = "SGXB";
constexpr std::string_view kEndMagic = "SGXE";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHead = 48;
constexpr std::size_t kChecksumAt = 40;
constexpr std::uint32_t kMostName = 1024;
/// Of one block; a writer's have about a megabyte, or one message.
constexpr std::uint64_t kMostBatch = 256ull << 20;
constexpr std::uint64_t kMostBodies = 2ull << 30;

/// Appends the checksum of what was appended since `begin`.
void append_checksum(std::string& to, std::size_t begin, std::uint64_t seed) {
  append_le(to, xxh3_64(std::string_view(to).substr(begin), seed));
}

std::uint64_t number_at(std::string_view head, std::size_t at) {
  return load_le<std::uint64_t>(head.data() + at);
}
std::uint32_t small_at(std::string_view head, std::size_t at) {
  return load_le<std::uint32_t>(head.data() + at);
}
bool is_whole(std::string_view head, std::uint64_t seed) {
  return number_at(head, kChecksumAt) == xxh3_64(head.substr(0, kChecksumAt), seed);
}

bool headers_are_readable(const MessageBatch& messages) {
  v1::MessageHeader header;
  for (const std::string_view bytes : messages.distinct_headers()) {
    if (!header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  }
  return true;
}

}  // namespace

// ---- writing

std::string ExportWriter::header(const ExportHeader& header) {
  const std::string_view name =
      std::string_view(header.queue)
          .substr(0, std::min<std::size_t>(header.queue.size(), kMostName));
  std::string out(kMagic);
  append_le(out, kVersion);
  append_le(out, static_cast<std::uint32_t>(name.size()));
  append_le(out, static_cast<std::uint64_t>(header.taken_ms));
  append_le(out, header.salt);
  append_le(out, xxh3_64(name, header.salt));
  append_checksum(out, 0, 0);
  seed_ = number_at(out, kChecksumAt);
  out += name;
  return out;
}

std::string ExportWriter::block(const MessageBatchBuilder::Built& messages) {
  StreamingChecksum content;
  std::string out;
  out.reserve(kHead + messages.batch.size() + messages.body_bytes);
  out += kBlockMagic;
  append_le(out, messages.count);
  append_le(out, static_cast<std::uint32_t>(messages.batch.size()));
  append_le(out, std::uint32_t{0});
  append_le(out, messages.body_bytes);
  append_le(out, totals_.blocks);
  content.update(messages.batch);
  for (const SharedBytes& body : messages.bodies) content.update(body.view());
  append_le(out, content.digest());
  append_checksum(out, 0, seed_);
  out += messages.batch;
  for (const SharedBytes& body : messages.bodies) out += body.view();
  ++totals_.blocks;
  totals_.messages += messages.count;
  totals_.body_bytes += messages.body_bytes;
  return out;
}

std::string ExportWriter::end(std::uint64_t left_out) {
  totals_.left_out = left_out;
  std::string out(kEndMagic);
  append_le(out, std::uint32_t{0});
  append_le(out, totals_.blocks);
  append_le(out, totals_.messages);
  append_le(out, totals_.body_bytes);
  append_le(out, totals_.left_out);
  append_checksum(out, 0, seed_);
  return out;
}

// ---- reading

void ExportParser::add(std::string_view bytes) {
  if (begin_ > 0 && begin_ >= buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += bytes;
}

void ExportParser::take(std::size_t bytes) {
  begin_ += bytes;
  offset_ += bytes;
}

Status ExportParser::damaged(const std::string& what) const {
  return Status(Code::kCorruption, "is damaged at offset " + std::to_string(offset_) + ": " + what);
}

Result<ExportParser::Event> ExportParser::need_more(const char* what) const {
  if (!finished_) return Event{};
  return Status(Code::kCorruption, "is cut short: it ends at offset " +
                                       std::to_string(offset_ + buffer_.size() - begin_) + ", " +
                                       what);
}

Result<ExportParser::Event> ExportParser::next() {
  if (!failed_.is_ok()) return failed_;
  auto event = step();
  if (!event.is_ok()) failed_ = event.status();
  return event;
}

Result<ExportParser::Event> ExportParser::step() {
  switch (state_) {
    case State::kHeader:
      return read_header();
    case State::kBlocks:
      return read_block();
    case State::kEnded:
      break;
  }
  if (has(1)) return damaged("there are bytes behind its end");
  return Event{};
}

Result<ExportParser::Event> ExportParser::read_header() {
  const std::string_view begin = front(std::min(kMagic.size(), buffer_.size() - begin_));
  if (begin != kMagic.substr(0, begin.size()) || (finished_ && begin.size() < kMagic.size())) {
    return Status(Code::kInvalidConfig, "is no stream that `segue export` has written");
  }
  if (!has(kHead)) return need_more("in its header");
  const std::string_view head = front(kHead);
  const std::uint32_t version = small_at(head, 8);
  if (version > kVersion) {
    return Status(Code::kInvalidConfig, "has format version " + std::to_string(version) +
                                            ", this program reads version " +
                                            std::to_string(kVersion));
  }
  const std::uint32_t name_bytes = small_at(head, 12);
  if (version == 0 || !is_whole(head, 0) || name_bytes > kMostName) {
    return damaged("its header fails its checksum");
  }
  if (!has(kHead + name_bytes)) return need_more("in its header");
  header_.taken_ms = static_cast<std::int64_t>(number_at(head, 16));
  header_.salt = number_at(head, 24);
  header_.queue = front(kHead + name_bytes).substr(kHead);
  if (number_at(head, 32) != xxh3_64(header_.queue, header_.salt)) {
    return damaged("the queue's name fails its checksum");
  }
  seed_ = number_at(head, kChecksumAt);
  take(kHead + name_bytes);
  state_ = State::kBlocks;
  return Event{Kind::kHeader, nullptr};
}

Result<ExportParser::Event> ExportParser::read_block() {
  if (!has(kHead)) return need_more("without the record that ends a whole one");
  const std::string_view head = front(kHead);
  if (!is_whole(head, seed_)) return damaged("the head of a block fails its checksum");
  if (head.starts_with(kEndMagic)) return read_end(head);
  const std::uint32_t count = small_at(head, 4);
  const std::uint32_t batch_bytes = small_at(head, 8);
  const std::uint64_t body_bytes = number_at(head, 16);
  if (!head.starts_with(kBlockMagic) || number_at(head, 24) != totals_.blocks ||
      batch_bytes > kMostBatch || body_bytes > kMostBodies) {
    return damaged("what stands there is not block " + std::to_string(totals_.blocks));
  }
  const std::size_t whole = kHead + batch_bytes + body_bytes;
  if (!has(whole)) return need_more("in a block");
  const std::string_view content = front(whole).substr(kHead);
  if (number_at(head, 32) != xxh3_64(content)) {
    return damaged("block " + std::to_string(totals_.blocks) + " fails its checksum");
  }
  auto messages =
      MessageBatch::parse(SharedBytes::from(std::string(content.substr(0, batch_bytes))),
                          SharedBytes::from(std::string(content.substr(batch_bytes))));
  if (!messages.is_ok() || (*messages)->count() != count || !headers_are_readable(**messages)) {
    return damaged("the messages of block " + std::to_string(totals_.blocks) + " cannot be read");
  }
  take(whole);
  ++totals_.blocks;
  totals_.messages += count;
  totals_.body_bytes += body_bytes;
  return Event{Kind::kBlock, std::move(*messages)};
}

Result<ExportParser::Event> ExportParser::read_end(std::string_view head) {
  const ExportTotals told{number_at(head, 8), number_at(head, 16), number_at(head, 24),
                          number_at(head, 32)};
  totals_.left_out = told.left_out;
  if (!(told == totals_)) {
    return damaged("it has " + counted(totals_.messages, "message") + ", its end says " +
                   std::to_string(told.messages));
  }
  take(kHead);
  state_ = State::kEnded;
  return Event{Kind::kEnd, nullptr};
}

}  // namespace segue
