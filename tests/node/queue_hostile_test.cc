// What peers must not be able to do: every broken value is answered, nothing is taken, and the host
// goes on.
#include <cstdint>
#include <limits>

#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

class Hostile : public QueueHostTest {
 protected:
  Hostile() {
    declare(1);
    declare(2, true, false, 7);
    publish({"good"}, {1});
    turn();
    output->confirms.clear();
  }
  /// The publish is refused with this code and leaves nothing behind.
  void expect_refused(v1::ShardPublish message, SharedBytes bodies, Code code,
                      const std::string& text) {
    message.set_batch_id(++last_batch);
    host->on_publish(kRouter, message, std::move(bodies));
    const v1::ShardConfirm* confirm = confirm_of(last_batch);
    ASSERT_NE(confirm, nullptr) << "not answered";
    EXPECT_EQ(confirm->error().code(), static_cast<std::uint32_t>(code));
    EXPECT_NE(confirm->error().text().find(text), std::string::npos) << confirm->error().text();
    EXPECT_EQ(disk.unflushed(), 0u);
    turn();
    EXPECT_EQ(status(1).ready(), 1u);
    // The queue still takes what is right.
    const auto good = publish({"x"}, {1});
    turn();
    ASSERT_NE(confirm_of(good), nullptr);
    EXPECT_FALSE(confirm_of(good)->has_error());
    EXPECT_EQ(get(900, 1, true).messages.at(0).body, "good");
    get(900, 1, true);
    publish({"good"}, {1});
    turn();
  }
};

TEST_F(Hostile, BatchesThatDoNotFitTheirBodies) {
  auto message = publish_of({"a", "b"}, {1});
  expect_refused(message, joined({"a"}), Code::kFrameError, "body_bytes");
  message.set_body_bytes(1);
  expect_refused(message, joined({"a"}), Code::kFrameError, "sizes");
  message = publish_of({"a"}, {1});
  message.set_batch("\xff\xff\xff");
  expect_refused(message, joined({"a"}), Code::kFrameError, "batch");
  message.clear_batch();
  expect_refused(message, joined({"a"}), Code::kFrameError, "sizes");
}

TEST_F(Hostile, PlacesOutsideOfTheBatch) {
  auto message = publish_of({"a", "b"}, {1});
  message.mutable_targets(0)->add_messages(2);
  expect_refused(message, joined({"a", "b"}), Code::kFrameError, "message 2");
  message.mutable_targets(0)->set_messages(0, 1);
  message.mutable_targets(0)->add_messages(1);
  expect_refused(message, joined({"a", "b"}), Code::kFrameError, "rise");
}

TEST_F(Hostile, SeqsThatAreTooManyTooFewTooHighOrFall) {
  auto message = publish_of({"a", "b"}, {1});
  message.set_producer_id("p");
  message.add_seqs(1);
  expect_refused(message, joined({"a", "b"}), Code::kFrameError, "seqs");
  message.add_seqs(1);
  expect_refused(message, joined({"a", "b"}), Code::kFrameError, "rise");
  message.set_seqs(1, kHuge);
  expect_refused(message, joined({"a", "b"}), Code::kFrameError, "too high");
  message.clear_seqs();
  message.set_first_seq(kHuge);
  expect_refused(message, joined({"a", "b"}), Code::kFrameError, "too high");
  message.set_first_seq(1);
  message.set_producer_id(std::string(300, 'p'));
  expect_refused(message, joined({"a", "b"}), Code::kFrameError, "producer_id");
}

TEST_F(Hostile, ShardsThatAreNotHereOrNotTheQueues) {
  auto message = publish_of({"a"}, {1});
  message.set_shard(9);
  expect_refused(message, joined({"a"}), Code::kShardUnavailable, "shard 9");
  message.set_shard(0xFFFFFFFF);
  expect_refused(message, joined({"a"}), Code::kShardUnavailable, "not on this node");
  message = publish_of({"a"}, {1, 2});
  expect_refused(message, joined({"a"}), Code::kFrameError, "is on shard 7");
}

TEST_F(Hostile, OneQueueNamedTwiceKeepsItsOrder) {
  const auto batch = publish({"a", "b"}, {1, 1});
  turn();
  EXPECT_FALSE(confirm_of(batch)->has_error());
  EXPECT_EQ(status(1).ready(), 5u);
  subscribe(1, 1);
  settle_down();
  EXPECT_EQ(take_bodies(1), (std::vector<std::string>{"good", "a", "b", "a", "b"}));
}

TEST_F(Hostile, ConsumersThatAreUnknownDoubleOrZero) {
  output->events.clear();
  subscribe(0, 1);
  ASSERT_EQ(output->events.size(), 1u);
  EXPECT_EQ(output->events[0].second.cancelled().code(), 530u);
  subscribe(5, 99);
  EXPECT_EQ(output->events[1].second.cancelled().code(), 404u);
  subscribe(6, 1);
  EXPECT_TRUE(output->events[2].second.has_subscribed());
  subscribe(6, 1);
  EXPECT_EQ(output->events[3].second.cancelled().code(), 530u);
  unsubscribe(77, true);
  received(77, kHuge);
  received(6, kHuge);
  host->on_consumer_command(kRouter, v1::ConsumerCommand());
  v1::ConsumerCommand nothing;
  nothing.set_consumer(6);
  host->on_consumer_command(kRouter, nothing);
  host->on_peer_lost(PeerId{4711});
  settle_down();
  EXPECT_EQ(take(6).size(), 1u);
}

TEST_F(Hostile, SettlesOfRangesThatAreWrong) {
  subscribe(6, 1);
  settle_down();
  std::uint64_t confirm = 100;
  const auto expect_406 = [&](std::uint64_t consumer, std::uint64_t first, std::uint64_t last,
                              int outcome = v1::OUTCOME_ACK) {
    settle(consumer, first, last, static_cast<v1::Outcome>(outcome), ++confirm);
    ASSERT_NE(settle_ok(confirm), nullptr);
    EXPECT_EQ(settle_ok(confirm)->error().code(), 406u);
    EXPECT_EQ(status(1).unacked(), 1u);
  };
  expect_406(77, 1, 1);
  expect_406(6, 0, 0);
  expect_406(6, 0, kHuge);
  expect_406(6, 5, 4);
  expect_406(6, 2, kHuge);
  expect_406(6, 1, 1, 0);
  expect_406(6, 1, 1, 17);
  expect_406(6, 1, 1, -1);
  v1::PeerSettle empty;
  empty.set_consumer(6);
  empty.set_confirm_id(7);
  host->on_settle(kRouter, empty);
  EXPECT_FALSE(settle_ok(7)->has_error());
  settle(6, 1, kHuge, v1::OUTCOME_ACK, 8);
  settle_down();
  EXPECT_EQ(settle_ok(8)->error().code(), 406u);
  EXPECT_EQ(status(1).unacked(), 0u);
}

TEST_F(Hostile, RequestsWithoutAQueueOrAKind) {
  v1::QueueRequest message;
  message.set_queue_id(99);
  message.mutable_purge();
  EXPECT_EQ(request(message).reply.error().code(), 404u);
  message.clear_purge();
  message.set_queue_id(1);
  EXPECT_EQ(request(message).reply.error().code(), 540u);
  subscribe(6, 1);
  EXPECT_EQ(get(6, 1).reply.error().code(), 530u);
}

TEST_F(Hostile, GetsOfAPeerThatIsLostTakeNothing) {
  disk.commit_on_flush = false;
  v1::QueueRequest message;
  message.set_queue_id(1);
  message.set_request_id(1);
  message.mutable_get()->set_consumer(50);
  host->on_queue_request(PeerId{8}, message);  // waits for a delivery mark
  host->on_peer_lost(PeerId{8});
  disk.commit_on_flush = true;
  settle_down();
  EXPECT_EQ(status(1).ready(), 1u);
}

}  // namespace
}  // namespace segue::node
