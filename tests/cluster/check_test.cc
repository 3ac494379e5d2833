// `segue check` on the directories of real nodes.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "tests/fakes/filled_queue.h"
#include "tests/fakes/test_cluster.h"

namespace segue::client {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kMessages = 4'000;

struct Ran {
  std::optional<int> code;
  std::string out;
  std::string err;
};

Ran check(const std::string& directory, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"check", directory};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Process process("segue", arguments);
  const auto code = process.wait();
  return {code, process.stdout_text(), process.stderr_text()};
}

/// Every file below a directory, with its size and the time of its last change.
std::map<std::string, std::pair<std::uint64_t, fs::file_time_type>> files_below(
    const std::string& directory) {
  std::map<std::string, std::pair<std::uint64_t, fs::file_time_type>> found;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    found[entry.path()] = {entry.is_regular_file() ? entry.file_size() : 0,
                           entry.last_write_time()};
  }
  return found;
}

TEST(Check, TellsWholeDirectoriesFromDamagedOnesAndChangesNothing) {
  TestCluster::Options options{.routers = 1, .nodes = 2, .shards = 4};
  options.yaml = kSmallFiles;
  TestCluster cluster(options);
  cluster.start_all();
  ASSERT_TRUE(cluster.wait_ready()) << cluster.logs();
  ConnectionOptions wanted = cluster.connection_options();
  wanted.full_timeout = kLong;
  {
    Connection connection = Connection::open(wanted).value();
    for (const char* const name : {"q1", "q2", "q3", "q4"}) {
      ASSERT_TRUE(connection.admin().declare_queue(name));
      ASSERT_TRUE(fill(connection, name, kMessages));
    }
  }
  const std::string data = cluster.directory() + "/data";

  // A running node has its directory to itself.
  const Ran running = check(data);
  EXPECT_EQ(running.code, 73) << running.err;
  EXPECT_NE(running.err.find("in use by another process"), std::string::npos) << running.err;

  // One stopped, one killed: both are whole.
  EXPECT_EQ(cluster.process("n1").terminate(), 0);
  cluster.kill("n2");
  const auto before = files_below(data);
  const Ran whole = check(data);
  EXPECT_EQ(whole.code, 0) << whole.out << whole.err;
  EXPECT_NE(whole.out.find("0 problems"), std::string::npos) << whole.out;
  EXPECT_NE(whole.out.find("2 nodes"), std::string::npos) << whole.out;
  EXPECT_TRUE(files_below(data) == before);

  // One byte of a message. Of a killed node the checkpoints may not name it, and the log has it.
  fs::path damaged;
  for (const auto& [path, about] : before) {
    const bool named = path.find("/n1/") != std::string::npos;
    if (named && path.ends_with(".data") && about.first > 100'000) damaged = path;
  }
  ASSERT_FALSE(damaged.empty());
  {
    std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(50'000);
    file.put('y');
  }
  const Ran found = check(data, {"--json"});
  EXPECT_EQ(found.code, 1) << found.out << found.err;
  EXPECT_NE(found.out.find("\"problems\":1"), std::string::npos) << found.out;
  EXPECT_NE(found.out.find(fs::relative(damaged, data).string()), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("\"queue\":\"q"), std::string::npos) << found.out;

  EXPECT_EQ(check(cluster.directory() + "/nowhere").code, 66);
}

}  // namespace
}  // namespace segue::client
