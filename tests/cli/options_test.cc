#include "cli/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/durability_option.h"

namespace segue::cli {
namespace {

using Words = std::vector<std::string>;
using std::chrono::milliseconds;

struct Parsed {
  bool json = false;
  bool verbose = false;
  std::uint64_t count = 7;
  std::uint64_t bytes = 1;
  milliseconds time{0};
  std::string key;
  std::string kind;
  std::optional<std::string> body;
  Words routers;
  std::string queue;
  Words rest;
  OptionTable options;

  Parsed() {
    options.flag(json, {"json", 'j', "", "print JSON"});
    options.flag(verbose, {"verbose", 'v', "", "say more"});
    options.number(count, {"count", 'n', "N", "how many"}, 1, 100);
    options.size(bytes, {"size", 's', "BYTES", "bytes"}, 0, 1u << 20);
    options.duration(time, {"time", 't', "TIME", "how long"});
    options.text(key, {"key", 'k', "KEY", "the key"});
    options.alias("key", "routing-key");
    options.choice(kind, {"kind", 0, "KIND", "which"}, {"tcp", "ipc"});
    options.text(body, {"body", 'b', "TEXT", "the body"});
    options.list(routers, {"router", 'r', "ENDPOINT", "a router"});
    options.positional(queue, {"QUEUE", "the queue"});
    options.positional(rest, {"FILE", "files", false});
  }

  Status parse(const Words& words) { return options.parse(words); }
};

std::string error_of(const Words& words) {
  Parsed parsed;
  const Status status = parsed.parse(words);
  EXPECT_EQ(status.code(), Code::kInvalidConfig);
  return status.message();
}

TEST(OptionTable, ReadsLongAndShortForms) {
  Parsed parsed;
  ASSERT_TRUE(parsed.parse({"-jv", "--count", "5", "--size=4KiB", "-t", "500ms", "-kabc", "q"}));
  EXPECT_TRUE(parsed.json);
  EXPECT_TRUE(parsed.verbose);
  EXPECT_EQ(parsed.count, 5u);
  EXPECT_EQ(parsed.bytes, 4096u);
  EXPECT_EQ(parsed.time, milliseconds(500));
  EXPECT_EQ(parsed.key, "abc");
  EXPECT_EQ(parsed.queue, "q");
  EXPECT_TRUE(parsed.options.given("count"));
  EXPECT_FALSE(parsed.options.given("body"));
}

TEST(OptionTable, KeepsDefaultsOfWhatIsNotGiven) {
  Parsed parsed;
  ASSERT_TRUE(parsed.parse({"q"}));
  EXPECT_EQ(parsed.count, 7u);
  EXPECT_FALSE(parsed.body.has_value());
}

TEST(OptionTable, TakesABareNumberForSeconds) {
  Parsed parsed;
  ASSERT_TRUE(parsed.parse({"--time", "3", "q"}));
  EXPECT_EQ(parsed.time, milliseconds(3000));
}

TEST(OptionTable, KnowsAnOptionByItsAlias) {
  Parsed parsed;
  ASSERT_TRUE(parsed.parse({"--routing-key", "a.b", "q"}));
  EXPECT_EQ(parsed.key, "a.b");
}

TEST(OptionTable, CollectsRepeatedOptionsAndArguments) {
  Parsed parsed;
  ASSERT_TRUE(parsed.parse({"-r", "a", "q", "x", "--router=b", "y"}));
  EXPECT_EQ(parsed.routers, (Words{"a", "b"}));
  EXPECT_EQ(parsed.rest, (Words{"x", "y"}));
}

TEST(OptionTable, TakesEverythingAfterTwoDashesAsArguments) {
  Parsed parsed;
  ASSERT_TRUE(parsed.parse({"--", "--json", "-n"}));
  EXPECT_FALSE(parsed.json);
  EXPECT_EQ(parsed.queue, "--json");
  EXPECT_EQ(parsed.rest, (Words{"-n"}));
}

TEST(OptionTable, TakesALoneDashAndAnEmptyWordAsArguments) {
  Parsed parsed;
  ASSERT_TRUE(parsed.parse({"", "-"}));
  EXPECT_EQ(parsed.queue, "");
  EXPECT_EQ(parsed.rest, (Words{"-"}));
}

TEST(OptionTable, TakesAnEmptyValueAndOneThatLooksLikeAnOption) {
  Parsed parsed;
  ASSERT_TRUE(parsed.parse({"--body=", "--key", "--json", "q"}));
  EXPECT_EQ(parsed.body, "");
  EXPECT_EQ(parsed.key, "--json");
  EXPECT_FALSE(parsed.json);
}

TEST(OptionTable, SuggestsTheOptionThatWasMeant) {
  EXPECT_EQ(error_of({"--jsn", "q"}), "no option '--jsn'; did you mean --json?");
  EXPECT_EQ(error_of({"--completely-else", "q"}), "no option '--completely-else'");
  EXPECT_EQ(error_of({"-x", "q"}), "no option '-x'");
}

TEST(OptionTable, SaysWhatAValueShouldBe) {
  EXPECT_EQ(error_of({"--count", "101", "q"}),
            "option --count: expected a whole number from 1 to 100, got '101'");
  EXPECT_EQ(error_of({"--count", "-1", "q"}),
            "option --count: expected a whole number from 1 to 100, got '-1'");
  EXPECT_EQ(error_of({"--count", "", "q"}),
            "option --count: expected a whole number from 1 to 100, got ''");
  EXPECT_EQ(error_of({"--kind", "udp", "q"}), "option --kind: expected one of tcp, ipc, got 'udp'");
  EXPECT_NE(error_of({"--size", "2MiB", "q"}).find("expected 0 to 1048576 bytes"),
            std::string::npos);
  EXPECT_NE(error_of({"--time", "soon", "q"}).find("option --time: expected"), std::string::npos);
}

TEST(OptionTable, RefusesMissingValuesAndArguments) {
  EXPECT_EQ(error_of({"q", "--count"}), "option --count needs a value: N");
  EXPECT_EQ(error_of({"q", "-n"}), "option -n needs a value: N");
  EXPECT_EQ(error_of({}), "argument QUEUE is missing (the queue)");
}

TEST(OptionTable, RefusesAValueForAFlagAndAnOptionGivenTwice) {
  EXPECT_EQ(error_of({"--json=yes", "q"}), "option --json takes no value");
  EXPECT_EQ(error_of({"-n", "1", "--count", "2", "q"}), "option --count is given twice");
}

TEST(OptionTable, RefusesArgumentsThatNobodyTakes) {
  OptionTable none;
  const Words words = {"what"};
  EXPECT_EQ(none.parse(words).message(), "unexpected argument 'what'");
}

TEST(OptionTable, CutsWhatItQuotes) {
  const std::string message = error_of({"--count", std::string(100'000, '9'), "q"});
  EXPECT_LT(message.size(), 300u);
}

TEST(OptionTable, ShowsHelpWithEverything) {
  Parsed parsed;
  EXPECT_EQ(parsed.options.usage(), " [OPTIONS] QUEUE [FILE...]");
  const std::string help = parsed.options.help();
  EXPECT_NE(help.find("  -n, --count N"), std::string::npos);
  EXPECT_NE(help.find("      --kind KIND"), std::string::npos);
  EXPECT_NE(help.find("how many"), std::string::npos);
  EXPECT_EQ(help.find("routing-key"), std::string::npos);
}

TEST(DurabilityOption, TakesWhatTheClusterTakes) {
  EXPECT_EQ(*parse_durability("sync"), client::Value("sync"));
  EXPECT_EQ(*parse_durability("60000"), client::Value(60'000));
  for (const char* text : {"", "0", "60001", "5s", "Sync"}) {
    const auto refused = parse_durability(text);
    ASSERT_FALSE(refused.is_ok()) << text;
    EXPECT_EQ(refused.status().message(),
              "expected sync, or milliseconds from 1 to 60000, got '" + std::string(text) + "'");
  }
}

}  // namespace
}  // namespace segue::cli
