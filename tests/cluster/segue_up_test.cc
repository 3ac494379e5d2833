// `segue up` beside other clusters, against real processes.

#include <gtest/gtest.h>

#include "tests/fakes/process.h"
#include "tests/fakes/test_cluster.h"

namespace segue {
namespace {

class SegueUp : public testing::Test {
 protected:
  SegueUp() : other_({.routers = 1, .nodes = 1, .shards = 2}) { other_.start_all(); }
  void SetUp() override { ASSERT_TRUE(other_.wait_ready()) << other_.logs(); }

  // A configuration with data of its own.
  std::string config(const std::string& router, const std::string& data_dir) const {
    const std::string& path = directory_.path();
    return directory_.write("cluster.yaml", "cluster: mine\nshards: 2\nrouters:\n  - {id: r1, " +
                                                router +
                                                "}\nnodes:\n  - {id: n1, endpoint: 'ipc://" + path +
                                                "/n1'}\nstorage: {data_dir: " + data_dir + "}\n");
  }
  std::string logs() const { return directory_.path() + "/up"; }

  TestCluster other_;
  const TempDir directory_;
};

TEST_F(SegueUp, IsNotReadyWhenAnotherClusterAnswersAtItsEndpoint) {
  const std::string file = config(
      "endpoint: '" + other_.endpoint("r1") + "', listen: 'ipc://" + directory_.path() + "/r1'",
      directory_.path() + "/data");
  Process up("segue", {"up", "-c", file, "-d", logs(), "--ready-timeout", "1s"});
  EXPECT_EQ(up.wait(), 75);
  EXPECT_EQ(up.stdout_text(), "");
  EXPECT_NE(up.stderr_text().find("another router answers"), std::string::npos) << up.stderr_text();
}

TEST_F(SegueUp, MakesWhatADocumentHasAndTellsWhatIsDifferent) {
  const std::string router = "ipc://" + directory_.path() + "/r1";
  const std::string file = config("endpoint: '" + router + "'", directory_.path() + "/data");
  const std::string document =
      directory_.write("definitions.yaml", "segue_definitions: 1\nqueues:\n  - name: jobs\n");
  const std::vector<std::string> command = {"up",    "-c", file, "-d", logs(), "--definitions",
                                            document};
  {
    Process up("segue", command);
    ASSERT_TRUE(up.wait_for_stdout("READY")) << up.stderr_text();
    client::ConnectionOptions options;
    options.routers = {router};
    client::Connection connection = client::Connection::open(options).value();
    EXPECT_TRUE(connection.admin().find_queue("jobs"));
    EXPECT_EQ(up.terminate(), 0);
  }
  directory_.write("definitions.yaml",
                   "segue_definitions: 1\nqueues:\n  - {name: jobs, auto_delete: true}\n");
  Process up("segue", command);
  ASSERT_TRUE(up.wait_for_stdout("READY")) << up.stderr_text();
  EXPECT_NE(up.stderr_text().find("auto_delete is false, wanted true"), std::string::npos)
      << up.stderr_text();
  EXPECT_EQ(up.terminate(), 0);
}

TEST_F(SegueUp, DoesNotStartWithADocumentThatIsWrong) {
  const std::string file =
      config("endpoint: 'ipc://" + directory_.path() + "/r1'", directory_.path() + "/data");
  const std::string document = directory_.write("definitions.json", "{\"segue_definitions\": 1,}");
  Process up("segue", {"up", "-c", file, "-d", logs(), "--definitions", document});
  EXPECT_EQ(up.wait(), 64) << up.stderr_text();
  EXPECT_NE(up.stderr_text().find(document + ": not valid JSON"), std::string::npos)
      << up.stderr_text();
}

TEST_F(SegueUp, EndsWithTheExitCodeAndTheLastWordsOfTheProcessThatDied) {
  const std::string file = config("endpoint: 'ipc://" + directory_.path() + "/r1'", "/proc/none");
  for (int run = 0; run < 2; ++run) {
    Process up("segue", {"up", "-c", file, "-d", logs()});
    EXPECT_EQ(up.wait(), 78) << up.stderr_text();
    const std::string told = up.stderr_text();
    EXPECT_NE(told.find("segue: node n1 ended: exit code 78 (/proc/none/n1: "), std::string::npos)
        << told;
    const std::size_t word = told.find("node_not_started");
    ASSERT_NE(word, std::string::npos) << told;
    EXPECT_EQ(told.find("node_not_started", word + 1), std::string::npos) << told;
  }
}

}  // namespace
}  // namespace segue
