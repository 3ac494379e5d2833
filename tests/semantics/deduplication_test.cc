// Line 7 of docs/semantics.md, second half: deduplication by ids of the application.

#include <algorithm>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {
namespace {

class Deduplication : public Semantics {
 protected:
  static Message with_id(const std::string& to, const Value& id, const std::string& body) {
    Message message = Message::to_queue(to, body);
    message.header.properties.headers["x-deduplication-id"] = id;
    return message;
  }
  void send(const std::string& to, const std::string& id, const std::string& body) {
    const Fate fate = publish(with_id(to, id, body));
    EXPECT_TRUE(fate.confirmed) << body << ": " << fate.text;
  }
};

const Table kWindow{{"x-deduplication-window", 600'000}};

TEST_F(Deduplication, Line07AMessageWithAnIdIsEnqueuedOnceInTheWindow) {
  for (const bool durable : {true, false}) {
    const std::string name = durable ? "durable" : "transient";
    queue(name, kWindow, durable);
    send(name, "1", "first");
    send(name, "1", "again");
    send(name, "2", "second");
    publish_routed("", name, "without");
    publish_routed("", name, "without");
    EXPECT_EQ(take(name), (Bodies{"first", "second", "without", "without"}));
    const auto status = admin().queue_status(name);
    EXPECT_EQ(status->deduplicated_total, 1u);
    EXPECT_EQ(status->dedupe_entries, 2u);
    EXPECT_GT(status->dedupe_bytes, 0u);
  }
}

TEST_F(Deduplication, Line07EachQueueGoesByItsOwnWindow) {
  queue("with", kWindow);
  queue("short", {{"x-deduplication-window", 1}});
  queue("without");
  for (const char* name : {"with", "short", "without"}) bind({"amq.fanout", name, ""});
  for (const char* body : {"a", "b"}) {
    Message message = Message::to_exchange("amq.fanout", "", body);
    message.header.properties.headers["x-deduplication-id"] = std::string("1");
    ASSERT_TRUE(publish(std::move(message)).confirmed);
    // The short window is over.
    wait_for("short", [](const QueueDescription& status) { return status.dedupe_entries == 0; });
  }
  EXPECT_EQ(take("with"), (Bodies{"a"}));
  EXPECT_EQ(take("short"), (Bodies{"a", "b"}));
  EXPECT_EQ(take("without"), (Bodies{"a", "b"}));
}

TEST_F(Deduplication, Line07AnotherProducerRepeatsAfterACrash) {
  queue("q", kWindow);
  send("q", "1", "first");
  crash_nodes();
  Connection other = cluster().connect("other");
  ASSERT_TRUE(other.publisher().publish_confirmed(with_id("q", std::string("1"), "again")).get());
  send("q", "2", "second");
  EXPECT_EQ(take("q"), (Bodies{"first", "second"}));
  crash_nodes();
  send("q", "1", "again, and it is not there any more");
  EXPECT_EQ(take("q"), (Bodies{}));
}

TEST_F(Deduplication, Line07WhatWasOnItsWayInACrashIsThereOnceWhoeverSendsItAgain) {
  queue("q", kWindow);
  constexpr int kMessages = 300;
  Bodies expected;
  for (int i = 0; i < kMessages; ++i) {
    expected.push_back(std::to_string(1000 + i));
    ASSERT_TRUE(connection().publisher().publish(with_id("q", expected.back(), expected.back())));
  }
  crash_nodes();
  Connection other = cluster().connect("other");
  for (const std::string& body : expected) {
    ASSERT_TRUE(other.publisher().publish(with_id("q", body, body)));
  }
  ASSERT_TRUE(other.publisher().wait_for_confirms(kLong));
  ASSERT_TRUE(connection().publisher().wait_for_confirms(kLong));
  Bodies taken = take("q");
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, expected);
}

TEST_F(Deduplication, Line07IdsThatMakeNoSenseAreRejectedAndArgumentsRefused) {
  queue("q", kWindow);
  for (const Value& bad : {Value(std::string(256, 'x')), Value(std::string()), Value(7)}) {
    const Fate fate = publish(with_id("q", bad, "body"));
    EXPECT_FALSE(fate.confirmed);
    EXPECT_EQ(fate.error, ErrorCode::kPreconditionFailed);
    EXPECT_NE(fate.text.find("x-deduplication-id"), std::string::npos) << fate.text;
  }
  send("q", std::string(255, 'x'), "longest");
  EXPECT_EQ(take("q"), (Bodies{"longest"}));
  for (const Table& arguments :
       {Table{{"x-deduplication-window", 0}}, Table{{"x-deduplication-max", 10}},
        Table{{"x-deduplication-window", 10}, {"x-deduplication-max", 0}}}) {
    QueueOptions options;
    options.arguments = arguments;
    const auto declared = admin().declare_queue("r", options);
    ASSERT_FALSE(declared);
    EXPECT_EQ(declared.error().code, ErrorCode::kPreconditionFailed);
  }
}

TEST_F(Deduplication, Line07TheWindowIsChangedInPlace) {
  queue("q");
  send("q", "1", "a");
  update("q", kWindow);
  send("q", "1", "b");  // it was not remembered before
  send("q", "1", "c");
  update("q", {});
  send("q", "1", "d");
  EXPECT_EQ(take("q"), (Bodies{"a", "b", "d"}));
}

TEST_F(Deduplication, Line07ARejectedMessageIsNotRemembered) {
  queue(
      "q",
      {{"x-deduplication-window", 600'000}, {"x-max-length", 1}, {"x-overflow", "reject-publish"}});
  send("q", "1", "a");
  EXPECT_EQ(publish(with_id("q", std::string("2"), "b")).error, ErrorCode::kQueueFull);
  EXPECT_EQ(take("q"), (Bodies{"a"}));
  send("q", "2", "b");
  EXPECT_EQ(take("q"), (Bodies{"b"}));
}

TEST_F(Deduplication, Line07DeadLettersAreLetInWhateverTheirId) {
  queue("dead", kWindow);
  queue("q", {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "dead"}});
  send("dead", "1", "direct");
  send("q", "1", "letter");
  next_of("q").reject();
  wait_for_ready("dead", 2);
  EXPECT_EQ(take("dead"), (Bodies{"direct", "letter"}));
}

}  // namespace
}  // namespace segue::client
