#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/message_batch.h"
#include "segue/v1/types.pb.h"

namespace segue::node {

/// A batch of messages with these bodies, all with one header.
inline MessageBatchPtr make_batch(const std::vector<std::string>& bodies) {
  v1::MessageBatch batch;
  batch.add_headers()->set_routing_key("key");
  std::string all;
  for (const std::string& body : bodies) {
    batch.add_sizes(static_cast<std::uint32_t>(body.size()));
    all += body;
  }
  auto parsed = MessageBatch::parse(SharedBytes::from(batch.SerializeAsString()),
                                    SharedBytes::from(std::move(all)));
  EXPECT_TRUE(parsed.is_ok());
  return *parsed;
}

/// The same with `count` bodies of `size` bytes.
inline MessageBatchPtr make_batch(std::size_t count, std::size_t size) {
  return make_batch(std::vector<std::string>(count, std::string(size, 'x')));
}

inline MessageRun run_of(std::uint64_t first, const MessageBatchPtr& batch) {
  return {Sequence{first}, batch, 0, batch->count()};
}

/// The sequences of the runs' messages.
inline std::vector<std::uint64_t> sequences_of(const std::vector<MessageRun>& runs) {
  std::vector<std::uint64_t> sequences;
  for (const MessageRun& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) sequences.push_back(run.first.next(i).value);
  }
  return sequences;
}

/// The body of one of the run's messages.
inline std::string body_of(const MessageRun& run, std::uint32_t at) {
  return std::string(run.batch->body(run.begin + at));
}

}  // namespace segue::node
