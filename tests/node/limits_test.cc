// Limits of a queue's length.
#include <algorithm>
#include <random>

#include "node/producer_dedupe.h"
#include "tests/node/queue_host_fixture.h"

namespace segue::node {
namespace {

using Bodies = std::vector<std::string>;

class Limits : public QueueHostTest {
 protected:
  struct Limit {
    std::int64_t messages = -1;
    std::int64_t bytes = -1;
    bool rejects = false;
    bool buries = false;  // what it rejects
  };
  void declare_limited(std::uint64_t id, Limit limit, bool durable = true) {
    v1::QueueDefinition definition = define(id, durable);
    limit_of(definition, limit);
    definitions.back() = definition;
    host->add_queue(definition);
  }
  static void limit_of(v1::QueueDefinition& definition, Limit limit) {
    auto& arguments = *definition.mutable_arguments();
    arguments.clear();
    if (limit.messages >= 0) arguments["x-max-length"].set_int_value(limit.messages);
    if (limit.bytes >= 0) arguments["x-max-length-bytes"].set_int_value(limit.bytes);
    if (limit.rejects) arguments["x-overflow"].set_string_value("reject-publish");
    if (!limit.buries) return;
    arguments["x-overflow"].set_string_value("reject-publish-dlx");
    arguments["x-dead-letter-exchange"].set_string_value("dead");
  }
  /// The places that the queue refused.
  static std::vector<std::uint32_t> refused(const v1::ShardConfirm& confirm, std::uint64_t queue) {
    std::vector<std::uint32_t> places;
    for (const v1::QueueRefusal& refusal : confirm.refusals()) {
      if (refusal.queue_id() != queue) continue;
      places.insert(places.end(), refusal.messages().begin(), refusal.messages().end());
    }
    return places;
  }
};

TEST_F(Limits, TheOldestReadyMessagesGo) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare_limited(queue, {.messages = 3}, durable);
    publish({"a", "b", "c", "d", "e"}, {queue});
    publish({"f"}, {queue});
    settle_down();
    EXPECT_EQ(status(queue).ready(), 3u);
    EXPECT_EQ(status(queue).dropped_total(), 3u);
    EXPECT_EQ(status(queue).bytes(), 3u);
    EXPECT_EQ(drain(queue), (Bodies{"d", "e", "f"}));
  }
}

TEST_F(Limits, OfBytesAsManyGoAsMust) {
  declare_limited(1, {.bytes = 10});
  publish({"1", "22", "333", "4444"}, {1});
  settle_down();
  EXPECT_EQ(status(1).ready(), 4u);
  publish({"55555"}, {1});
  settle_down();
  EXPECT_EQ(drain(), (Bodies{"4444", "55555"}));
  publish({"1", std::string(11, 'x')}, {1});
  settle_down();
  EXPECT_EQ(drain(), (Bodies{}));
}

TEST_F(Limits, UnackedMessagesDoNotCountAndAreNotDropped) {
  declare_limited(1, {.messages = 2});
  subscribe(1, 1, {.prefetch = 2});
  settle_down();
  publish({"a", "b", "c", "d", "e"}, {1});
  settle_down();
  // What can be delivered is not dropped.
  EXPECT_EQ(take_bodies(1), (Bodies{"a", "b"}));
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(status(1).unacked(), 2u);
  // What comes back is the oldest.
  unsubscribe(1, true);
  settle_down();
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_EQ(drain(), (Bodies{"d", "e"}));
  EXPECT_EQ(status(1).dropped_total(), 3u);
}

TEST_F(Limits, WithALimitOfZeroOnlyWhatIsTakenAtOnceStays) {
  declare_limited(1, {.messages = 0});
  publish({"a"}, {1});
  settle_down();
  EXPECT_EQ(status(1).ready(), 0u);
  subscribe(1, 1);
  settle_down();
  publish({"b"}, {1});
  settle_down();
  EXPECT_EQ(take_bodies(1), (Bodies{"b"}));
  EXPECT_EQ(status(1).unacked(), 1u);
}

TEST_F(Limits, DropsWhatIsOnDiskOnlyWithoutReadingIt) {
  declare_limited(1, {.messages = 4, .bytes = 1000});
  publish({"a", "b", "c", "d"}, {1});
  settle_down();
  reopen();
  publish({"e", "f"}, {1});
  settle_down();
  EXPECT_EQ(status(1).ready(), 4u);
  EXPECT_EQ(disk.loads(), 0u);
  EXPECT_EQ(drain(), (Bodies{"c", "d", "e", "f"}));
}

TEST_F(Limits, OfABatchIsTakenWhatHasRoomAndTheRestRefused) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare_limited(queue, {.messages = 3, .rejects = true}, durable);
    const auto first = publish({"a", "b"}, {queue});
    // Before the first is committed: what was proposed counts.
    const auto second = publish({"c", "d", "e"}, {queue});
    settle_down();
    ASSERT_NE(confirm_of(second), nullptr);
    EXPECT_EQ(confirm_of(first)->refusals_size(), 0);
    EXPECT_FALSE(confirm_of(second)->has_error());
    EXPECT_EQ(refused(*confirm_of(second), queue), (std::vector<std::uint32_t>{1, 2}));
    const v1::Error& error = confirm_of(second)->refusals(0).error();
    EXPECT_EQ(error.code(), static_cast<std::uint32_t>(Code::kQueueFull));
    EXPECT_EQ(error.entity(), "q" + std::to_string(queue));
    EXPECT_NE(error.text().find("overflow"), std::string::npos);
    EXPECT_EQ(status(queue).ready(), 3u);
    EXPECT_EQ(drain(queue), (Bodies{"a", "b", "c"}));
    const auto third = publish({"f"}, {queue});
    settle_down();
    EXPECT_EQ(confirm_of(third)->refusals_size(), 0);
  }
}

TEST_F(Limits, OfBytesWhatFitsIsTaken) {
  declare_limited(1, {.bytes = 6, .rejects = true});
  const auto batch = publish({"1", "22", "4444", "333", "5"}, {1});
  settle_down();
  EXPECT_EQ(refused(*confirm_of(batch), 1), (std::vector<std::uint32_t>{2, 4}));
  EXPECT_EQ(drain(), (Bodies{"1", "22", "333"}));
}

TEST_F(Limits, OtherQueuesKeepTheirsAndWhatIsSentAgainIsToldTheSame) {
  declare_limited(1, {.messages = 1, .rejects = true});
  declare(2);
  v1::ShardPublish message = publish_of({"a", "b"}, {1, 2});
  message.set_producer_id("p");
  message.set_producer_session(1);
  message.set_first_seq(1);
  message.set_batch_id(++last_batch);
  host->on_publish(kRouter, message, joined({"a", "b"}));
  settle_down();
  EXPECT_EQ(refused(*confirm_of(last_batch), 1), (std::vector<std::uint32_t>{1}));
  message.set_batch_id(++last_batch);
  host->on_publish(kRouter, message, joined({"a", "b"}));
  settle_down();
  EXPECT_EQ(refused(*confirm_of(last_batch), 1), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(drain(1), (Bodies{"a"}));
  EXPECT_EQ(drain(2), (Bodies{"a", "b"}));
}

TEST_F(Limits, ARefusedMessageIsNoDuplicateLater) {
  declare_limited(1, {.messages = 1, .rejects = true});
  auto batch = publish_as("p", 1, {"a", "b"}, 1);
  settle_down();
  EXPECT_EQ(refused(*confirm_of(batch), 1), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(drain(), (Bodies{"a"}));
  batch = publish_as("p", 1, {"a", "b"}, 1);
  settle_down();
  EXPECT_EQ(confirm_of(batch)->refusals_size(), 0);
  EXPECT_EQ(drain(), (Bodies{"b"}));
}

TEST_F(Limits, WhatIsRejectedIsADeadLetterFromTheBeginning) {
  for (const bool durable : {true, false}) {
    const std::uint64_t queue = durable ? 1 : 2;
    declare_limited(queue, {.messages = 1, .bytes = 3, .buries = true}, durable);
    disk.commit_on_flush = false;
    const auto first = publish({"a", "b", "c"}, {queue});
    const auto second = publish({"d"}, {queue});
    turn();
    EXPECT_EQ(confirm_of(first) == nullptr, durable) << "what is durable waits for the disk";
    disk.commit();
    disk.commit_on_flush = true;
    settle_down();
    ASSERT_NE(confirm_of(second), nullptr);
    EXPECT_EQ(refused(*confirm_of(first), queue), (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(refused(*confirm_of(second), queue), (std::vector<std::uint32_t>{0}));
    EXPECT_EQ(status(queue).ready(), 1u);
    EXPECT_EQ(status(queue).dead_lettering(), 3u);
    // Consumers never see it, and what comes later stands behind what was there.
    EXPECT_EQ(drain(queue), (Bodies{"a"}));
    publish({"e"}, {queue});
    settle_down();
    EXPECT_EQ(drain(queue), (Bodies{"e"}));
  }
}

TEST_F(Limits, WhatIsOnItsWayToBeADeadLetterTakesNoRoom) {
  declare_limited(1, {.messages = 1, .buries = true});
  publish({"a"}, {1});
  settle_down();
  const auto held = get(903, 1);
  ASSERT_EQ(held.messages.size(), 1u);
  settle(903, held.messages[0].number, held.messages[0].number, v1::OUTCOME_RELEASE);
  settle_down();
  disk.commit_on_flush = false;
  publish({"b"}, {1});
  ASSERT_EQ(get(903, 1).messages.size(), 1u);  // and there is room for one
  const auto third = publish({"c"}, {1});
  disk.commit();
  disk.commit_on_flush = true;
  settle_down();
  ASSERT_NE(confirm_of(third), nullptr);
  EXPECT_EQ(confirm_of(third)->refusals_size(), 0);
  EXPECT_EQ(status(1).dead_lettering(), 1u);
}

TEST_F(Limits, RejectedDeadLettersSurviveRestartsAndAreRejectedOnce) {
  declare_limited(1, {.messages = 1, .buries = true});
  publish_as("p", 1, {"a", "b"}, 1);
  settle_down();
  auto batch = publish_as("p", 1, {"a", "b"}, 1);
  settle_down();
  EXPECT_EQ(refused(*confirm_of(batch), 1), (std::vector<std::uint32_t>{1})) << "the same again";
  EXPECT_EQ(status(1).dead_lettering(), 1u);
  open();  // from the log
  EXPECT_EQ(status(1).ready(), 1u);
  EXPECT_EQ(status(1).dead_lettering(), 1u);
  batch = publish_as("p", 2, {"b"}, 1);
  settle_down();
  EXPECT_EQ(status(1).dead_lettering(), 1u);
  reopen();  // from a checkpoint
  EXPECT_EQ(status(1).ready(), 1u);
  EXPECT_EQ(status(1).dead_lettering(), 1u);
  EXPECT_EQ(drain(), (Bodies{"a"}));
  publish({"c", "d"}, {1});
  settle_down();
  EXPECT_EQ(status(1).dead_lettering(), 2u);
  EXPECT_EQ(drain(), (Bodies{"c"}));
}

TEST_F(Limits, WithoutADeadLetterExchangeWhatIsRejectedIsDropped) {
  declare_limited(1, {.messages = 1, .buries = true});
  definitions.back().mutable_arguments()->erase("x-dead-letter-exchange");
  host->add_queue(definitions.back());
  const auto batch = publish({"a", "b"}, {1});
  settle_down();
  EXPECT_EQ(refused(*confirm_of(batch), 1), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(status(1).dead_lettering(), 0u);
}

TEST_F(Limits, WhatTheLogHasNoRoomForIsNoDeadLetterEither) {
  declare_limited(1, {.messages = 0, .buries = true});
  disk.wal_full = true;
  const auto batch = publish({"a"}, {1});
  settle_down();
  ASSERT_NE(confirm_of(batch), nullptr);
  EXPECT_TRUE(confirm_of(batch)->has_error());
  disk.wal_full = false;
  for (int i = 0; i < 20; ++i) tick();
  publish({"b"}, {1});
  settle_down();
  EXPECT_EQ(status(1).dead_lettering(), 1u);
}

TEST_F(Limits, ALetterThatHasNoRoomStaysWhereItIs) {
  declare_limited(1, {.messages = 0, .buries = true});
  const auto batch =
      publish_as(std::string(ProducerDedupe::kLongestClientId + 1, 'n'), 1, {"a"}, 1);
  settle_down();
  EXPECT_EQ(refused(*confirm_of(batch), 1), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(status(1).dead_lettering(), 0u);
}

TEST_F(Limits, ALimitThatComesLaterHoldsForWhatIsThere) {
  declare_limited(1, {});
  publish({"a", "bb", "ccc", "dddd"}, {1});
  settle_down();
  reopen();
  const auto held = get(901, 1);
  ASSERT_EQ(held.messages.size(), 1u);
  limit_of(definitions[0], {.bytes = 7});
  host->add_queue(definitions[0]);
  settle_down();
  EXPECT_EQ(drain(), (Bodies{"ccc", "dddd"}));
}

TEST_F(Limits, AreExactAsAPlainModelSays) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t limit) { return random() % limit; };
    const std::uint64_t queue = seed;
    const Limit limit{below(3) == 0 ? -1 : static_cast<std::int64_t>(below(20)),
                      below(2) == 0 ? -1 : static_cast<std::int64_t>(below(60)), below(2) == 0};
    const bool durable = below(4) != 0;
    declare_limited(queue, limit, durable);
    Bodies ready;
    std::vector<std::pair<std::uint64_t, std::string>> held;  // by number
    const auto bytes = [&] {
      std::int64_t sum = 0;
      for (const std::string& body : ready) sum += static_cast<std::int64_t>(body.size());
      return sum;
    };
    const auto over = [&](std::int64_t more_messages, std::int64_t more_bytes) {
      return (limit.messages >= 0 &&
              static_cast<std::int64_t>(ready.size()) + more_messages > limit.messages) ||
             (limit.bytes >= 0 && bytes() + more_bytes > limit.bytes);
    };
    const auto drop = [&] {
      while (!limit.rejects && !ready.empty() && over(0, 0)) ready.erase(ready.begin());
    };
    for (int step = 0; step < 40; ++step) {
      switch (below(6)) {
        case 0:
        case 1: {
          Bodies bodies;
          std::vector<std::uint32_t> none;
          for (std::uint32_t i = 0; i <= below(10); ++i) {
            bodies.emplace_back(below(12), static_cast<char>('a' + random() % 26));
            const bool fits = !limit.rejects || !over(1, static_cast<int>(bodies.back().size()));
            if (fits) {
              ready.push_back(bodies.back());
            } else {
              none.push_back(i);
            }
          }
          const auto batch = publish(bodies, {queue});
          settle_down();
          drop();
          ASSERT_NE(confirm_of(batch), nullptr);
          EXPECT_EQ(refused(*confirm_of(batch), queue), none) << "seed " << seed;
          break;
        }
        case 2: {
          const auto got = get(902, queue);
          EXPECT_EQ(got.messages.size(), ready.empty() ? 0u : 1u) << "seed " << seed;
          if (got.messages.empty() || ready.empty()) break;
          EXPECT_EQ(got.messages[0].body, ready[0]) << "seed " << seed << ", step " << step;
          held.emplace_back(got.messages[0].number, ready[0]);
          ready.erase(ready.begin());
          break;
        }
        case 3:
          // Back in their places: the order of delivery, since none is settled in between.
          if (held.empty()) break;
          settle(902, held.front().first, held.back().first, v1::OUTCOME_RELEASE);
          settle_down();
          for (std::size_t i = held.size(); i-- > 0;) {
            ready.insert(ready.begin(), held[i].second);
          }
          held.clear();
          drop();
          break;
        case 4:
          if (!held.empty()) {
            settle(902, held.front().first, held.back().first);
            held.clear();
            settle_down();
          }
          break;
        default:
          if (durable && held.empty() && below(2) == 0) reopen();
      }
      EXPECT_EQ(status(queue).ready(), ready.size()) << "seed " << seed << ", step " << step;
    }
    if (!held.empty()) settle(902, held.front().first, held.back().first);
    settle_down();
    EXPECT_EQ(drain(queue), ready) << "seed " << seed;
  }
}

TEST_F(Limits, ARestartedNodeDropsNothingBeforeItKnowsTheLatestLimits) {
  const v1::QueueDefinition unlimited = define(1);
  host->add_queue(unlimited);
  publish({"a", "b"}, {1});
  settle_down();
  // What it has kept of the catalog is from before the limit and the time to live were taken away.
  limit_of(definitions.back(), {.messages = 0});
  (*definitions.back().mutable_arguments())["x-message-ttl"].set_int_value(1);
  knows_catalog = false;
  open();
  for (int i = 0; i < 30; ++i) tick();
  EXPECT_EQ(status(1).ready(), 2u);
  EXPECT_FALSE(host->wants_turn());
  host->add_queue(unlimited);
  host->end_of_catalog_load();
  for (int i = 0; i < 30; ++i) tick();
  EXPECT_EQ(drain(1), (Bodies{"a", "b"}));
  // And with the latest it does.
  limit_of(definitions.back(), {.messages = 1});
  publish({"c", "d"}, {1});
  settle_down();
  open();
  settle_down();
  EXPECT_EQ(status(1).ready(), 2u);
  host->end_of_catalog_load();
  settle_down();
  EXPECT_EQ(drain(1), (Bodies{"d"}));
}

}  // namespace
}  // namespace segue::node
