// Line 26 of docs/semantics.md: limits of a queue's length.

#include <mutex>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Limits : public Semantics {};

TEST_F(Limits, Line26TheOldestGoBeyondTheLimit) {
  for (const bool durable : {true, false}) {
    const std::string name = durable ? "durable" : "transient";
    queue(name, {{"x-max-length", 3}}, durable);
    for (int i = 1; i <= 5; ++i) publish_routed("", name, std::to_string(i));
    EXPECT_EQ(admin().queue_status(name)->ready, 3u);
    EXPECT_EQ(admin().queue_status(name)->dropped_total, 2u);
    EXPECT_EQ(take(name), (Bodies{"3", "4", "5"}));
  }
  queue("bytes", {{"x-max-length-bytes", 10}, {"x-overflow", "drop-head"}});
  for (const char* body : {"1", "22", "333", "4444", "55555"}) publish_routed("", "bytes", body);
  EXPECT_EQ(take("bytes"), (Bodies{"4444", "55555"}));
}

TEST_F(Limits, Line26WhatIsUnackedDoesNotCountAndComesBackAsTheOldest) {
  queue("q", {{"x-max-length", 2}});
  for (const char* body : {"1", "2"}) publish_routed("", "q", body);
  const auto held = connection().get("q");
  ASSERT_TRUE(held && *held);
  publish_routed("", "q", "3");
  EXPECT_EQ(admin().queue_status("q")->ready, 2u);
  crash_nodes();
  EXPECT_EQ(take("q"), (Bodies{"2", "3"}));
}

TEST_F(Limits, Line26WithZeroAMessageIsTakenAtOnceOrGone) {
  queue("q", {{"x-max-length", 0}});
  publish_routed("", "q", "nobody is there");
  EXPECT_EQ(admin().queue_status("q")->ready, 0u);
  auto consumer = connection().subscribe("q");
  ASSERT_TRUE(consumer);
  publish_routed("", "q", "somebody is there");
  const auto delivery = consumer->next(kLong);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->body(), "somebody is there");
}

TEST_F(Limits, Line26RejectPublishNamesTheQueueAndOthersKeepTheirs) {
  queue("full", {{"x-max-length", 1}, {"x-overflow", "reject-publish"}});
  for (int i = 0; i < 4; ++i) queue("other" + std::to_string(i));  // on its shard, and others
  bind({"amq.fanout", "full", ""});
  for (int i = 0; i < 4; ++i) bind({"amq.fanout", "other" + std::to_string(i), ""});
  std::mutex mutex;
  std::vector<Rejection> rejected;
  connection().publisher().on_confirm([&](const ConfirmEvent& event) {
    const std::lock_guard lock(mutex);
    rejected.insert(rejected.end(), event.rejected.begin(), event.rejected.end());
  });
  EXPECT_TRUE(publish("amq.fanout", "", "first").confirmed);
  const Fate fate = publish("amq.fanout", "", "second");
  EXPECT_FALSE(fate.confirmed);
  EXPECT_EQ(fate.error, ErrorCode::kQueueFull);
  EXPECT_EQ(fate.text.rfind("overflow", 0), 0u) << fate.text;
  {
    const std::lock_guard lock(mutex);
    ASSERT_EQ(rejected.size(), 1u);
    EXPECT_EQ(rejected[0].queues, std::vector<std::string>{"full"});
  }
  EXPECT_EQ(take("full"), (Bodies{"first"}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(take("other" + std::to_string(i)), (Bodies{"first", "second"}));
  }
  EXPECT_TRUE(publish("amq.fanout", "", "third").confirmed);
}

TEST_F(Limits, Line26OfABatchIsTakenWhatHasRoomInOrderAndAfterACrash) {
  queue("q", {{"x-max-length", 30}, {"x-overflow", "reject-publish"}});
  std::uint64_t confirmed = 0;
  std::uint64_t rejected = 0;
  std::mutex mutex;
  connection().publisher().on_confirm([&](const ConfirmEvent& event) {
    const std::lock_guard lock(mutex);
    for (const SeqRange& range : event.confirmed) confirmed += range.last - range.first + 1;
    for (const Rejection& one : event.rejected) rejected += one.seqs.last - one.seqs.first + 1;
  });
  Bodies expected;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(connection().publisher().publish(Message::to_queue("q", std::to_string(i))));
    if (i < 30) expected.push_back(std::to_string(i));
  }
  EXPECT_EQ(connection().publisher().wait_for_confirms(kLong).error().code, ErrorCode::kQueueFull);
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(confirmed, 30u);
    EXPECT_EQ(rejected, 70u);
  }
  crash_nodes();
  EXPECT_EQ(publish("", "q", "more").error, ErrorCode::kQueueFull);
  EXPECT_EQ(take("q"), expected);
}

TEST_F(Limits, Line26WordsThatMakeNoSenseAreRefused) {
  for (const Table& arguments :
       {Table{{"x-max-length", -1}}, Table{{"x-max-length-bytes", "much"}},
        Table{{"x-overflow", "drop-tail"}}, Table{{"x-overflow", "reject-publish-dlx"}}}) {
    QueueOptions options;
    options.arguments = arguments;
    const auto declared = admin().declare_queue("q", options);
    ASSERT_FALSE(declared);
    EXPECT_EQ(declared.error().code, ErrorCode::kPreconditionFailed);
    EXPECT_NE(declared.error().text.find(arguments.begin()->first), std::string::npos);
  }
}

}  // namespace
}  // namespace segue::client
