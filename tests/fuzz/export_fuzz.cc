// Any bytes as a stream of `segue export`: read or refused, never a crash, in one piece as in many;
// what is read is written as the same messages again. With an odd first byte the rest is one block
// whose checksums are right, which leads to the messages in it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/bytes.h"
#include "common/check.h"
#include "common/checksum.h"
#include "common/export_stream.h"

namespace {

constexpr std::size_t kHead = 48;

std::string as_block(std::string_view content) {
  segue::ExportWriter writer;
  const std::string begin = writer.header({"q", 1, 2});
  const std::size_t batch = content.empty() ? 0 : static_cast<unsigned char>(content[0]);
  std::string head = "SGXB";
  segue::append_le(head, static_cast<std::uint32_t>(content.size() > 1 ? content[1] : 0));
  segue::append_le(head, static_cast<std::uint32_t>(std::min(batch, content.size())));
  segue::append_le(head, std::uint32_t{0});
  segue::append_le(head, std::uint64_t{content.size() - std::min(batch, content.size())});
  segue::append_le(head, std::uint64_t{0});
  segue::append_le(head, segue::xxh3_64(content));
  segue::append_le(head,
                   segue::xxh3_64(head, segue::load_le<std::uint64_t>(begin.data() + kHead - 8)));
  return begin + head + std::string(content);
}

/// What was read, as text; ends with the error, if any.
std::string read(std::string_view stream, std::size_t piece) {
  segue::ExportParser parser;
  std::string got;
  bool finished = false;
  while (true) {
    const auto event = parser.next();
    if (!event.is_ok()) {
      SEGUE_CHECK(!event.status().message().empty());
      return got + event.status().message();
    }
    if (event->kind == segue::ExportParser::Kind::kMore) {
      if (finished) return got;
      const std::size_t size = std::min(piece, stream.size());
      parser.add(stream.substr(0, size));
      stream.remove_prefix(size);
      if (stream.empty()) parser.finish();
      finished = stream.empty();
    } else if (event->kind == segue::ExportParser::Kind::kBlock) {
      segue::MessageBatchBuilder builder;
      builder.add(event->messages, 0, event->messages->count());
      const auto built = builder.take();
      SEGUE_CHECK(built.count == event->messages->count());
      for (std::uint32_t i = 0; i < built.count; ++i) {
        got += event->messages->header(i);
        got += event->messages->body(i);
      }
      segue::ExportWriter writer;
      SEGUE_CHECK(!writer.block(built).empty());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  std::string stream(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  if (bytes[0] % 2 == 1) stream = as_block(stream);
  SEGUE_CHECK(read(stream, stream.size() + 1) == read(stream, 13));
  return 0;
}
