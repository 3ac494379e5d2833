#include <algorithm>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

// What a peer sent behind a refused publish must not be stored before it.
class PublishRefusalsTest : public QueueHostTest {
 protected:
  void set_free_bytes(std::uint64_t bytes) {
    disk.free_bytes = bytes;
    for (int i = 0; i < 20; ++i) tick();
  }
  bool refused(std::uint64_t batch) {
    settle_down();
    return confirm_of(batch) != nullptr && confirm_of(batch)->has_error();
  }
  /// Sent before the refusals were seen.
  std::uint64_t publish_behind(const std::string& body) {
    v1::ShardPublish message = publish_of({body}, {1});
    message.set_batch_id(++last_batch);
    host->on_publish(kRouter, message, joined({body}));
    return last_batch;
  }
};

TEST_F(PublishRefusalsTest, RefusesWhatFollowsARefusedPublishUntilThePeerResumes) {
  declare(1);
  set_free_bytes(0);
  EXPECT_TRUE(refused(publish({"a"}, {1})));
  set_free_bytes(1ull << 40);
  const auto behind = publish_behind("b");
  EXPECT_TRUE(refused(behind));
  EXPECT_EQ(confirm_of(behind)->error().code(), static_cast<std::uint32_t>(Code::kShardBlocked));
  EXPECT_FALSE(refused(publish({"a"}, {1})));
  EXPECT_FALSE(refused(publish_behind("b")));
  EXPECT_EQ(status(1).ready(), 2u);
}

TEST_F(PublishRefusalsTest, RefusesAResumeWhileItIsStillBlocked) {
  declare(1);
  set_free_bytes(0);
  EXPECT_TRUE(refused(publish_behind("a")));
  EXPECT_TRUE(refused(publish({"a"}, {1})));
  set_free_bytes(1ull << 40);
  EXPECT_TRUE(refused(publish_behind("b")));
}

TEST_F(PublishRefusalsTest, ForgetsRefusalsWithTheLink) {
  declare(1);
  set_free_bytes(0);
  EXPECT_TRUE(refused(publish({"a"}, {1})));
  set_free_bytes(1ull << 40);
  host->on_peer_lost(kRouter);
  EXPECT_FALSE(refused(publish_behind("a")));
}

}  // namespace
}  // namespace segue::node
