#include "common/definitions.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "common/field_json.h"

namespace segue {
namespace {

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
     "arguments": {"x-delayed-type": "direct"}},
    {"name": "odd", "vhost": "/", "type": "x-delayed-message", "durable": true,
     "arguments": {"x-delayed-type": "x-recent-history"}}
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
    {"source": "odd", "vhost": "/", "destination": "orders", "destination_type": "queue",
     "routing_key": "k", "arguments": {}},
    {"source": "events", "vhost": "/", "destination": "log", "destination_type": "queue",
     "routing_key": "k", "arguments": {}}
  ]
})";

constexpr char kSome[] = R"({"segue_definitions": 1,
  "exchanges": [{"name": "events \"1\"", "type": "topic", "internal": true,
                 "arguments": {"alternate-exchange": "lost"}}],
  "queues": [{"name": "q", "durable": false, "auto_delete": true,
              "arguments": {"x-max-priority": 5}}, {"name": "\u00e4"}],
  "policies": [{"name": "p", "pattern": "^q", "apply_to": "queues", "priority": -3,
                "definition": {"max-length": 5}}],
  "bindings": [
    {"exchange": "events \"1\"", "queue": "q", "routing_key": "a.*", "arguments": {"x": null}},
    {"exchange": "amq.fanout", "to_exchange": "events \"1\""}]})";

/// As `segue definitions import` reads it without options.
Result<ReadDefinitions> read_one(std::string_view text, const std::string& from_vhost = "/") {
  return read_definitions(text, {"/", from_vhost});
}
Definitions some() {
  const auto read = read_one(kSome);
  EXPECT_TRUE(read) << read.status().message();
  return read ? read->definitions : Definitions();
}
std::string json_of(const FieldMap& fields) {
  JsonWriter json;
  write_fields(json, fields);
  return json.take();
}
void set(FieldMap* fields, const char* name, std::int64_t value) {
  (*fields)[name].set_int_value(value);
}
v1::QueueDefinition& queue_of(Definitions& definitions, const std::string& name) {
  v1::QueueDefinition& queue = definitions.queues[{"/", name}];
  queue.set_vhost("/");
  queue.set_name(name);
  return queue;
}

std::string error_of(const std::string& text) {
  const auto read = read_one(text);
  EXPECT_FALSE(read) << text;
  return read ? "" : read.status().message();
}

TEST(Definitions, WhatIsWrittenIsReadBackEqual) {
  const std::string text = definitions_json(some());
  const auto read = read_one(text);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_TRUE(compare_definitions(read->definitions, some(), "/").none());
  EXPECT_EQ(definitions_json(read->definitions), text);
  EXPECT_TRUE(read->notes.empty());
  EXPECT_FALSE(read->from_rabbitmq);
  const auto nothing = read_one(definitions_json(Definitions()));
  ASSERT_TRUE(nothing) << nothing.status().message();
  EXPECT_TRUE(compare_definitions(nothing->definitions, {}, "/").none());
}

TEST(Definitions, DifferencesNameWhatIsWantedAndWhatIs) {
  Definitions current = some();
  Definitions wanted = some();
  queue_of(wanted, "new");
  queue_of(current, "old");
  set(queue_of(wanted, "q").mutable_arguments(), "x-expires", 10);
  queue_of(wanted, "q").set_durable(true);
  set(queue_of(current, "q").mutable_arguments(), "x-consumer-timeout", 7);
  wanted.bindings.pop_back();
  wanted.bindings.push_back(wanted.bindings.front());
  wanted.bindings.back().set_routing_key("b");
  wanted.bindings.back().clear_arguments();
  const DefinitionDifferences differences = compare_definitions(wanted, current, "/");
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
            "queue 'q': durable is false, wanted true; x-consumer-timeout is 7, wanted not set; "
            "x-expires is not set, wanted 10");
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
            "vhosts, exchanges, queues, bindings, policies");
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
  const auto read = read_one(kRabbit);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_TRUE(read->from_rabbitmq);
  const Definitions& taken = read->definitions;
  ASSERT_EQ(taken.queues.size(), 2u);
  EXPECT_EQ(json_of(taken.queues.at({"/", "orders"}).arguments()), "{\"x-delivery-limit\":5}");
  EXPECT_TRUE(taken.queues.at({"/", "old"}).auto_delete());
  EXPECT_FALSE(taken.queues.at({"/", "old"}).durable());
  ASSERT_EQ(taken.exchanges.size(), 2u);
  EXPECT_EQ(json_of(taken.exchanges.at({"/", "events"}).arguments()),
            "{\"alternate-exchange\":\"lost\"}");
  EXPECT_EQ(taken.exchanges.at({"/", "later"}).type(), "direct");
  EXPECT_TRUE(taken.exchanges.at({"/", "later"}).arguments().empty());
  ASSERT_EQ(taken.bindings.size(), 3u);
  EXPECT_EQ(taken.bindings[0].routing_key(), "order.#");
  EXPECT_EQ(taken.bindings[1].to_exchange(), "events");
  EXPECT_EQ(taken.bindings[2].exchange(), "later");
  ASSERT_EQ(taken.policies.size(), 1u);
  const v1::PolicyDefinition& policy = taken.policies.at({"/", "p"});
  EXPECT_EQ(policy.pattern(), "^a");
  EXPECT_EQ(policy.priority(), 2);
  EXPECT_EQ(policy.apply_to(), "queues");
  EXPECT_EQ(json_of(policy.definition()), "{\"max-length\":5}");
  std::map<std::string, bool> notes;
  for (const DefinitionNote& note : read->notes) notes[note.object] = note.left_out;
  const std::map<std::string, bool> expected = {
      {"queue 'orders'", false},
      {"queue 'log'", true},
      {"queue 'amq.gen-xyz'", true},
      {"virtual host 'shop'", true},
      {"exchange 'events'", false},
      {"exchange 'later'", false},
      {"exchange 'odd'", true},
      {"users", true},
      {"policy 'p'", false},
      {"policy 'mirrors'", true},
      {"binding of exchange 'odd' to queue 'orders' with key 'k'", true},
      {"binding of exchange 'events' to queue 'log' with key 'k'", true}};
  EXPECT_EQ(notes, expected);
}

TEST(Definitions, AnotherVirtualHostCanBeTaken) {
  const auto read = read_one(kRabbit, "shop");
  ASSERT_TRUE(read) << read.status().message();
  ASSERT_EQ(read->definitions.queues.size(), 1u);
  EXPECT_TRUE(read->definitions.queues.contains({"/", "theirs"}));
  EXPECT_TRUE(read->definitions.bindings.empty());
}

TEST(Definitions, AllVirtualHostsOfRabbitMqComeWithTheirLimits) {
  const auto read = read_definitions(
      R"({"rabbit_version": "3.12",
        "vhosts": [{"name": "/", "limits": []}, {"name": "shop", "limits": {"max-queues": 7}},
                   {"name": "old"}],
        "parameters": [{"component": "vhost-limits", "name": "limits", "vhost": "old",
                        "value": {"max-connections": 3, "max-queues": -1}},
                       {"component": "shovel", "name": "s", "vhost": "/", "value": {}}],
        "queues": [{"name": "q", "vhost": "/"}, {"name": "q", "vhost": "shop"}],
        "exchanges": [{"name": "e", "vhost": "shop", "type": "x-odd"}],
        "bindings": [{"source": "e", "vhost": "shop", "destination": "q"},
                     {"source": "amq.topic", "vhost": "old", "destination": "r"}]})",
      {"/", std::nullopt});
  ASSERT_TRUE(read) << read.status().message();
  const Definitions& taken = read->definitions;
  ASSERT_EQ(taken.vhosts.size(), 3u);
  EXPECT_EQ(taken.vhosts.at("shop").max_queues(), 7u);
  EXPECT_FALSE(taken.vhosts.at("old").has_max_queues());
  EXPECT_EQ(taken.vhosts.at("old").max_sessions(), 3u);
  EXPECT_TRUE(taken.queues.contains({"/", "q"}) && taken.queues.contains({"shop", "q"}));
  ASSERT_EQ(taken.bindings.size(), 1u);
  EXPECT_EQ(taken.bindings[0].vhost(), "old");
  std::map<std::string, bool> notes;
  for (const DefinitionNote& note : read->notes) notes[note.object] = note.left_out;
  const std::map<std::string, bool> expected = {
      {"virtual host 'old'", false},
      {"parameters", true},
      {"exchange 'e' of virtual host 'shop'", true},
      {"binding of exchange 'e' to queue 'q' with key '' of virtual host 'shop'", true}};
  EXPECT_EQ(notes, expected);
}

TEST(Definitions, OfSeveralVirtualHostsAreReadBackEqualAndCompared) {
  const std::string text = R"({"segue_definitions": 1,
    "vhosts": [{"name": "shop", "max_queues": 7, "max_bytes": 100}, {"name": "/"}],
    "queues": [{"name": "q", "vhost": "shop"}, {"name": "q"}]})";
  const auto read = read_one(text);
  ASSERT_TRUE(read) << read.status().message();
  const auto again = read_one(definitions_json(read->definitions));
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_TRUE(compare_definitions(again->definitions, read->definitions, "/").none());
  EXPECT_TRUE(compare_definitions(read_one(definitions_yaml(read->definitions))->definitions,
                                  read->definitions, "/")
                  .none());

  Definitions current = read->definitions;
  current.vhosts["shop"].set_max_queues(8);
  current.queues.erase({"shop", "q"});
  current.vhosts["more"].set_name("more");
  const DefinitionDifferences differences = compare_definitions(read->definitions, current, "/");
  EXPECT_EQ(differences.missing, std::vector<std::string>{"queue 'q' of virtual host 'shop'"});
  EXPECT_EQ(differences.different,
            std::vector<std::string>{"virtual host 'shop': max_queues is 8, wanted 7"});
  EXPECT_EQ(differences.surplus, std::vector<std::string>{"virtual host 'more'"});
}

TEST(Definitions, LimitsOfTheDefaultVirtualHostAreMissingWhileItHasNone) {
  Definitions wanted;
  wanted.vhosts["/"].set_name("/");
  wanted.vhosts["/"].set_max_queues(5);
  EXPECT_EQ(compare_definitions(wanted, {}, "/").missing,
            std::vector<std::string>{"limits of virtual host '/'"});
  Definitions current = wanted;
  current.vhosts["/"].set_max_queues(6);
  EXPECT_EQ(compare_definitions(wanted, current, "/").different.size(), 1u);
}

TEST(Definitions, AVirtualHostThatIsNotThereIsRefusedWithThoseThatAre) {
  const auto read = read_one(kRabbit, "none");
  ASSERT_FALSE(read);
  EXPECT_NE(read.status().message().find("'/', 'shop'"), std::string::npos)
      << read.status().message();
}

TEST(Definitions, ABindingOfWhatTheDocumentDoesNotHaveIsTaken) {
  const auto read = read_one(
      R"({"rabbit_version": "3", "bindings": [{"source": "amq.direct", "destination": "here",
          "destination_type": "queue", "routing_key": "k", "arguments": {}}]})");
  ASSERT_TRUE(read) << read.status().message();
  ASSERT_EQ(read->definitions.bindings.size(), 1u);
  EXPECT_EQ(read->definitions.bindings[0].queue(), "here");
}

TEST(Definitions, AFileIsNamedWithWhatIsWrongInIt) {
  const auto none = load_definitions("/does/not/exist.json");
  ASSERT_FALSE(none);
  EXPECT_NE(none.status().message().find("/does/not/exist.json': No such file"), std::string::npos)
      << none.status().message();
  EXPECT_NE(error_of("{\n\"segue_definitions\": 1,\n]}").find("line 3"), std::string::npos);
}

TEST(Definitions, OfAStartAreInARegularFileOfABoundedSize) {
  const std::string path = testing::TempDir() + "/definitions." + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_NE(load_definitions(path).status().message().find(path + "': Is a pipe"),
            std::string::npos);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  std::ofstream(path) << R"({"segue_definitions": 1})";
  EXPECT_TRUE(load_definitions(path));
  ASSERT_EQ(::truncate(path.c_str(), kMostDefinitionsBytes + 1), 0);
  EXPECT_NE(
      load_definitions(path).status().message().find("has 16777217 bytes; at most 16777216 are"),
      std::string::npos);
  ASSERT_EQ(::unlink(path.c_str()), 0);
}

TEST(Definitions, NotesComeInTheOrderOfTheDocument) {
  std::string arguments;
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    names.push_back("x-odd-" + std::to_string((i * 7) % 20));
    arguments += (i == 0 ? "\"" : ", \"") + names.back() + "\": 1";
  }
  const auto read = read_one(R"({"rabbit_version": "3", "exchanges": [{"name": "e",
      "vhost": "/", "type": "topic", "arguments": {)" +
                             arguments + "}}]}");
  ASSERT_TRUE(read) << read.status().message();
  ASSERT_EQ(read->notes.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_NE(read->notes[i].text.find("'" + names[i] + "'"), std::string::npos) << i;
  }
}

TEST(Definitions, NoBytesUpsetTheReader) {
  const std::string whole = kRabbit;
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
    EXPECT_FALSE(read_one(whole.substr(0, cut))) << cut;
  }
  const std::string own = definitions_json(some());
  for (std::size_t at = 0; at < own.size(); ++at) {
    std::string odd = own;
    odd[at] = '\x7F';
    (void)read_one(odd);
  }
}

}  // namespace
}  // namespace segue
