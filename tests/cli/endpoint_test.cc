#include "cli/endpoint.h"

#include <gtest/gtest.h>

#include <map>

namespace segue::cli {
namespace {

struct World {
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;

  EndpointLookup lookup() const {
    return {[this](const char* name) -> std::optional<std::string> {
              const auto at = variables.find(name);
              if (at == variables.end()) return std::nullopt;
              return at->second;
            },
            [this](const std::string& path) -> Result<std::optional<std::string>> {
              const auto at = files.find(path);
              if (at == files.end()) return std::optional<std::string>();
              return std::optional<std::string>(at->second);
            }};
  }
};

using Words = std::vector<std::string>;

TEST(Endpoint, IsTheDefaultWhenNothingIsSaid) {
  const World world{{{"HOME", "/home/a"}}, {}};
  const Result<Endpoint> endpoint = choose_endpoint({}, world.lookup());
  ASSERT_TRUE(endpoint.is_ok());
  EXPECT_EQ(endpoint->routers, Words{"tcp://127.0.0.1:5680"});
  EXPECT_EQ(endpoint->source, "the default");
}

TEST(Endpoint, ComesFromTheFileThenTheVariableThenTheFlag) {
  World world{{{"HOME", "/h"}},
              {{"/h/.config/segue/config.json",
                R"({"routers": ["tcp://a:1", "tcp://b:2"], "vhost": "v"})"}}};
  Result<Endpoint> endpoint = choose_endpoint({}, world.lookup());
  ASSERT_TRUE(endpoint.is_ok());
  EXPECT_EQ(endpoint->routers, (Words{"tcp://a:1", "tcp://b:2"}));
  EXPECT_EQ(endpoint->vhost, "v");

  world.variables["SEGUE_ROUTER"] = "tcp://c:3,d:4";
  endpoint = choose_endpoint({}, world.lookup());
  ASSERT_TRUE(endpoint.is_ok());
  EXPECT_EQ(endpoint->routers, (Words{"tcp://c:3", "tcp://d:4"}));
  EXPECT_EQ(endpoint->source, "SEGUE_ROUTER");
  EXPECT_EQ(endpoint->vhost, "v");

  endpoint = choose_endpoint({"ipc:///tmp/r1.sock"}, world.lookup());
  ASSERT_TRUE(endpoint.is_ok());
  EXPECT_EQ(endpoint->routers, Words{"ipc:///tmp/r1.sock"});
  EXPECT_EQ(endpoint->source, "--router");
}

TEST(Endpoint, FindsTheFileWhereTheEnvironmentSays) {
  World world{{{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}},
              {{"/x/segue/config.json", R"({"routers": "tcp://x:1"})"},
               {"/own.json", R"({"routers": "tcp://own:1"})"}}};
  EXPECT_EQ(choose_endpoint({}, world.lookup())->routers, Words{"tcp://x:1"});
  world.variables["SEGUE_CONFIG"] = "/own.json";
  EXPECT_EQ(choose_endpoint({}, world.lookup())->routers, Words{"tcp://own:1"});
  world.variables["SEGUE_CONFIG"] = "/none.json";
  EXPECT_NE(choose_endpoint({}, world.lookup()).status().message().find("/none.json"),
            std::string::npos);
}

TEST(Endpoint, RefusesNonsenseAndSaysWhereItStands) {
  const World world{{}, {}};
  for (const char* flag : {"tcp://", "tcp://host", "http://host:1", "host:99999", "", "a:1,"}) {
    const Result<Endpoint> endpoint = choose_endpoint({flag}, world.lookup());
    ASSERT_FALSE(endpoint.is_ok()) << flag;
    EXPECT_EQ(endpoint.status().message().rfind("--router: ", 0), 0u);
  }
}

TEST(Endpoint, RefusesABrokenFile) {
  for (const char* text : {"", "[]", "{\"router\": \"a:1\"}", "{\"routers\": 1}",
                           "{\"routers\": [1]}", "{\"vhost\": 1}"}) {
    const World world{{{"SEGUE_CONFIG", "/c"}}, {{"/c", text}}};
    const Result<Endpoint> endpoint = choose_endpoint({}, world.lookup());
    ASSERT_FALSE(endpoint.is_ok()) << text;
    EXPECT_EQ(endpoint.status().message().rfind("/c: ", 0), 0u);
  }
}

}  // namespace
}  // namespace segue::cli
