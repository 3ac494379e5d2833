#include "cli/local_cluster.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "cli/cluster_plan.h"
#include "cli/cluster_readiness.h"
#include "cli/listen_check.h"
#include "common/machine.h"
#include "common/zmq_socket.h"
#include "tests/fakes/process.h"

namespace segue::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A directory with programs of our own in place of segue-node and segue-router.
class FakeBinaries {
 public:
  void script(const std::string& name, const std::string& text) {
    const std::string path = directory.write(name, "#!/bin/sh\n" + text + "\n");
    ::chmod(path.c_str(), 0755);
  }
  // Waits for SIGTERM, and then says so.
  void obedient(const std::string& name) {
    script(name,
           "trap 'echo stopped; exit 0' TERM\necho \"started $*\"\n"
           "while :; do sleep 0.05 & wait $!; done");
  }

  LocalCluster::Options options(bool restart = true) const {
    return {directory.path() + "/cluster.yaml", directory.path(), directory.path(), restart};
  }
  std::string log(const std::string& id) const {
    std::ifstream file(directory.path() + "/" + id + ".log");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  // Until the log has the text, for at most ten seconds.
  bool wait_for_log(const std::string& id, const std::string& text) const {
    const auto deadline = std::chrono::steady_clock::now() + seconds(10);
    while (std::chrono::steady_clock::now() < deadline) {
      if (log(id).find(text) != std::string::npos) return true;
      std::this_thread::yield();
    }
    return false;
  }

  TempDir directory;
};

ClusterConfig one_of_each() {
  ClusterConfig config;
  config.routers.push_back({"r1", "tcp://127.0.0.1:1", "tcp://127.0.0.1:1"});
  config.nodes.push_back({"n1", "tcp://127.0.0.1:2", "tcp://127.0.0.1:2", "data/n1", 1u << 30});
  return config;
}

// Polls until an event of the kind comes, for at most ten seconds.
std::optional<LocalCluster::Event> wait_for(LocalCluster& cluster, LocalCluster::Event::Kind kind) {
  const SystemClock clock;
  const TimePoint deadline = clock.now() + seconds(10);
  while (clock.now() < deadline) {
    for (const LocalCluster::Event& event : cluster.poll(clock.now())) {
      if (event.kind == kind) return event;
    }
    std::this_thread::yield();
  }
  return std::nullopt;
}

TEST(LocalCluster, RunsEveryProcessWithItsIdAndStopsThem) {
  FakeBinaries fake;
  fake.obedient("segue-node");
  fake.obedient("segue-router");
  LocalCluster cluster(one_of_each(), fake.options());
  ASSERT_TRUE(cluster.start().is_ok());
  EXPECT_TRUE(fake.wait_for_log(
      "n1", "started --config " + fake.directory.path() + "/cluster.yaml --id n1"));
  EXPECT_TRUE(fake.wait_for_log("r1", "--id r1"));
  EXPECT_TRUE(cluster.stop(seconds(10)));
  EXPECT_TRUE(cluster.none_running());
  EXPECT_NE(fake.log("n1").find("stopped"), std::string::npos);
  EXPECT_NE(fake.log("r1").find("stopped"), std::string::npos);
}

TEST(LocalCluster, StartsAProcessAgainThatWasKilled) {
  FakeBinaries fake;
  fake.obedient("segue-node");
  fake.obedient("segue-router");
  LocalCluster cluster(one_of_each(), fake.options());
  ASSERT_TRUE(cluster.start().is_ok());
  const pid_t before = cluster.members()[0].pid;
  ::kill(before, SIGKILL);
  const auto died = wait_for(cluster, LocalCluster::Event::Kind::kDied);
  ASSERT_TRUE(died.has_value());
  EXPECT_EQ(died->id, "n1");
  EXPECT_EQ(died->text, "node n1 ended: signal 9 (Killed); starting it again in 500 ms");
  ASSERT_TRUE(wait_for(cluster, LocalCluster::Event::Kind::kRestarted).has_value());
  EXPECT_EQ(cluster.members()[0].restarts, 1u);
  EXPECT_NE(cluster.members()[0].pid, before);
}

TEST(LocalCluster, LeavesADeadProcessAloneWhenToldSo) {
  FakeBinaries fake;
  fake.obedient("segue-node");
  fake.obedient("segue-router");
  LocalCluster cluster(one_of_each(), fake.options(false));
  ASSERT_TRUE(cluster.start().is_ok());
  ::kill(cluster.members()[1].pid, SIGKILL);
  const auto gone = wait_for(cluster, LocalCluster::Event::Kind::kGaveUp);
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->id, "r1");
  EXPECT_FALSE(cluster.none_running());
}

TEST(LocalCluster, EndsOneProcessWhenToldAndStartsItAgainWhenTold) {
  FakeBinaries fake;
  fake.obedient("segue-node");
  fake.obedient("segue-router");
  LocalCluster cluster(one_of_each(), fake.options());
  ASSERT_TRUE(cluster.start().is_ok());
  EXPECT_EQ(cluster.start_again("n1").code(), Code::kPreconditionFailed);
  const pid_t before = cluster.members()[0].pid;
  ASSERT_TRUE(cluster.end("n1", SIGKILL, seconds(10)).is_ok());
  EXPECT_EQ(::kill(before, 0), -1);
  EXPECT_EQ(cluster.members()[0].pid, -1);
  EXPECT_TRUE(cluster.poll(SystemClock().now() + seconds(60)).empty());
  EXPECT_EQ(cluster.end("n1", SIGKILL, seconds(10)).code(), Code::kPreconditionFailed);

  ASSERT_TRUE(cluster.start_again("n1").is_ok());
  EXPECT_EQ(cluster.members()[0].restarts, 1u);
  ASSERT_TRUE(fake.wait_for_log("n1", "started"));
  ::kill(cluster.members()[0].pid, SIGKILL);
  EXPECT_TRUE(wait_for(cluster, LocalCluster::Event::Kind::kDied).has_value());
  EXPECT_EQ(cluster.end("none", SIGTERM, seconds(10)).code(), Code::kPreconditionFailed);
}

TEST(LocalCluster, SaysWhenAProcessDoesNotEnd) {
  FakeBinaries fake;
  fake.script("segue-node", "trap '' TERM\necho ready\nwhile :; do sleep 0.05; done");
  fake.obedient("segue-router");
  LocalCluster cluster(one_of_each(), fake.options());
  ASSERT_TRUE(cluster.start().is_ok());
  ASSERT_TRUE(fake.wait_for_log("n1", "ready"));
  EXPECT_EQ(cluster.end("n1", SIGTERM, milliseconds(100)).code(), Code::kTimeout);
}

TEST(LocalCluster, DoesNotRepeatWhatCannotWork) {
  FakeBinaries fake;
  fake.script("segue-node", "echo 'the key is wrong'; exit 64");
  fake.obedient("segue-router");
  LocalCluster cluster(one_of_each(), fake.options());
  ASSERT_TRUE(cluster.start().is_ok());
  const auto gone = wait_for(cluster, LocalCluster::Event::Kind::kGaveUp);
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->text, "node n1 ended: exit code 64");
  EXPECT_EQ(cluster.log_tail("n1", 5), "the key is wrong\n");
}

TEST(LocalCluster, KillsWhatDoesNotStop) {
  FakeBinaries fake;
  fake.script("segue-node", "trap '' TERM\necho ready\nwhile :; do sleep 0.05; done");
  fake.obedient("segue-router");
  LocalCluster cluster(one_of_each(), fake.options());
  ASSERT_TRUE(cluster.start().is_ok());
  ASSERT_TRUE(fake.wait_for_log("n1", "ready"));
  const pid_t node = cluster.members()[0].pid;
  EXPECT_FALSE(cluster.stop(milliseconds(300)));
  EXPECT_EQ(::kill(node, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(LocalCluster, SaysWhichProgramIsMissing) {
  FakeBinaries fake;
  fake.obedient("segue-node");
  LocalCluster cluster(one_of_each(), fake.options());
  const Status status = cluster.start();
  ASSERT_FALSE(status.is_ok());
  EXPECT_EQ(status.message(),
            "cannot run " + fake.directory.path() + "/segue-router: No such file or directory");
  EXPECT_TRUE(cluster.none_running());
}

TEST(LocalCluster, GivesTheLastLinesOfALog) {
  FakeBinaries fake;
  fake.script("segue-node", "for i in 1 2 3 4 5; do echo line $i; done; exit 64");
  fake.obedient("segue-router");
  LocalCluster cluster(one_of_each(), fake.options());
  ASSERT_TRUE(cluster.start().is_ok());
  ASSERT_TRUE(wait_for(cluster, LocalCluster::Event::Kind::kGaveUp).has_value());
  EXPECT_EQ(cluster.log_tail("n1", 2), "line 4\nline 5\n");
  EXPECT_EQ(cluster.log_tail("n1", 100), "line 1\nline 2\nline 3\nline 4\nline 5\n");
  EXPECT_EQ(cluster.log_tail("none", 2), "");
}

TEST(LocalCluster, LeavesOutWhatAnEarlierRunWroteAndTellsTheExitCode) {
  FakeBinaries fake;
  fake.script("segue-node", "echo line of $$; exit 73");
  fake.obedient("segue-router");
  fake.directory.write("n1.log", "line of an earlier run\n");
  LocalCluster cluster(one_of_each(), fake.options());
  ASSERT_TRUE(cluster.start().is_ok());
  const pid_t pid = cluster.members()[0].pid;
  const auto end = wait_for(cluster, LocalCluster::Event::Kind::kGaveUp);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 73);
  EXPECT_EQ(cluster.log_tail("n1", 10), "line of " + std::to_string(pid) + "\n");
}

TEST(LocalCluster, FindsTheLastReasonOfALog) {
  EXPECT_EQ(last_reason("a reason=\"first\"\nb reason=\"the \\\"second\\\"\" c=d\nend\n"),
            "the \"second\"");
  EXPECT_EQ(last_reason("{\"event\":\"e\",\"reason\":\"json\"}\n"), "json");
  EXPECT_EQ(last_reason("reason=\"cut"), "cut");
  EXPECT_EQ(last_reason("nothing"), "");
}

TEST(ClusterReadiness, KnowsItsOwnRouterByItsProcess) {
  client::ClusterDescription cluster;
  cluster.routers.push_back({"r1", "tcp://a:1"});
  cluster.routers.push_back({"r2", "tcp://a:2"});
  cluster.routers[1].self = true;
  cluster.routers[1].pid = 17;
  cluster.routers[1].machine = machine_name();
  const std::vector<LocalCluster::Member> members{{"r1", true, "", 16}, {"r2", true, "", 17}};
  EXPECT_TRUE(ClusterReadiness::is_own(cluster, members, "r2"));
  EXPECT_FALSE(ClusterReadiness::is_own(cluster, members, "r1"));
  EXPECT_FALSE(ClusterReadiness::is_own(cluster, {{"r2", true, "", 18}}, "r2"));
  EXPECT_FALSE(ClusterReadiness::is_own(cluster, {{"r2", true, "", -1}}, "r2"));
  cluster.routers[1].machine = "another";
  EXPECT_FALSE(ClusterReadiness::is_own(cluster, members, "r2"));
}

TEST(ListenCheck, RefusesAnEndpointAtWhichSomethingListens) {
  const TempDir directory;
  ZmqContext context;
  ZmqSocket taken(context, ZmqSocket::Kind::kRouter, {});
  ASSERT_TRUE(taken.bind("tcp://127.0.0.1:*").is_ok());
  const std::string tcp = taken.bound_endpoint();
  EXPECT_EQ(can_listen(tcp).message(), "cannot listen on " + tcp + ": Address already in use");
  EXPECT_FALSE(can_listen("tcp://*:" + tcp.substr(tcp.rfind(':') + 1)).is_ok());
  for (const std::string& ipc :
       {"ipc://" + directory.path() + "/s", "ipc://@segue-test-" + std::to_string(::getpid())}) {
    EXPECT_TRUE(can_listen(ipc).is_ok());
    ZmqSocket socket(context, ZmqSocket::Kind::kRouter, {});
    ASSERT_TRUE(socket.bind(ipc).is_ok());
    EXPECT_FALSE(can_listen(ipc).is_ok()) << ipc;
  }
  // A file that nobody listens at any more.
  EXPECT_TRUE(can_listen("ipc://" + directory.write("old", "")).is_ok());
  EXPECT_TRUE(can_listen("tcp://127.0.0.1:0").is_ok());
  EXPECT_TRUE(can_listen("tcp://no such host:80").is_ok());
}

TEST(ChildProcess, CountsProcessorTime) {
  EXPECT_TRUE(process_cpu_seconds(::getpid()).has_value());
  EXPECT_FALSE(process_cpu_seconds(0).has_value());
}

TEST(ClusterPlan, IsAConfigurationThatLoads) {
  const TempDir directory;
  for (const char* durability : {"sync", "50"}) {
    const Result<std::string> yaml =
        cluster_yaml({directory.path(), 3, "tcp://127.0.0.1:5680", durability});
    ASSERT_TRUE(yaml.is_ok());
    const Result<ClusterConfig> config =
        parse_cluster_config(*yaml, "cluster.yaml", process_environment());
    ASSERT_TRUE(config.is_ok()) << config.status().message();
    EXPECT_EQ(config->nodes.size(), 3u);
    EXPECT_EQ(config->nodes[2].endpoint, "ipc://" + directory.path() + "/n3.sock");
    EXPECT_EQ(config->nodes[2].data_dir, directory.path() + "/n3");
    EXPECT_EQ(config->durability.sync, durability == std::string("sync"));
  }
}

TEST(ClusterPlan, TakesPortsWhenThePathIsTooLongForASocket) {
  const std::string deep = "/" + std::string(120, 'x') + "/$HOME \"q\"";
  const Result<std::string> yaml = cluster_yaml({deep, 2, "tcp://127.0.0.1:5680", "sync"});
  ASSERT_TRUE(yaml.is_ok());
  const Result<ClusterConfig> config =
      parse_cluster_config(*yaml, "cluster.yaml", process_environment());
  ASSERT_TRUE(config.is_ok()) << config.status().message();
  EXPECT_TRUE(config->nodes[0].endpoint.starts_with("tcp://127.0.0.1:"));
  EXPECT_EQ(config->storage.data_dir, deep);
}

TEST(ClusterPlan, CountsTheNodesThatHaveData) {
  const TempDir directory;
  EXPECT_EQ(nodes_with_data(directory.path()), 0u);
  std::filesystem::create_directory(directory.path() + "/n1");
  std::filesystem::create_directory(directory.path() + "/n2");
  std::filesystem::create_directory(directory.path() + "/n4");
  EXPECT_EQ(nodes_with_data(directory.path()), 2u);
}

}  // namespace
}  // namespace segue::cli
