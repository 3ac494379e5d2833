// `segue publish --lines --confirm` and `segue consume`, as a script uses them, while routers and
// nodes are killed: every line whose confirm was reported is consumed.
//
//   SEGUE_CRASH_ROUNDS=20 SEGUE_CRASH_SEED=7 build/release/bin/segue_cluster_tests
//   --gtest_filter='LineFilesCrash.*'

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>
#include <sstream>

#include "tests/fakes/test_cluster.h"

namespace segue {
namespace {

using std::chrono::milliseconds;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class LineFilesCrash : public testing::Test {
 protected:
  static constexpr int kLines = 4000;

  std::unique_ptr<Process> segue(std::vector<std::string> arguments) const {
    for (const std::string& endpoint : cluster_.router_endpoints()) {
      arguments.insert(arguments.end(), {"--router", endpoint});
    }
    return std::make_unique<Process>("segue", arguments);
  }
  TestCluster cluster_{{.routers = 2, .nodes = 3}};
};

TEST_F(LineFilesCrash, EveryConfirmedLineIsConsumed) {
  const std::uint64_t rounds = from_environment("SEGUE_CRASH_ROUNDS", 6);
  const std::uint64_t seed = from_environment("SEGUE_CRASH_SEED", std::random_device{}());
  SCOPED_TRACE("SEGUE_CRASH_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  cluster_.start_all();
  ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  ASSERT_EQ(segue({"queue", "declare", "lines"})->wait(), 0);
  std::vector<std::string> all = cluster_.node_ids();
  all.insert(all.end(), cluster_.router_ids().begin(), cluster_.router_ids().end());

  std::set<std::string> published;
  std::multiset<std::string> consumed;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto publish = segue({"publish", "--queue", "lines", "--lines", "--confirm"});
    const auto consume = segue({"consume", "lines", "--follow"});
    std::string text;
    for (int i = 0; i < kLines; ++i) {
      const std::string line = "round " + std::to_string(round) + " line " + std::to_string(i);
      published.insert(line);
      text += line + "\n";
    }
    // Some go through, a process dies, the rest follows.
    const std::size_t cut = random() % text.size();
    ASSERT_TRUE(publish->write_input(std::string_view(text).substr(0, cut)));
    consume->wait_for_stdout("\n", milliseconds(random() % 300));
    const std::string victim = all[random() % all.size()];
    cluster_.kill(victim);
    ASSERT_TRUE(publish->write_input(std::string_view(text).substr(cut)));
    publish->close_input();
    cluster_.start(victim);
    ASSERT_EQ(publish->wait(milliseconds(90'000)), 0)
        << victim << " " << publish->stderr_text() << cluster_.logs();
    // The end of all lines: nothing is left, or it comes below.
    consume->kill(SIGINT);
    ASSERT_TRUE(consume->wait(milliseconds(30'000))) << "consume does not stop";
    std::istringstream out(consume->stdout_text());
    for (std::string line; std::getline(out, line);) consumed.insert(line);
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    const auto rest = segue({"consume", "lines", "--until-empty"});
    const auto ended = rest->wait(milliseconds(90'000));
    ASSERT_TRUE(ended == 0 || ended == 3) << rest->stderr_text();
    std::istringstream more(rest->stdout_text());
    for (std::string line; std::getline(more, line);) consumed.insert(line);
    for (const std::string& line : published) {
      ASSERT_TRUE(consumed.contains(line)) << "lost: " << line << " (" << victim << " killed)";
    }
  }
  for (const std::string& line : consumed) ASSERT_TRUE(published.contains(line)) << line;
}

}  // namespace
}  // namespace segue
