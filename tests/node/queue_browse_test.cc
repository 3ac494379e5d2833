// Browsing: what of a queue is shown.

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;

class QueueBrowseTest : public QueueHostTest {
 protected:
  /// A queue whose dead letters find no way out.
  void declare_with_dead_letters(std::uint64_t id, bool durable) {
    v1::QueueDefinition definition = define(id, durable);
    (*definition.mutable_arguments())["x-dead-letter-exchange"].set_string_value("none");
    definitions.back() = definition;
    host->add_queue(definition);
  }
  /// All pages of `max_bytes`.
  Bodies browse(std::uint64_t queue, std::uint64_t max_bytes) {
    Bodies bodies;
    v1::QueueRequest message;
    message.set_queue_id(queue);
    message.mutable_browse()->set_max_bytes(max_bytes);
    for (bool more = true; more;) {
      const auto page = request(message);
      EXPECT_TRUE(page.reply.has_browse());
      v1::MessageBatch batch;
      EXPECT_TRUE(batch.ParseFromString(page.reply.delivery().batch()));
      std::size_t at = 0;
      for (const std::uint32_t size : batch.sizes()) {
        bodies.push_back(page.bodies.substr(at, size));
        at += size;
      }
      more = page.reply.browse().more();
      message.mutable_browse()->set_after(page.reply.browse().through());
    }
    return bodies;
  }
  void reject(std::uint64_t consumer, NumberRange numbers) {
    settle(consumer, numbers.first, numbers.last, v1::OUTCOME_REJECT);
    settle_down();
  }
};

TEST_F(QueueBrowseTest, DeadLettersOnTheirWayAreNotShown) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare_with_dead_letters(queue, durable);
    publish({"a", "b", "c", "d", "e", "f"}, {queue});
    settle_down();
    subscribe(queue, queue);
    settle_down();
    for (const std::uint64_t page : {1u, 100u, 10'000u}) {
      EXPECT_EQ(browse(queue, page), (Bodies{"a", "b", "c", "d", "e", "f"}));
    }
    reject(queue, {2, 3});
    reject(queue, {6, 6});
    EXPECT_EQ(status(queue).dead_lettering(), 3u);
    for (const std::uint64_t page : {1u, 100u, 10'000u}) {
      EXPECT_EQ(browse(queue, page), (Bodies{"a", "d", "e"}));
    }
    reject(queue, {1, 1});
    reject(queue, {4, 5});
    EXPECT_EQ(browse(queue, 100), Bodies{});
  }
}

}  // namespace
}  // namespace segue::node
