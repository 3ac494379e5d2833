#include "common/export_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/checksum.h"
#include "segue/v1/types.pb.h"

namespace segue {
namespace {

struct Item {
  std::string header;
  std::string body;
  bool operator==(const Item&) const = default;
};

std::string header_bytes(const std::string& key) {
  v1::MessageHeader header;
  header.set_exchange("e");
  header.set_routing_key(key);
  header.mutable_properties()->set_message_id("m");
  return header.SerializeAsString();
}

std::string stream_of(const std::vector<std::vector<Item>>& blocks, std::uint64_t salt = 7) {
  ExportWriter writer;
  std::string out = writer.header({"a queue", 1234, salt});
  for (const auto& block : blocks) {
    MessageBatchBuilder builder;
    for (const Item& item : block) builder.add(item.header, SharedBytes::from(item.body));
    out += writer.block(builder.take());
  }
  return out + writer.end(3);
}

struct ReadStream {
  std::vector<Item> items;
  Status status;
  bool ended = false;
  ExportTotals totals;
  std::string queue;
};

/// Gives the parser `piece` bytes at a time.
ReadStream read(std::string_view stream, std::size_t piece) {
  ExportParser parser;
  ReadStream got;
  bool finished = false;
  while (true) {
    auto event = parser.next();
    if (!event.is_ok()) {
      got.status = event.status();
      EXPECT_EQ(parser.next().status().message(), got.status.message());
      break;
    }
    if (event->kind == ExportParser::Kind::kMore) {
      if (finished) break;
      parser.add(stream.substr(0, piece));
      stream.remove_prefix(std::min(piece, stream.size()));
      if (stream.empty()) {
        parser.finish();
        finished = true;
      }
    } else if (event->kind == ExportParser::Kind::kBlock) {
      for (std::uint32_t i = 0; i < event->messages->count(); ++i) {
        got.items.push_back(
            {std::string(event->messages->header(i)), std::string(event->messages->body(i))});
      }
    } else if (event->kind == ExportParser::Kind::kEnd) {
      got.ended = true;
    }
  }
  got.totals = parser.totals();
  got.queue = parser.header().queue;
  return got;
}

std::vector<std::vector<Item>> example() {
  return {{{header_bytes("k1"), "first"}, {header_bytes("k1"), ""}, {header_bytes("k2"), "third"}},
          {{header_bytes("k3"), std::string(300, 'x')}}};
}

std::vector<Item> flat(const std::vector<std::vector<Item>>& blocks) {
  std::vector<Item> all;
  for (const auto& block : blocks) all.insert(all.end(), block.begin(), block.end());
  return all;
}

TEST(ExportStream, IsReadAsItWasWrittenHoweverItComes) {
  const std::string stream = stream_of(example());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{48}, stream.size()}) {
    const ReadStream got = read(stream, piece);
    EXPECT_TRUE(got.status.is_ok()) << got.status.to_string();
    EXPECT_TRUE(got.ended);
    EXPECT_EQ(got.items, flat(example()));
    EXPECT_EQ(got.totals, (ExportTotals{2, 4, 310, 3}));
    EXPECT_EQ(got.queue, "a queue");
  }
  EXPECT_TRUE(read(stream_of({}), 5).ended);
}

TEST(ExportStream, GivesTheBlocksBeforeWhereItIsCutShortAndSaysSo) {
  const std::string stream = stream_of(example());
  for (std::size_t size = 0; size < stream.size(); ++size) {
    const ReadStream got = read(std::string_view(stream).substr(0, size), 4096);
    EXPECT_FALSE(got.ended) << size;
    ASSERT_FALSE(got.status.is_ok()) << size;
    EXPECT_TRUE(got.items.empty() || got.items.size() == 3 || got.items.size() == 4) << size;
    if (size >= 8) {
      EXPECT_EQ(got.status.code(), Code::kCorruption) << size;
      EXPECT_NE(got.status.message().find("offset " + std::to_string(size)), std::string::npos)
          << size << got.status.message();
    }
  }
}

TEST(ExportStream, NoticesEveryFlippedBit) {
  const std::string stream = stream_of(example());
  const std::vector<Item> all = flat(example());
  for (std::size_t at = 0; at < stream.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = stream;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const ReadStream got = read(damaged, 4096);
      EXPECT_FALSE(got.status.is_ok()) << at << " bit " << bit;
      EXPECT_FALSE(got.ended && got.items.size() == 4) << at << " bit " << bit;
      for (std::size_t i = 0; i < got.items.size(); ++i) EXPECT_EQ(got.items[i], all[i]);
    }
  }
}

TEST(ExportStream, RefusesBlocksOfAnotherPlaceOrStreamAndBytesBehindTheEnd) {
  const std::string stream = stream_of(example());
  EXPECT_FALSE(read(stream + "x", 4096).status.is_ok());
  EXPECT_FALSE(read(stream + stream, 4096).status.is_ok());
  const std::string none = stream_of({});
  const std::string one = stream_of({example()[0]});
  const std::size_t head = none.size() - 48;
  // The second block first; the end of a shorter one; a block with another salt.
  EXPECT_FALSE(read(stream.substr(0, head) + stream.substr(one.size() - 48), 4096).status.is_ok());
  EXPECT_FALSE(read(one.substr(0, one.size() - 48) + none.substr(head), 4096).status.is_ok());
  const std::string other = stream_of(example(), 8);
  EXPECT_FALSE(read(stream.substr(0, head) + other.substr(head), 4096).status.is_ok());
}

TEST(ExportStream, RefusesWhatIsNoneAndANewerOneByName) {
  EXPECT_EQ(read("hello, this is no stream at all, but long enough for a header", 9).status.code(),
            Code::kInvalidConfig);
  EXPECT_EQ(read("", 9).status.code(), Code::kInvalidConfig);
  std::string newer = stream_of({});
  store_le(newer.data() + 8, std::uint32_t{2});
  EXPECT_EQ(read(newer, 4096).status.code(), Code::kInvalidConfig);
}

/// A block with a right head, and whatever numbers.
std::string forged(std::uint32_t count, std::uint32_t batch, std::uint64_t bodies,
                   const std::string& content) {
  const std::string begin = stream_of({}).substr(0, stream_of({}).size() - 48);
  std::string head = "SGXB";
  append_le(head, count);
  append_le(head, batch);
  append_le(head, std::uint32_t{0});
  append_le(head, bodies);
  append_le(head, std::uint64_t{0});
  append_le(head, xxh3_64(content));
  append_le(head, xxh3_64(head, load_le<std::uint64_t>(begin.data() + 40)));
  return begin + head + content;
}

TEST(ExportStream, RefusesHostileSizesThoughTheChecksumsAreRight) {
  EXPECT_EQ(read(forged(1, 0xFFFFFFFF, 0, ""), 4096).status.code(), Code::kCorruption);
  EXPECT_EQ(read(forged(1, 1, ~0ull, ""), 4096).status.code(), Code::kCorruption);
  EXPECT_EQ(read(forged(1, 200 << 20, 1 << 30, "few"), 4096).status.code(), Code::kCorruption);
  EXPECT_EQ(read(forged(0, 0, 0, ""), 4096).status.code(), Code::kCorruption);
  EXPECT_EQ(read(forged(1, 4, 0, "\xFF\xFF\xFF\xFF"), 4096).status.code(), Code::kCorruption);
  v1::MessageBatch batch;
  batch.add_headers()->set_exchange("e");
  batch.add_sizes(2);
  const std::string bytes = batch.SerializeAsString();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  EXPECT_EQ(read(forged(1, size, 2, bytes + "ab"), 4096).items.size(), 1u);
  EXPECT_EQ(read(forged(2, size, 2, bytes + "ab"), 4096).status.code(), Code::kCorruption);
  EXPECT_TRUE(read(forged(2, size, 2, bytes + "ab"), 4096).items.empty());
  EXPECT_TRUE(read(forged(1, size, 3, bytes + "abc"), 4096).items.empty());
}

}  // namespace
}  // namespace segue
