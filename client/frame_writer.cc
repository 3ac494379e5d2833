#include "client/frame_writer.h"

#include "common/bytes.h"

namespace segue::client {

namespace {

// Field tags as segue/v1/client.proto and types.proto number them: number << 3 | wire type.
constexpr std::uint8_t kFixed64 = 1;
constexpr std::uint8_t kBytes = 2;
constexpr std::uint8_t tag(std::uint8_t field, std::uint8_t wire_type = 0) {
  return static_cast<std::uint8_t>(field << 3 | wire_type);
}
constexpr std::uint8_t kFrameLink = tag(1, kBytes);
constexpr std::uint8_t kFramePublish = tag(4, kBytes);
constexpr std::uint8_t kLinkEpoch = tag(1, kFixed64);
constexpr std::uint8_t kLinkSequence = tag(2);
constexpr std::uint8_t kPublishFirstSeq = tag(1);
constexpr std::uint8_t kPublishSettledBelow = tag(2);
constexpr std::uint8_t kPublishBatch = tag(3, kBytes);
constexpr std::uint8_t kBatchHeaders = tag(1, kBytes);
constexpr std::uint8_t kBatchHeaderIndex = tag(2, kBytes);
constexpr std::uint8_t kBatchSizes = tag(3, kBytes);

constexpr std::size_t kMaxVarint = 10;

void append_varint(std::string& to, std::uint64_t value) {
  char raw[kMaxVarint];
  std::size_t size = 0;
  while (value >= 0x80) {
    raw[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  raw[size++] = static_cast<char>(value);
  to.append(raw, size);
}

void append_number(std::string& to, std::uint8_t field, std::uint64_t value) {
  to.push_back(static_cast<char>(field));
  append_varint(to, value);
}

void append_bytes(std::string& to, std::uint8_t field, std::string_view bytes) {
  append_number(to, field, bytes.size());
  to.append(bytes);
}

std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

/// A packed repeated field; `value_at(i)` twice for each element.
template <typename ValueAt>
void append_packed(std::string& to, std::uint8_t field, PublishBatch::Run run, ValueAt value_at) {
  std::size_t size = 0;
  for (std::uint32_t i = run.begin; i < run.begin + run.count; ++i)
    size += varint_size(value_at(i));
  append_number(to, field, size);
  for (std::uint32_t i = run.begin; i < run.begin + run.count; ++i) append_varint(to, value_at(i));
}

std::string write_batch(const PublishBatch& batch, PublishBatch::Run run) {
  std::string to;
  to.reserve(publish_frame_bound(batch, run.count));
  for (const HeaderPtr& header : batch.headers()) append_bytes(to, kBatchHeaders, *header);
  if (!batch.header_index().empty()) {
    append_packed(to, kBatchHeaderIndex, run,
                  [&](std::uint32_t i) { return batch.header_index()[i]; });
  }
  append_packed(to, kBatchSizes, run, [&](std::uint32_t i) { return batch.body_size(i); });
  return to;
}

}  // namespace

std::size_t publish_frame_bound(const PublishBatch& batch, std::uint32_t count) {
  // Two varints of at most five bytes for each message, and what stands around them.
  return batch.header_bytes() + std::size_t{count} * 10 + 128;
}

std::string write_publish(std::uint64_t epoch, std::uint64_t sequence, std::uint64_t settled_below,
                          const PublishBatch& batch, PublishBatch::Run run) {
  const std::string messages = write_batch(batch, run);
  std::string publish;
  append_number(publish, kPublishFirstSeq, batch.first_seq() + run.begin);
  append_number(publish, kPublishSettledBelow, settled_below);
  append_number(publish, kPublishBatch, messages.size());

  std::string link;
  link.push_back(static_cast<char>(kLinkEpoch));
  append_le(link, epoch);
  append_number(link, kLinkSequence, sequence);

  std::string frame;
  frame.reserve(messages.size() + 96);
  append_bytes(frame, kFrameLink, link);
  append_number(frame, kFramePublish, publish.size() + messages.size());
  frame += publish;
  frame += messages;
  return frame;
}

}  // namespace segue::client
