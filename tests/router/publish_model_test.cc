#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>
#include <map>
#include <set>

#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

using std::chrono::seconds;

// A node as far as publishing goes: takes batches in the order of its link, enqueues each
// (producer, seq) once per queue, refuses while it is blocked, and answers when the test lets it.
class NodeModel {
 public:
  explicit NodeModel(FakeNode& channel) : channel_(channel) {}

  void collect() {
    for (auto& sent : channel_.publishes()) incoming_.push_back(std::move(sent));
  }
  bool blocked = false;
  bool up = true;

  /// Handles the next batch that came; the answer is kept until answer().
  void handle() {
    if (incoming_.empty()) return;
    const FakeNode::Publish next = std::move(incoming_.front());
    incoming_.pop_front();
    v1::ShardConfirm confirm;
    confirm.set_batch_id(next.publish.batch_id());
    // As nodes do: what stands behind a refused one is refused too, until the router knows.
    if (next.publish.resumes()) refusing_.erase(next.publish.shard());
    if (blocked || refusing_.contains(next.publish.shard())) {
      refusing_.insert(next.publish.shard());
      confirm.mutable_error()->set_code(static_cast<std::uint32_t>(Code::kShardBlocked));
      confirm.mutable_error()->set_text("memory");
    } else {
      enqueue(next);
      confirm.set_durability(v1::DURABILITY_SYNC);
    }
    answers_.push_back(std::move(confirm));
  }
  bool take_answer(v1::ShardConfirm& answer) {
    if (answers_.empty()) return false;
    answer = std::move(answers_.front());
    answers_.pop_front();
    return true;
  }
  /// The link is reset: what came and was not handled is lost, and so are the answers.
  void reset() {
    channel_.frames.clear();
    incoming_.clear();
    answers_.clear();
    refusing_.clear();
  }

  std::map<std::uint64_t, std::vector<std::uint64_t>> queues;  // queue id -> seqs, in order

 private:
  void enqueue(const FakeNode::Publish& sent) {
    v1::MessageBatch batch;
    RC_ASSERT(batch.ParseFromString(sent.publish.batch()));
    std::size_t offset = 0;
    for (int i = 0; i < batch.sizes_size(); ++i) {
      const std::uint64_t seq = sent.publish.seqs().empty()
                                    ? sent.publish.first_seq() + static_cast<std::uint64_t>(i)
                                    : sent.publish.seqs(i);
      // Every body names its seq: what arrives is what was published.
      RC_ASSERT(sent.bodies.substr(offset, batch.sizes(i)) == "seq" + std::to_string(seq));
      offset += batch.sizes(i);
      for (const auto& target : sent.publish.targets()) {
        const auto& messages = target.messages();
        const bool mine =
            messages.empty() || std::find(messages.begin(), messages.end(),
                                          static_cast<std::uint32_t>(i)) != messages.end();
        if (mine && known_[target.queue_id()].insert(seq).second) {
          queues[target.queue_id()].push_back(seq);
        }
      }
    }
  }

  FakeNode& channel_;
  std::deque<FakeNode::Publish> incoming_;
  std::deque<v1::ShardConfirm> answers_;
  std::set<std::uint32_t> refusing_;
  std::map<std::uint64_t, std::set<std::uint64_t>> known_;
};

class PublishModel : public RouterFixture {
 public:
  void TestBody() override {}

  void run(const std::vector<std::pair<std::uint8_t, std::uint8_t>>& steps) {
    begin();
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      create_queue("q" + std::to_string(shard), shard);
      create_queue("p" + std::to_string(shard), shard);
    }
    create_exchange("all", "fanout");
    create_exchange("some", "topic");
    for (const char* queue : {"q0", "p0", "q2", "q3"}) create_binding("all", queue, "");
    create_binding("some", "q1", "a.*");
    create_binding("some", "q3", "*.b");
    create_binding("some", "p3", "a.b");
    client.emplace(*router, clients, "c1");
    client->open("producer");
    for (const auto& [op, argument] : steps) step(op, argument);
    settle_all();
    check();
  }

 private:
  NodeModel& node(std::uint8_t argument) { return argument % 2 == 0 ? model1 : model2; }
  static const char* name(std::uint8_t argument) { return argument % 2 == 0 ? "n1" : "n2"; }

  void step(std::uint8_t op, std::uint8_t argument) {
    switch (op % 10) {
      case 0:
      case 1:
      case 2:
        publish(argument);
        break;
      case 3:
      case 4:
        for (int i = 0; i <= argument % 4; ++i) node(argument / 4).handle();
        break;
      case 5:
      case 6:
        answer(argument);
        break;
      case 7:
        toggle_link(argument);
        break;
      case 8:
        toggle_blocked(argument);
        break;
      default:
        pass(std::chrono::milliseconds(20 * argument));
        break;
    }
    model1.collect();
    model2.collect();
    read();
  }

  void publish(std::uint8_t argument) {
    static const std::vector<std::pair<std::string, std::string>> kWays = {
        {"", "q0"},      {"", "q1"},      {"", "q2"},      {"", "p0"},
        {"all", "x"},    {"some", "a.b"}, {"some", "c.b"}, {"some", ""},
        {"missing", ""}, {"", "p3"},      {"all", "x"},    {"amq.topic", ""}};
    std::vector<TestClient::Message> messages;
    const std::uint64_t first = next_seq;
    const int count = 1 + argument % 5;
    for (int i = 0; i < count; ++i) {
      const auto& [exchange, key] = kWays[(argument / 3 + (argument % 2) * i) % kWays.size()];
      messages.push_back({exchange, key, "seq" + std::to_string(next_seq), false});
      wanted[next_seq] = targets(exchange, key);
      ++next_seq;
    }
    client->publish(first, messages);
  }
  std::set<std::string> targets(const std::string& exchange, const std::string& key) const {
    if (exchange.empty()) return {key};
    if (exchange == "all") return {"q0", "p0", "q2", "q3"};
    if (exchange == "some" && key == "a.b") return {"q1", "q3", "p3"};
    if (exchange == "some" && key == "c.b") return {"q3"};
    return {};
  }

  void answer(std::uint8_t argument) {
    NodeModel& model = node(argument);
    v1::NodeFrame frame;
    for (int i = 0; i <= argument / 2 % 4; ++i) {
      v1::ShardConfirm one;
      if (!model.take_answer(one)) break;
      *frame.mutable_confirms()->add_confirms() = one;
    }
    if (frame.has_confirms()) from_node(name(argument), frame);
  }
  void toggle_link(std::uint8_t argument) {
    NodeModel& model = node(argument);
    model.collect();
    if (model.up) {
      for (int i = 0; i < argument / 2 % 4; ++i) model.handle();
      model.reset();
      down(name(argument));
      model.reset();
    } else {
      up(name(argument), model.blocked ? "memory" : "");
    }
    model.up = !model.up;
  }
  void toggle_blocked(std::uint8_t argument) {
    NodeModel& model = node(argument);
    model.blocked = !model.blocked;
    // The news may come later than the refusals, or at once.
    if (model.up && argument / 2 % 2 == 0)
      node_state(name(argument), model.blocked ? "memory" : "");
  }
  void pass(Duration time) {
    v1::ClientFrame heartbeat;
    heartbeat.mutable_heartbeat();
    client->send(heartbeat);
    advance(time);
  }

  void read() {
    for (v1::RouterFrame frame = client->next(); frame.has_link(); frame = client->next()) {
      RC_ASSERT(!frame.has_close());
      if (!frame.has_confirm()) continue;
      for (const v1::Range& range : frame.confirm().confirmed()) {
        for (std::uint64_t seq = range.first(); seq <= range.last(); ++seq) {
          RC_ASSERT(answered.insert(seq).second);
          confirmed.insert(seq);
        }
      }
      for (const v1::Rejected& rejected : frame.confirm().rejected()) {
        for (std::uint64_t seq = rejected.seqs().first(); seq <= rejected.seqs().last(); ++seq) {
          RC_ASSERT(answered.insert(seq).second);
        }
      }
    }
  }
  // Everything becomes well, and time goes by.
  void settle_all() {
    for (const std::uint8_t which : {0, 1}) {
      NodeModel& model = node(which);
      model.blocked = false;
      if (!model.up) toggle_link(which);
      node_state(name(which), "");
    }
    for (int round = 0; round < 100 && answered.size() < wanted.size(); ++round) {
      for (const std::uint8_t which : {0, 1}) {
        for (int i = 0; i < 50; ++i) {
          node(which).collect();
          node(which).handle();
          answer(which);
        }
      }
      pass(std::chrono::milliseconds(100));
      read();
    }
  }

  void check() {
    RC_ASSERT(answered.size() == wanted.size());
    std::map<std::string, std::vector<std::uint64_t>> contents;
    for (NodeModel* model : {&model1, &model2}) {
      for (const auto& [id, seqs] : model->queues) {
        for (const auto& [queue_name, definition] : queues) {
          if (definition.id() == id) contents[queue_name] = seqs;
        }
      }
    }
    for (const auto& [queue, seqs] : contents) {
      RC_ASSERT(std::is_sorted(seqs.begin(), seqs.end()));
      for (const std::uint64_t seq : seqs) RC_ASSERT(wanted[seq].contains(queue));
    }
    for (const std::uint64_t seq : confirmed) {
      for (const std::string& queue : wanted[seq]) {
        const auto& seqs = contents[queue];
        RC_ASSERT(std::binary_search(seqs.begin(), seqs.end(), seq));
      }
    }
    RC_ASSERT(router->kept_for_sessions() == 0u);
  }

  NodeModel model1{n1};
  NodeModel model2{n2};
  std::optional<TestClient> client;
  std::uint64_t next_seq = 1;
  std::map<std::uint64_t, std::set<std::string>> wanted;
  std::set<std::uint64_t> answered;
  std::set<std::uint64_t> confirmed;
};

// Each seq is answered once, a confirmed one is in every queue that it was routed to, once, and
// each queue has its messages in the order of publishing: whatever nodes and links do.
TEST(PublishModelTest, AnswersOnceAndKeepsOrderOverResetsAndRefusals) {
  const auto held = rc::check([] {
    const auto steps = *rc::gen::resize(
        200, rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint8_t>>>(rc::gen::pair(
                 rc::gen::arbitrary<std::uint8_t>(), rc::gen::arbitrary<std::uint8_t>())));
    PublishModel().run(steps);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace segue::router
