// A real segue-node, spoken to as a router does: over a NodeLink.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>

#include "common/node_link.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/process.h"

namespace segue {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A router's end of a link to a node, driven by a test: waits with a deadline, never sleeps.
class RouterEnd final : public NodeLink::Events {
 public:
  RouterEnd(const std::string& node, const std::string& endpoint)
      : transport_(context_, poller_, endpoint, {}),
        link_(options(node, endpoint), transport_, *this, random_, log_) {}

  NodeLink& link() { return link_; }
  std::vector<std::uint64_t> incarnations;
  std::vector<v1::ShardConfirm> confirms;
  std::vector<v1::CatalogReply> catalog_replies;
  std::vector<v1::QueueReply> queue_replies;
  std::vector<v1::CatalogEntry> entries;
  int feeds = 0;

  bool wait(const std::function<bool()>& condition, Duration timeout = seconds(20)) {
    const TimePoint deadline = clock_.now() + timeout;
    while (!condition()) {
      if (clock_.now() >= deadline) return false;
      if (!link_.poll(clock_.now())) poller_.wait(milliseconds(20));
    }
    return true;
  }
  bool wait_up() {
    return wait([this] { return link_.is_up(); });
  }
  bool send(v1::PeerFrame& frame, const std::string& body = "") {
    std::vector<SharedBytes> bodies;
    if (!body.empty()) bodies.push_back(SharedBytes::from(body));
    return link_.send(frame, bodies, clock_.now());
  }

  v1::CatalogOutcome run(const v1::CatalogOperation& operation) {
    v1::PeerFrame frame;
    v1::CatalogRequest* request = frame.mutable_catalog_requests()->add_requests();
    request->set_request_id(++last_request_);
    *request->mutable_operation() = operation;
    const std::size_t before = catalog_replies.size();
    EXPECT_TRUE(send(frame));
    EXPECT_TRUE(wait([&] { return catalog_replies.size() > before; }));
    return catalog_replies.empty() ? v1::CatalogOutcome() : catalog_replies.back().outcome();
  }
  /// The queue; `index` gets the catalog's index that has it.
  v1::QueueDefinition declare(const std::string& name, std::uint64_t* index = nullptr) {
    v1::CatalogOperation operation;
    operation.mutable_declare_queue()->mutable_queue()->set_vhost("/");
    operation.mutable_declare_queue()->mutable_queue()->set_name(name);
    operation.mutable_declare_queue()->mutable_queue()->set_durable(true);
    const v1::CatalogOutcome outcome = run(operation);
    EXPECT_FALSE(outcome.has_error()) << outcome.error().text();
    if (index != nullptr) *index = outcome.index();
    return outcome.queue();
  }
  v1::ShardConfirm publish(const v1::QueueDefinition& queue, const std::string& body,
                           std::uint64_t catalog_index = 0) {
    v1::MessageBatch batch;
    batch.add_headers()->set_routing_key(queue.name());
    batch.add_sizes(static_cast<std::uint32_t>(body.size()));
    v1::PeerFrame frame;
    frame.set_catalog_index(catalog_index);
    v1::ShardPublish* publish = frame.mutable_publishes()->add_publishes();
    publish->set_batch_id(++last_batch_);
    publish->set_shard(queue.shard());
    publish->set_first_seq(last_batch_);
    publish->add_targets()->set_queue_id(queue.id());
    publish->set_batch(batch.SerializeAsString());
    publish->set_body_bytes(body.size());
    const std::size_t before = confirms.size();
    EXPECT_TRUE(send(frame, body));
    EXPECT_TRUE(wait([&] { return confirms.size() > before; }));
    return confirms.empty() ? v1::ShardConfirm() : confirms.back();
  }
  v1::QueueReply status(const v1::QueueDefinition& queue) {
    v1::PeerFrame frame;
    v1::QueueRequest* request = frame.mutable_queue_requests()->add_requests();
    request->set_request_id(++last_request_);
    request->set_queue_id(queue.id());
    request->mutable_status();
    const std::size_t before = queue_replies.size();
    EXPECT_TRUE(send(frame));
    EXPECT_TRUE(wait([&] { return queue_replies.size() > before; }));
    return queue_replies.empty() ? v1::QueueReply() : queue_replies.back();
  }

  void on_up(const v1::PeerHelloOk& hello) override { incarnations.push_back(hello.incarnation()); }
  void on_down(const Status&) override {}
  void on_frame(v1::NodeFrame& frame, SharedBytes) override {
    for (const auto& confirm : frame.confirms().confirms()) confirms.push_back(confirm);
    for (const auto& reply : frame.catalog_replies().replies()) catalog_replies.push_back(reply);
    for (const auto& reply : frame.queue_replies().replies()) queue_replies.push_back(reply);
    for (const auto& entry : frame.catalog_feed().entries()) entries.push_back(entry);
    feeds += frame.has_catalog_feed() ? 1 : 0;
  }

 private:
  static NodeLink::Options options(const std::string& node, const std::string& endpoint) {
    NodeLink::Options made;
    made.node_id = node;
    made.endpoint = endpoint;
    made.hello.set_protocol_version(1);
    made.hello.set_cluster("test");
    made.hello.set_shard_count(4);
    made.hello.set_kind(v1::PEER_KIND_ROUTER);
    made.hello.set_id("r1");
    made.hello.set_incarnation(1);
    return made;
  }

  SystemClock clock_;
  SystemRandom random_;
  NullLogger log_;
  ZmqContext context_;
  Poller poller_;
  ZmqLinkTransport transport_;
  NodeLink link_;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_batch_ = 0;
};

class NodeProcess : public testing::Test {
 protected:
  NodeProcess() { write_config(4); }

  void write_config(int shards) {
    config_ =
        dir_.write("cluster.yaml", "cluster: test\nshards: " + std::to_string(shards) +
                                       "\nrouters:\n  - id: r1\n    endpoint: ipc://" +
                                       dir_.path() + "/r1\nnodes:\n" + node("n1") + node("n2") +
                                       "storage:\n  data_dir: " + dir_.path() + "/data\n");
  }
  std::string endpoint(const std::string& id) const {
    return "ipc://" + dir_.path() + "/sockets/" + id;
  }
  std::string node(const std::string& id) const {
    return "  - id: " + id + "\n    endpoint: " + endpoint(id) + "\n";
  }
  std::unique_ptr<Process> start(const std::string& id) const {
    return std::make_unique<Process>("segue-node",
                                     std::vector<std::string>{"--config", config_, "--id", id});
  }
  static bool is_ready(Process& process) { return process.wait_for_stderr("event=node_ready"); }
  static std::optional<int> run(const std::vector<std::string>& arguments) {
    return Process("segue-node", arguments).wait();
  }

  TempDir dir_;
  std::string config_;
};

TEST_F(NodeProcess, KeepsConfirmedMessagesThroughSigkill) {
  auto n1 = start("n1");
  auto n2 = start("n2");
  RouterEnd to_n1("n1", endpoint("n1"));
  RouterEnd to_n2("n2", endpoint("n2"));
  ASSERT_TRUE(to_n1.wait_up()) << n1->stderr_text();
  ASSERT_TRUE(to_n2.wait_up()) << n2->stderr_text();

  // Queues on both nodes; the second node hears of its own by the feed, and waits for it.
  std::vector<v1::QueueDefinition> queues;
  std::uint64_t index = 0;
  for (int i = 0; i < 8; ++i) {
    queues.push_back(to_n1.declare("queue-" + std::to_string(i), &index));
  }
  std::vector<RouterEnd*> homes;
  for (const v1::QueueDefinition& queue : queues) {
    const v1::ShardConfirm first = to_n1.publish(queue, "body", index);
    homes.push_back(first.has_error() ? &to_n2 : &to_n1);
    if (!first.has_error()) continue;
    const v1::ShardConfirm second = to_n2.publish(queue, "body", index);
    EXPECT_FALSE(second.has_error())
        << first.error().text() << "; " << second.error().text() << n1->stderr_text();
  }

  for (auto* process : {&n1, &n2}) (*process)->kill_now();
  n1 = start("n1");
  n2 = start("n2");
  for (RouterEnd* end : {&to_n1, &to_n2}) {
    ASSERT_TRUE(end->wait([&] { return end->incarnations.size() == 2; }));
  }
  EXPECT_NE(to_n1.incarnations[0], to_n1.incarnations[1]);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    EXPECT_EQ(homes[i]->status(queues[i]).queue().ready(), 1u) << queues[i].name();
  }
  EXPECT_EQ(to_n1.declare("queue-3").id(), queues[3].id());
}

TEST_F(NodeProcess, FeedsTheCatalogFromEveryNode) {
  auto n1 = start("n1");
  auto n2 = start("n2");
  RouterEnd to_n1("n1", endpoint("n1"));
  RouterEnd to_n2("n2", endpoint("n2"));
  ASSERT_TRUE(to_n1.wait_up() && to_n2.wait_up());
  v1::PeerFrame follow;
  follow.mutable_catalog_follow();
  ASSERT_TRUE(to_n2.send(follow));
  to_n1.declare("q");
  const auto has_queue = [](const RouterEnd& end) {
    for (const v1::CatalogEntry& entry : end.entries) {
      for (const v1::CatalogChange& change : entry.changes()) {
        if (change.queue_created().name() == "q") return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(to_n2.wait([&] { return has_queue(to_n2); }));
  // What does not lead says who does.
  v1::CatalogOperation operation;
  operation.mutable_declare_queue()->mutable_queue()->set_name("p");
  const v1::CatalogOutcome refused = to_n2.run(operation);
  EXPECT_EQ(refused.error().code(), static_cast<std::uint32_t>(Code::kCatalogUnavailable));
  EXPECT_NE(refused.error().text().find("n1"), std::string::npos);
}

TEST_F(NodeProcess, StopsCleanlyAndKeepsItsData) {
  auto n1 = start("n1");
  RouterEnd router("n1", endpoint("n1"));
  ASSERT_TRUE(router.wait_up());
  const v1::QueueDefinition queue = router.declare("q");
  const bool here = !router.publish(queue, "body").has_error();
  EXPECT_EQ(n1->terminate(), 0) << n1->stderr_text();
  EXPECT_NE(n1->stderr_text().find("event=node_stopped"), std::string::npos);
  n1 = start("n1");
  ASSERT_TRUE(router.wait([&] { return router.incarnations.size() == 2; }));
  EXPECT_EQ(router.declare("q").id(), queue.id());
  if (here) {
    EXPECT_EQ(router.status(queue).queue().ready(), 1u);
  }
}

TEST_F(NodeProcess, TakesManyPipelinedDeclaresAndKeepsThem) {
  constexpr int kQueues = 10'000;
  constexpr int kPerFrame = 100;
  auto n1 = start("n1");
  RouterEnd router("n1", endpoint("n1"));
  ASSERT_TRUE(router.wait_up());
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kQueues; i += kPerFrame) {
    v1::PeerFrame frame;
    for (int j = 0; j < kPerFrame; ++j) {
      v1::CatalogRequest* request = frame.mutable_catalog_requests()->add_requests();
      request->set_request_id(static_cast<std::uint64_t>(i + j + 1));
      v1::QueueDefinition* queue =
          request->mutable_operation()->mutable_declare_queue()->mutable_queue();
      queue->set_name("queue-" + std::to_string(i + j));
      queue->set_durable(true);
    }
    ASSERT_TRUE(router.send(frame));
  }
  ASSERT_TRUE(router.wait([&] { return router.catalog_replies.size() == kQueues; }, seconds(60)));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  RecordProperty("declares_per_second", static_cast<int>(kQueues / took.count()));
  for (const v1::CatalogReply& reply : router.catalog_replies) {
    ASSERT_FALSE(reply.outcome().has_error()) << reply.outcome().error().text();
  }
  n1->kill_now();
  n1 = start("n1");
  ASSERT_TRUE(router.wait([&] { return router.incarnations.size() == 2; }));
  v1::PeerFrame follow;
  follow.mutable_catalog_follow();
  ASSERT_TRUE(router.send(follow));
  std::set<std::string> names;
  std::size_t seen = 0;
  EXPECT_TRUE(router.wait([&] {
    for (; seen < router.entries.size(); ++seen) {
      for (const v1::CatalogChange& change : router.entries[seen].changes()) {
        if (change.has_queue_created()) names.insert(change.queue_created().name());
      }
    }
    return names.size() == kQueues;
  }));
}

TEST_F(NodeProcess, ASecondProcessOnTheSameDataIsRefused) {
  auto first = start("n1");
  ASSERT_TRUE(is_ready(*first));
  auto second = start("n1");
  EXPECT_EQ(second->wait(), 73);
  EXPECT_TRUE(first->running());
}

TEST_F(NodeProcess, AChangedNumberOfShardsIsRefusedWithAHelpfulSentence) {
  auto node = start("n1");
  ASSERT_TRUE(is_ready(*node));
  EXPECT_EQ(node->terminate(), 0);
  write_config(5);
  node = start("n1");
  EXPECT_EQ(node->wait(), 73);
  EXPECT_NE(node->stderr_text().find("shards"), std::string::npos);
}

TEST_F(NodeProcess, HostileFramesLeaveTheNodeAndOtherLinksAlone) {
  auto node = start("n1");
  RouterEnd router("n1", endpoint("n1"));
  ASSERT_TRUE(router.wait_up());
  ZmqContext context;
  Poller poller;
  ZmqSocket hostile(context, ZmqSocket::Kind::kDealer, {});
  ASSERT_TRUE(hostile.connect(endpoint("n1")).is_ok());
  SeededRandom random(11);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(random.below(200), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next_u64());
    hostile.send("", bytes, {SharedBytes::from("junk")});
  }
  // Body sizes that do not add up end the link that sent them; it comes back.
  v1::PeerFrame frame;
  frame.mutable_publishes()->add_publishes()->set_body_bytes(1ull << 60);
  ASSERT_TRUE(router.send(frame, "short"));
  EXPECT_TRUE(router.wait([&] { return router.incarnations.size() == 2; }));
  EXPECT_EQ(router.declare("q").name(), "q");
  EXPECT_TRUE(node->running());
}

TEST_F(NodeProcess, ChecksItsArgumentsAndConfiguration) {
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_EQ(run({"--what"}), 64);
  EXPECT_EQ(run({"--config", config_}), 64);
  EXPECT_EQ(run({"--config", config_, "--id", "n1", "--log-level", "loud"}), 64);
  EXPECT_EQ(run({"--config", config_, "--id", "n9"}), 78);
  EXPECT_EQ(run({"--config", dir_.path() + "/missing.yaml", "--id", "n1"}), 78);
  EXPECT_EQ(run({"--config", config_, "--check"}), 0);
  const std::string wrong = dir_.write("wrong.yaml", "cluster: test\nshard: 3\n");
  Process process("segue-node", {"--config", wrong, "--check"});
  EXPECT_EQ(process.wait(), 78);
  EXPECT_NE(process.stderr_text().find("wrong.yaml:2:"), std::string::npos);
}

}  // namespace
}  // namespace segue
