#pragma once

#include <string>
#include <vector>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {

/// Queues with a deduplication window. Bodies are "7:text": with the id 7; ":text" has none.
class DeduplicationTest : public QueueHostTest {
 protected:
  using Bodies = std::vector<std::string>;

  v1::QueueDefinition& define_window(std::uint64_t id, std::int64_t window_ms,
                                     bool durable = true) {
    define(id, durable);
    set(definitions.back(), "x-deduplication-window", window_ms);
    return definitions.back();
  }
  static void set(v1::QueueDefinition& definition, const std::string& name, std::int64_t value) {
    (*definition.mutable_arguments())[name].set_int_value(value);
  }
  v1::ShardPublish publish_with_ids(const Bodies& bodies,
                                    const std::vector<std::uint64_t>& queues) {
    v1::ShardPublish message = publish_of(bodies, queues);
    v1::MessageBatch batch;
    batch.ParseFromString(message.batch());
    batch.clear_headers();
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      v1::Properties& properties = *batch.add_headers()->mutable_properties();
      const std::string id = bodies[i].substr(0, bodies[i].find(':'));
      if (!id.empty()) {
        (*properties.mutable_headers())["x-deduplication-id"].set_string_value(id);
      }
      properties.set_priority(static_cast<std::uint32_t>(i % 3));
      batch.add_header_index(static_cast<std::uint32_t>(i));
    }
    message.set_batch(batch.SerializeAsString());
    message.set_batch_id(++last_batch);
    message.set_resumes(true);
    return message;
  }
  std::uint64_t publish(const Bodies& bodies, const std::vector<std::uint64_t>& queues) {
    host->on_publish(kRouter, publish_with_ids(bodies, queues), joined(bodies));
    return last_batch;
  }
  /// Publishes and waits for the confirm, which refuses nothing.
  void publish_confirmed(const Bodies& bodies, const std::vector<std::uint64_t>& queues) {
    const std::uint64_t batch = publish(bodies, queues);
    for (int i = 0; i < 5 && confirm_of(batch) == nullptr; ++i) turn();
    ASSERT_NE(confirm_of(batch), nullptr);
    EXPECT_FALSE(confirm_of(batch)->has_error());
    EXPECT_EQ(confirm_of(batch)->refusals_size(), 0);
  }
};

}  // namespace segue::node
