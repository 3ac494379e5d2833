#include "cli/definitions.h"

#include <gtest/gtest.h>

namespace segue::cli {
namespace {

using client::Binding;

constexpr char kRabbit[] = R"({
  "rabbit_version": "3.10.8",
  "users": [{"name": "guest"}],
  "vhosts": [{"name": "/"}, {"name": "shop"}],
  "policies": [{"name": "p", "vhost": "/", "pattern": "^a", "priority": 2,
    "apply-to": "quorum_queues", "definition": {"max-length": 5, "ha-mode": "all"}},
    {"name": "mirrors", "vhost": "/", "pattern": ".", "definition": {"ha-mode": "all"}}],
  "queues": [
    {"name": "orders", "vhost": "/", "durable": true, "auto_delete": false,
     "arguments": {"x-queue-type": "quorum", "x-delivery-limit": 5}},
    {"name": "old", "vhost": "/", "durable": false, "auto_delete": true, "arguments": []},
    {"name": "log", "vhost": "/", "durable": true, "arguments": {"x-queue-type": "stream"}},
    {"name": "amq.gen-xyz", "vhost": "/", "durable": false, "arguments": {}},
    {"name": "theirs", "vhost": "shop", "durable": true, "arguments": {}}
  ],
  "exchanges": [
    {"name": "amq.topic", "vhost": "/", "type": "topic"},
    {"name": "events", "vhost": "/", "type": "topic", "durable": true, "auto_delete": false,
     "internal": false, "arguments": {"alternate-exchange": "lost", "x-odd": 1}},
    {"name": "later", "vhost": "/", "type": "x-delayed-message", "durable": true,
     "arguments": {"x-delayed-type": "direct"}}
  ],
  "bindings": [
    {"source": "", "vhost": "/", "destination": "orders", "destination_type": "queue",
     "routing_key": "orders", "arguments": {}},
    {"source": "events", "vhost": "/", "destination": "orders", "destination_type": "queue",
     "routing_key": "order.#", "arguments": {}},
    {"source": "amq.topic", "vhost": "/", "destination": "events", "destination_type": "exchange",
     "routing_key": "#", "arguments": {}},
    {"source": "later", "vhost": "/", "destination": "orders", "destination_type": "queue",
     "routing_key": "k", "arguments": {}},
    {"source": "events", "vhost": "/", "destination": "log", "destination_type": "queue",
     "routing_key": "k", "arguments": {}}
  ]
})";

Definitions some() {
  Definitions definitions;
  client::ExchangeOptions& events = definitions.exchanges["events \"1\""];
  events.type = "topic";
  events.internal = true;
  events.arguments["alternate-exchange"] = "lost";
  client::QueueOptions& queue = definitions.queues["q"];
  queue.durable = false;
  queue.auto_delete = true;
  queue.arguments["x-max-priority"] = 5;
  definitions.queues["\xC3\xA4"];
  definitions.policies["p"] = {"p", "^q", "queues", -3, {{"max-length", 5}}};
  definitions.bindings.push_back({"events \"1\"", "q", "a.*", {{"x", client::Value()}}, ""});
  definitions.bindings.push_back({"amq.fanout", "", "", {}, "events \"1\""});
  return definitions;
}

std::string error_of(const std::string& text) {
  const auto read = read_definitions(text, "/");
  EXPECT_FALSE(read) << text;
  return read ? "" : read.status().message();
}

TEST(Definitions, WhatIsWrittenIsReadBackEqual) {
  const std::string text = definitions_json(some());
  const auto read = read_definitions(text, "/");
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_TRUE(compare_definitions(read->definitions, some()).none());
  EXPECT_EQ(definitions_json(read->definitions), text);
  EXPECT_TRUE(read->notes.empty());
  EXPECT_FALSE(read->from_rabbitmq);
  const auto nothing = read_definitions(definitions_json({}), "/");
  ASSERT_TRUE(nothing) << nothing.status().message();
  EXPECT_TRUE(compare_definitions(nothing->definitions, {}).none());
}

TEST(Definitions, DifferencesNameWhatIsWantedAndWhatIs) {
  Definitions current = some();
  Definitions wanted = some();
  wanted.queues["new"];
  current.queues["old"];
  wanted.queues["q"].arguments["x-expires"] = 10;
  wanted.queues["q"].durable = true;
  current.queues["q"].arguments["x-consumer-timeout"] = 7;
  wanted.bindings.pop_back();
  wanted.bindings.push_back({"events \"1\"", "q", "b", {}, ""});
  const DefinitionDifferences differences = compare_definitions(wanted, current);
  EXPECT_EQ(differences.missing,
            (std::vector<std::string>{"queue 'new'",
                                      "binding of exchange 'events \"1\"' to queue "
                                      "'q' with key 'b'"}));
  EXPECT_EQ(differences.surplus,
            (std::vector<std::string>{"queue 'old'",
                                      "binding of exchange 'amq.fanout' to exchange "
                                      "'events \"1\"' with key ''"}));
  ASSERT_EQ(differences.different.size(), 1u);
  EXPECT_EQ(differences.different[0],
            "queue 'q': durable is false, wanted true; x-expires is not set, wanted 10; "
            "x-consumer-timeout is 7, wanted not set");
}

TEST(Definitions, WrongDocumentsAreRefusedWithTheirPlace) {
  EXPECT_NE(error_of("").find("byte"), std::string::npos) << error_of("");
  EXPECT_NE(error_of("[]").find("an array"), std::string::npos) << error_of("[]");
  EXPECT_NE(error_of("{}").find("segue_definitions"), std::string::npos);
  EXPECT_NE(error_of(R"({"segue_definitions": 2})").find("newer"), std::string::npos);
  const auto with = [](const std::string& rest) {
    return error_of(R"({"segue_definitions": 1, )" + rest + "}");
  };
  EXPECT_EQ(with(R"("queue": [])"),
            "the document has a member 'queue' that is not known; there are segue_definitions, "
            "exchanges, queues, bindings, policies");
  EXPECT_EQ(with(R"("queues": {})"), "queues is an object; it must be a list");
  EXPECT_EQ(with(R"("queues": [7])"), "queues[0] is a number; it must be an object");
  EXPECT_EQ(with(R"("queues": [{"name": "a"}, {"durable": true}])"),
            "queues[1].name is missing; it must be a string");
  EXPECT_EQ(with(R"("queues": [{"name": "a", "durable": 1}])"),
            "queues[0].durable is a number; it must be true or false");
  EXPECT_EQ(with(R"("queues": [{"name": "a"}, {"name": "a"}])"),
            "queues[1]: queue 'a' is in the document twice");
  EXPECT_EQ(with(R"("bindings": [{"exchange": "e", "queue": "q", "to_exchange": "f"}])"),
            "bindings[0] must have either a queue or a to_exchange");
}

TEST(Definitions, OfRabbitMqsDocumentWhatFitsIsTakenAndTheRestIsTold) {
  const auto read = read_definitions(kRabbit, "/");
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_TRUE(read->from_rabbitmq);
  const Definitions& taken = read->definitions;
  ASSERT_EQ(taken.queues.size(), 2u);
  EXPECT_EQ(taken.queues.at("orders").arguments,
            (client::Table{{"x-delivery-limit", client::Value(5)}}));
  EXPECT_TRUE(taken.queues.at("old").auto_delete);
  EXPECT_FALSE(taken.queues.at("old").durable);
  ASSERT_EQ(taken.exchanges.size(), 1u);
  EXPECT_EQ(taken.exchanges.at("events").arguments,
            (client::Table{{"alternate-exchange", client::Value("lost")}}));
  ASSERT_EQ(taken.bindings.size(), 2u);
  EXPECT_EQ(taken.bindings[0].routing_key, "order.#");
  EXPECT_EQ(taken.bindings[1].to_exchange, "events");
  ASSERT_EQ(taken.policies.size(), 1u);
  EXPECT_EQ(taken.policies.at("p").pattern, "^a");
  EXPECT_EQ(taken.policies.at("p").priority, 2);
  EXPECT_EQ(taken.policies.at("p").apply_to, "queues");
  EXPECT_EQ(taken.policies.at("p").definition, (client::Table{{"max-length", 5}}));
  std::map<std::string, bool> notes;
  for (const DefinitionNote& note : read->notes) notes[note.object] = note.left_out;
  const std::map<std::string, bool> expected = {
      {"queue 'orders'", false},
      {"queue 'log'", true},
      {"queue 'amq.gen-xyz'", true},
      {"virtual host 'shop'", true},
      {"exchange 'events'", false},
      {"exchange 'later'", true},
      {"users", true},
      {"policy 'p'", false},
      {"policy 'mirrors'", true},
      {"binding of exchange 'later' to queue 'orders' with key 'k'", true},
      {"binding of exchange 'events' to queue 'log' with key 'k'", true}};
  EXPECT_EQ(notes, expected);
}

TEST(Definitions, AnotherVirtualHostCanBeTaken) {
  const auto read = read_definitions(kRabbit, "shop");
  ASSERT_TRUE(read) << read.status().message();
  ASSERT_EQ(read->definitions.queues.size(), 1u);
  EXPECT_TRUE(read->definitions.queues.contains("theirs"));
  EXPECT_TRUE(read->definitions.bindings.empty());
}

TEST(Definitions, AVirtualHostThatIsNotThereIsRefusedWithThoseThatAre) {
  const auto read = read_definitions(kRabbit, "none");
  ASSERT_FALSE(read);
  EXPECT_NE(read.status().message().find("'/', 'shop'"), std::string::npos)
      << read.status().message();
}

TEST(Definitions, ABindingOfWhatTheDocumentDoesNotHaveIsTaken) {
  const auto read = read_definitions(
      R"({"rabbit_version": "3", "bindings": [{"source": "amq.direct", "destination": "here",
          "destination_type": "queue", "routing_key": "k", "arguments": {}}]})",
      "/");
  ASSERT_TRUE(read) << read.status().message();
  ASSERT_EQ(read->definitions.bindings.size(), 1u);
  EXPECT_EQ(read->definitions.bindings[0].queue, "here");
}

TEST(Definitions, NoBytesUpsetTheReader) {
  const std::string whole = kRabbit;
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
    EXPECT_FALSE(read_definitions(whole.substr(0, cut), "/")) << cut;
  }
  const std::string own = definitions_json(some());
  for (std::size_t at = 0; at < own.size(); ++at) {
    std::string odd = own;
    odd[at] = '\x7F';
    (void)read_definitions(odd, "/");
  }
}

}  // namespace
}  // namespace segue::cli
