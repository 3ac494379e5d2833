#include "common/message_batch.h"

#include <gtest/gtest.h>

#include "segue/v1/types.pb.h"

namespace segue {
namespace {

std::string header(const std::string& key) {
  v1::MessageHeader h;
  h.set_routing_key(key);
  return h.SerializeAsString();
}

MessageBatchPtr batch_of(std::vector<std::pair<std::string, std::string>> messages) {
  MessageBatchBuilder builder;
  std::string bodies;
  for (auto& [key, body] : messages) {
    bodies += body;
    builder.add(header(key), SharedBytes::from(body));
  }
  auto built = builder.take();
  return MessageBatch::parse(SharedBytes::from(built.batch), SharedBytes::from(bodies)).value();
}

TEST(MessageBatch, GivesBackHeadersAndBodies) {
  const auto batch = batch_of({{"a", "one"}, {"a", ""}, {"b", "three"}});
  ASSERT_EQ(batch->count(), 3u);
  EXPECT_EQ(batch->distinct_headers().size(), 2u);
  EXPECT_EQ(batch->header(1), header("a"));
  EXPECT_EQ(batch->header(2), header("b"));
  EXPECT_EQ(batch->body(0), "one");
  EXPECT_EQ(batch->body(1), "");
  EXPECT_EQ(batch->body(2), "three");
  EXPECT_EQ(batch->body_run(0, 3).view(), "onethree");
}

TEST(MessageBatch, ReadsAsTheTypedMessage) {
  const auto batch = batch_of({{"k", "x"}, {"l", "y"}});
  v1::MessageBatch typed;
  ASSERT_TRUE(typed.ParseFromArray(batch->serialized().data(),
                                   static_cast<int>(batch->serialized().size())));
  EXPECT_EQ(typed.headers(1).routing_key(), "l");
}

TEST(MessageBatch, RefusesWhatDoesNotFitItsBodies) {
  v1::RawMessageBatch raw;
  auto parse = [&](const std::string& bodies) {
    return MessageBatch::parse(SharedBytes::from(raw.SerializeAsString()),
                               SharedBytes::from(bodies))
        .status();
  };
  EXPECT_EQ(parse("").code(), Code::kFrameError);  // no message
  raw.add_sizes(3);
  EXPECT_NE(parse("abc").message().find("headers"), std::string::npos);
  raw.add_headers("h");
  EXPECT_TRUE(parse("abc").is_ok());
  EXPECT_NE(parse("abcd").message().find("adds up to 3"), std::string::npos);
  raw.add_headers("i");
  EXPECT_NE(parse("abc").message().find("header_index"), std::string::npos);
  raw.add_header_index(2);
  EXPECT_NE(parse("abc").message().find("header 2 of 2"), std::string::npos);
  EXPECT_EQ(MessageBatch::parse(SharedBytes::from("\xff\xff"), {}).status().code(),
            Code::kFrameError);
}

TEST(MessageBatchBuilder, JoinsNeighboursAndSharesHeaders) {
  const auto one = batch_of({{"a", "1"}, {"b", "2"}, {"a", "3"}});
  MessageBatchBuilder builder;
  builder.add(one, 0, 1);
  builder.add(one, 1, 2);
  const auto built = builder.take();
  EXPECT_EQ(built.bodies.size(), 1u);
  EXPECT_EQ(built.body_bytes, 3u);
  v1::RawMessageBatch raw;
  ASSERT_TRUE(raw.ParseFromString(built.batch));
  EXPECT_EQ(raw.headers_size(), 3);  // 'a' stood twice in the source, written as it stood
  EXPECT_TRUE(builder.empty());
}

}  // namespace
}  // namespace segue
