#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {

/// Queues with message groups. Bodies are "a1": the first message of group a; "-1" has none.
class MessageGroupsTest : public QueueHostTest {
 protected:
  using Arguments = std::map<std::string, std::int64_t>;

  void declare_groups(std::uint64_t id, bool durable = true, const Arguments& arguments = {}) {
    define(id, durable);
    auto& all = *definitions.back().mutable_arguments();
    all["x-message-groups"].set_bool_value(true);
    for (const auto& [name, value] : arguments) {
      if (name == "x-single-active-consumer") {
        all[name].set_bool_value(value != 0);
      } else {
        all[name].set_int_value(value);
      }
    }
    host->add_queue(definitions.back());
  }
  std::uint64_t publish(const std::vector<std::string>& bodies, std::uint64_t queue) {
    v1::ShardPublish message = publish_of(bodies, {queue});
    v1::MessageBatch batch;
    batch.ParseFromString(message.batch());
    batch.clear_headers();
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      v1::MessageHeader& header = *batch.add_headers();
      if (bodies[i][0] != '-') {
        header.mutable_properties()->set_group_id(bodies[i].substr(0, 1));
      }
      batch.add_header_index(static_cast<std::uint32_t>(i));
    }
    message.set_batch(batch.SerializeAsString());
    message.set_batch_id(++last_batch);
    message.set_resumes(true);
    host->on_publish(kRouter, message, joined(bodies));
    return last_batch;
  }
};

}  // namespace segue::node
