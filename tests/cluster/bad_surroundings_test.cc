// Processes that cannot start where they are told to: a sentence that helps, the documented exit
// code, and nothing half done.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "tests/fakes/process.h"

namespace segue {
namespace {

namespace fs = std::filesystem;

class BadSurroundings : public testing::Test {
 protected:
  struct Place {
    std::string cluster = "test";
    int shards = 4;
    std::string node = "n1";
    std::string data_dir = {};  // of the node; empty: the usual one
    std::string node_endpoint = {};
    std::string router_endpoint = {};
  };

  std::string usual_directory() const { return dir_.path() + "/data/n1"; }
  std::string socket(const std::string& name) const { return "ipc://" + dir_.path() + "/" + name; }
  std::string config(const Place& place) const {
    const auto or_else = [](const std::string& text, const std::string& other) {
      return text.empty() ? other : text;
    };
    return dir_.write("cluster.yaml",
                      "cluster: " + place.cluster + "\nshards: " + std::to_string(place.shards) +
                          "\nrouters:\n  - id: r1\n    endpoint: " +
                          or_else(place.router_endpoint, socket("r1")) +
                          "\nnodes:\n  - id: " + place.node +
                          "\n    endpoint: " + or_else(place.node_endpoint, socket("n1")) +
                          "\n    data_dir: " + or_else(place.data_dir, usual_directory()) + "\n");
  }
  std::unique_ptr<Process> node(const Place& place) const {
    return std::make_unique<Process>(
        "segue-node", std::vector<std::string>{"--config", config(place), "--id", place.node});
  }
  void run_once() const {
    const auto process = node({});
    ASSERT_TRUE(process->wait_for_stderr("event=node_ready")) << process->stderr_text();
    ASSERT_EQ(process->terminate(), 0) << process->stderr_text();
  }
  // The process ends with the code, and says each of the words.
  static void expect_refused(Process& process, int code, const std::vector<std::string>& words) {
    const auto ended = process.wait();
    const std::string text = process.stderr_text();
    EXPECT_EQ(ended, code) << text;
    for (const std::string& word : words) {
      EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in " << text;
    }
  }
  // Every file's content, but for SQLite's shared memory.
  static std::map<std::string, std::string> everything_in(const std::string& directory) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file() || entry.path().extension() == ".db-shm") continue;
      // In one piece: the log's files are large.
      std::string content(entry.file_size(), '\0');
      std::ifstream(entry.path(), std::ios::binary)
          .read(content.data(), static_cast<std::streamsize>(content.size()));
      all[entry.path()] = std::move(content);
    }
    return all;
  }

  TempDir dir_;
};

TEST_F(BadSurroundings, ADataDirectoryThatIsAFile) {
  const std::string file = dir_.write("file", "not a directory");
  expect_refused(*node({.data_dir = file}), 78, {file, "directory"});
  EXPECT_EQ(fs::file_size(file), 15u);
  expect_refused(*node({.data_dir = file + "/below"}), 78, {file + "/below"});
}

TEST_F(BadSurroundings, ADataDirectoryThatCannotBeMade) {
  expect_refused(*node({.data_dir = "/proc/segue/n1"}), 78, {"/proc/segue/n1"});
}

TEST_F(BadSurroundings, ADataDirectoryThatMayNotBeWritten) {
  const std::string directory = dir_.path() + "/locked";
  ASSERT_EQ(mkdir(directory.c_str(), 0555), 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0777), 0);
  const std::vector<std::string> arguments = {"--config", config({.data_dir = directory}), "--id",
                                              "n1"};
  std::unique_ptr<Process> process;
  if (geteuid() != 0) {
    process = std::make_unique<Process>("segue-node", arguments);
  } else {
    // Root may write everywhere: somebody else has to try.
    std::vector<std::string> as_nobody = {"--reuid=65534", "--regid=65534", "--clear-groups",
                                          std::string(SEGUE_BIN_DIR) + "/segue-node"};
    as_nobody.insert(as_nobody.end(), arguments.begin(), arguments.end());
    process = std::make_unique<Process>("/usr/bin/setpriv", as_nobody);
  }
  const auto code = process->wait();
  if (code == 126 || code == 127)
    GTEST_SKIP() << "cannot run as another: " << process->stderr_text();
  expect_refused(*process, 71, {directory, "ermission denied"});
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(BadSurroundings, ADataDirectoryWithSomethingElseInIt) {
  fs::create_directories(usual_directory() + "/wal");
  std::ofstream(usual_directory() + "/wal/letters.txt") << "dear diary";
  expect_refused(*node({}), 73, {usual_directory(), "identity"});
  EXPECT_FALSE(fs::exists(usual_directory() + "/identity"));
  EXPECT_FALSE(fs::exists(usual_directory() + "/catalog.db"));
}

TEST_F(BadSurroundings, TheDirectoryOfAnotherClusterNodeOrShardCountIsLeftAsItIs) {
  run_once();
  const auto before = everything_in(usual_directory());
  expect_refused(*node({.cluster = "other"}), 73, {usual_directory(), "'test'", "'other'"});
  expect_refused(*node({.node = "n7"}), 73, {usual_directory(), "'n1'", "'n7'"});
  expect_refused(*node({.shards = 8}), 73, {usual_directory(), "4", "8", "shards"});
  EXPECT_EQ(everything_in(usual_directory()), before);
  run_once();
}

TEST_F(BadSurroundings, ASecondProcessOnTheSameDirectoryIsRefusedWhateverItsEndpoint) {
  const auto first = node({});
  ASSERT_TRUE(first->wait_for_stderr("event=node_ready"));
  expect_refused(*node({.node_endpoint = socket("elsewhere")}), 73,
                 {usual_directory(), "another process"});
  EXPECT_EQ(first->terminate(), 0);
}

TEST_F(BadSurroundings, AnEndpointInUseIsNamedAndNothingIsLost) {
  run_once();
  // A listener on a port that is free.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string taken = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  expect_refused(*node({.node_endpoint = taken}), 69, {taken, "in use"});
  Process router("segue-router", {"--config", config({.router_endpoint = taken}), "--id", "r1"});
  expect_refused(router, 69, {taken, "in use"});
  ::close(listener);
  run_once();
}

TEST_F(BadSurroundings, AnEndpointThatNobodyCanListenOnIsNamed) {
  for (const std::string endpoint :
       {"tcp://no.such.host.invalid:7411", "ipc:///proc/segue/socket"}) {
    expect_refused(*node({.node_endpoint = endpoint}), 69, {endpoint});
    Process router("segue-router",
                   {"--config", config({.router_endpoint = endpoint}), "--id", "r1"});
    expect_refused(router, 69, {endpoint});
  }
}

}  // namespace
}  // namespace segue
