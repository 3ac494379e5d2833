// Line 26 of docs/semantics.md: limits of a queue's length.

#include <memory>
#include <mutex>
#include <thread>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

/// What a publisher was told; its handler may still run when the answer to a publish is known.
struct Told {
  std::mutex mutex;
  std::uint64_t confirmed = 0;
  std::vector<Rejection> rejections;

  void add(const ConfirmEvent& event) {
    const std::lock_guard lock(mutex);
    for (const SeqRange& range : event.confirmed) confirmed += range.last - range.first + 1;
    rejections.insert(rejections.end(), event.rejected.begin(), event.rejected.end());
  }
  std::uint64_t rejected() const {
    std::uint64_t sum = 0;
    for (const Rejection& one : rejections) sum += one.seqs.last - one.seqs.first + 1;
    return sum;
  }
};

class Limits : public Semantics {
 protected:
  std::shared_ptr<Told> listen() {
    auto told = std::make_shared<Told>();
    connection().publisher().on_confirm([told](const ConfirmEvent& event) { told->add(event); });
    return told;
  }
  /// Waits until so many messages were settled.
  static void wait_until_told(Told& told, std::uint64_t settled) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < deadline) {
      {
        const std::lock_guard lock(told.mutex);
        if (told.confirmed + told.rejected() >= settled) return;
      }
      std::this_thread::yield();
    }
    ADD_FAILURE() << "not told of " << settled;
  }
};

TEST_F(Limits, Line26TheOldestGoBeyondTheLimit) {
  for (const bool durable : {true, false}) {
    const std::string name = durable ? "durable" : "transient";
    queue(name, {{"x-max-length", 3}}, durable);
    for (int i = 1; i <= 5; ++i) publish_routed("", name, std::to_string(i));
    // The last one goes a moment after the confirm: a consumer could have taken it.
    wait_for_ready(name, 3);
    EXPECT_EQ(admin().queue_status(name)->dropped_total, 2u);
    EXPECT_EQ(take(name), (Bodies{"3", "4", "5"}));
  }
  queue("bytes", {{"x-max-length-bytes", 10}, {"x-overflow", "drop-head"}});
  for (const char* body : {"1", "22", "333", "4444", "55555"}) publish_routed("", "bytes", body);
  wait_for_ready("bytes", 2);
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
  wait_for_ready("q", 0);
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
  const auto told = listen();
  EXPECT_TRUE(publish("amq.fanout", "", "first").confirmed);
  const Fate fate = publish("amq.fanout", "", "second");
  EXPECT_FALSE(fate.confirmed);
  EXPECT_EQ(fate.error, ErrorCode::kQueueFull);
  EXPECT_EQ(fate.text.rfind("overflow", 0), 0u) << fate.text;
  wait_until_told(*told, 2);
  {
    const std::lock_guard lock(told->mutex);
    ASSERT_EQ(told->rejections.size(), 1u);
    EXPECT_EQ(told->rejections[0].queues, std::vector<std::string>{"full"});
  }
  EXPECT_EQ(take("full"), (Bodies{"first"}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(take("other" + std::to_string(i)), (Bodies{"first", "second"}));
  }
  EXPECT_TRUE(publish("amq.fanout", "", "third").confirmed);
}

TEST_F(Limits, Line26OfABatchIsTakenWhatHasRoomInOrderAndAfterACrash) {
  queue("q", {{"x-max-length", 30}, {"x-overflow", "reject-publish"}});
  const auto told = listen();
  Bodies expected;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(connection().publisher().publish(Message::to_queue("q", std::to_string(i))));
    if (i < 30) expected.push_back(std::to_string(i));
  }
  EXPECT_EQ(connection().publisher().wait_for_confirms(kLong).error().code, ErrorCode::kQueueFull);
  wait_until_told(*told, 100);
  {
    const std::lock_guard lock(told->mutex);
    EXPECT_EQ(told->confirmed, 30u);
    EXPECT_EQ(told->rejected(), 70u);
  }
  crash_nodes();
  EXPECT_EQ(publish("", "q", "more").error, ErrorCode::kQueueFull);
  EXPECT_EQ(take("q"), expected);
}

TEST_F(Limits, Line26WhatIsRejectedCanBeADeadLetterToo) {
  for (const bool durable : {true, false}) {
    const std::string name = durable ? "q" : "t";
    queue(name + "-dead");
    queue(name,
          {{"x-max-length", 1},
           {"x-overflow", "reject-publish-dlx"},
           {"x-dead-letter-exchange", ""},
           {"x-dead-letter-routing-key", name + "-dead"}},
          durable);
    EXPECT_TRUE(publish("", name, "first").confirmed);
    for (const char* const body : {"second", "third"}) {
      const Fate fate = publish("", name, body);
      EXPECT_FALSE(fate.confirmed);
      EXPECT_EQ(fate.error, ErrorCode::kQueueFull);
      EXPECT_EQ(fate.text.rfind("overflow", 0), 0u) << fate.text;
    }
    wait_for_ready(name + "-dead", 2);
    const Delivery letter = next_of(name + "-dead");
    EXPECT_EQ(letter.body(), "second");
    const Table headers = letter.properties().headers;
    EXPECT_EQ(headers.at("x-first-death-reason"), Value("maxlen"));
    EXPECT_EQ(headers.at("x-first-death-queue"), Value(name));
    letter.ack();
    EXPECT_EQ(take(name + "-dead"), (Bodies{"third"}));
    EXPECT_EQ(take(name), (Bodies{"first"}));
    EXPECT_TRUE(publish("", name, "fourth").confirmed);
  }
}

TEST_F(Limits, Line26WhatWasRejectedIsDeadThroughACrash) {
  queue("q", {{"x-max-length", 1},
              {"x-overflow", "reject-publish-dlx"},
              {"x-dead-letter-exchange", ""},
              {"x-dead-letter-routing-key", "dead"}});
  queue("dead", {{"x-max-length", 0},
                 {"x-overflow", "reject-publish-dlx"},
                 {"x-dead-letter-exchange", ""},
                 {"x-dead-letter-routing-key", "end"}});
  queue("end");
  EXPECT_TRUE(publish("", "q", "stays").confirmed);
  EXPECT_FALSE(publish("", "q", "dies").confirmed);
  crash_nodes();
  // Where it has no room a letter waits, and does not die again.
  wait_for("q", [](const QueueDescription& is) { return is.dead_lettering == 1 && is.ready == 1; });
  update("dead", {});
  wait_for_ready("dead", 1);
  EXPECT_EQ(take("dead"), (Bodies{"dies"}));
  EXPECT_EQ(take("q"), (Bodies{"stays"}));
  EXPECT_EQ(take("end"), (Bodies{}));
}

TEST_F(Limits, Line26WordsThatMakeNoSenseAreRefused) {
  for (const Table& arguments : {Table{{"x-max-length", -1}}, Table{{"x-max-length-bytes", "much"}},
                                 Table{{"x-overflow", "drop-tail"}}, Table{{"x-overflow", true}}}) {
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
