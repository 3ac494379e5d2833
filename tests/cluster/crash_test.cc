// Real processes under load, killed with SIGKILL at random moments, again and again.
//
//   SEGUE_CRASH_ROUNDS=500 SEGUE_CRASH_SEED=7 build/release/bin/segue_cluster_tests
//   --gtest_filter='Crash.*'

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/fakes/test_cluster.h"

namespace segue {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What all threads of the test agree on.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t allowed = 0;    // messages that each producer may have published by now
  std::uint64_t confirmed = 0;  // of all producers
  std::uint64_t consumed = 0;
  bool finished = false;
};

// Publishes "<producer> <seq>" to the queues in turn, as many as Progress allows.
class Producer {
 public:
  Producer(const TestCluster& cluster, int number, std::vector<std::string> queues,
           Progress& progress)
      : number_(number), queues_(std::move(queues)), progress_(progress) {
    auto options = cluster.connection_options("producer " + std::to_string(number));
    options.max_in_flight_messages = 300;
    options.full_timeout = seconds(120);
    connection_.emplace(client::Connection::open(options).value());
    connection_->publisher().on_confirm([this](const client::ConfirmEvent& event) { note(event); });
    thread_ = std::thread([this] { run(); });
  }
  ~Producer() {
    if (thread_.joinable()) thread_.join();
  }

  // Ends when everything allowed is published and settled.
  client::Status finish() {
    thread_.join();
    return connection_->publisher().wait_for_confirms(seconds(120));
  }

  std::uint64_t published() const { return published_; }
  const std::string& queue_of(std::uint64_t seq) const { return queues_[seq % queues_.size()]; }
  bool confirmed(std::uint64_t seq) {
    const std::lock_guard lock(mutex_);
    return seq < confirmed_.size() && confirmed_[seq];
  }
  std::string failures() {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  void run() {
    for (;;) {
      {
        std::unique_lock lock(progress_.mutex);
        progress_.changed.wait(
            lock, [&] { return progress_.allowed > published_ || progress_.finished; });
        if (progress_.allowed <= published_) return;
      }
      const std::uint64_t seq = published_ + 1;
      const std::string body = std::to_string(number_) + " " + std::to_string(seq);
      const auto result =
          connection_->publisher().publish(client::Message::to_queue(queue_of(seq), body));
      if (!result) return fail("publish: " + result.error().to_string());
      if (result.value() != seq)
        return fail("seq " + std::to_string(result.value()) + " for " + body);
      published_ = seq;
    }
  }

  void note(const client::ConfirmEvent& event) {
    std::uint64_t count = 0;
    {
      const std::lock_guard lock(mutex_);
      for (const client::SeqRange& range : event.confirmed) {
        if (confirmed_.size() <= range.last) confirmed_.resize(range.last + 1);
        for (std::uint64_t seq = range.first; seq <= range.last; ++seq) {
          if (confirmed_[seq]) failures_ += "seq " + std::to_string(seq) + " confirmed twice\n";
          confirmed_[seq] = true;
        }
        count += range.count();
      }
      for (const client::SeqRange& range : event.unroutable) {
        failures_ += "unroutable from " + std::to_string(range.first) + "\n";
      }
      for (const client::Rejection& rejection : event.rejected) {
        failures_ += "rejected from " + std::to_string(rejection.seqs.first) + ": " +
                     rejection.error.to_string() + "\n";
      }
    }
    {
      const std::lock_guard lock(progress_.mutex);
      progress_.confirmed += count;
    }
    progress_.changed.notify_all();
  }

  void fail(const std::string& what) {
    const std::lock_guard lock(mutex_);
    failures_ += what + "\n";
  }

  int number_;
  std::vector<std::string> queues_;
  Progress& progress_;
  std::uint64_t published_ = 0;  // of run(); read by others after finish()
  std::mutex mutex_;
  std::vector<bool> confirmed_;
  std::string failures_;
  std::optional<client::Connection> connection_;
  std::thread thread_;
};

// What one queue gave, and whether it may have been so.
class Received {
 public:
  void take(const client::Delivery& delivery) {
    const std::string body(delivery.body());
    const std::size_t space = body.find(' ');
    const int producer = std::stoi(body.substr(0, space));
    const std::uint64_t seq = std::stoull(body.substr(space + 1));
    const bool again = !seen_[producer].insert(seq).second;
    if (again && !delivery.redelivered())
      failures_ += "'" + body + "' twice, not flagged redelivered\n";
    if (!again && seq < highest_[producer] && !delivery.redelivered()) {
      failures_ += "'" + body + "' after " + std::to_string(highest_[producer]) + "\n";
    }
    highest_[producer] = std::max(highest_[producer], seq);
    if (again) ++repeats_;
  }
  bool has(int producer, std::uint64_t seq) const {
    const auto at = seen_.find(producer);
    return at != seen_.end() && at->second.contains(seq);
  }
  std::uint64_t distinct() const {
    std::uint64_t count = 0;
    for (const auto& [producer, seqs] : seen_) count += seqs.size();
    return count;
  }
  std::uint64_t repeats() const { return repeats_; }
  const std::string& failures() const { return failures_; }

 private:
  std::map<int, std::set<std::uint64_t>> seen_;
  std::map<int, std::uint64_t> highest_;
  std::uint64_t repeats_ = 0;
  std::string failures_;
};

// Consumes a queue all the time, acking everything.
class LiveConsumer {
 public:
  LiveConsumer(const TestCluster& cluster, const std::string& queue, Progress& progress)
      : connection_(cluster.connect("consumer of " + queue)), progress_(progress) {
    consumer_.emplace(connection_.subscribe(queue, {.prefetch = 50}).value());
    thread_ = std::thread([this] { run(); });
  }
  ~LiveConsumer() { stop(); }

  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t distinct() {
    const std::lock_guard lock(mutex_);
    return received_.distinct();
  }
  const Received& received() const { return received_; }  // after stop()

 private:
  void run() {
    while (!stopping_) {
      const auto batch = consumer_->next_batch(100, milliseconds(50));
      if (!batch) continue;
      {
        const std::lock_guard lock(mutex_);
        for (const client::Delivery& delivery : batch.value()) received_.take(delivery);
      }
      batch.value().ack();
      progress_.changed.notify_all();
    }
  }

  client::Connection connection_;
  std::optional<client::Consumer> consumer_;
  Progress& progress_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  Received received_;
  std::thread thread_;
};

class Crash : public testing::Test {
 protected:
  static constexpr int kProducers = 3;

  void declare_queues() {
    client::Connection connection = cluster_.connect("setup");
    for (const std::string& queue : queues_) {
      const auto declared = connection.admin().declare_queue(queue);
      ASSERT_TRUE(declared) << declared.error().to_string();
      nodes_used_.insert(declared.value().node);
    }
  }

  // Waits until `more` further messages are confirmed, at most `at_most`.
  void wait_for_confirmed(std::uint64_t more, milliseconds at_most) {
    std::unique_lock lock(progress_.mutex);
    const std::uint64_t target = progress_.confirmed + more;
    progress_.changed.wait_for(lock, at_most, [&] { return progress_.confirmed >= target; });
  }

  void round(std::mt19937_64& random) {
    {
      const std::lock_guard lock(progress_.mutex);
      progress_.allowed += 400;
    }
    progress_.changed.notify_all();
    wait_for_confirmed(random() % 900, milliseconds(500));
    std::vector<std::string> all = cluster_.node_ids();
    all.insert(all.end(), cluster_.router_ids().begin(), cluster_.router_ids().end());
    const std::string victim = all[random() % all.size()];
    cluster_.kill(victim);
    if (random() % 2 == 0) wait_for_confirmed(random() % 200, milliseconds(200));
    cluster_.start(victim);
    // Half of the time the next blow comes before the process has recovered.
    if (random() % 2 == 0) wait_for_confirmed(300, milliseconds(3000));
    const std::vector<std::string> dead = cluster_.check();
    ASSERT_TRUE(dead.empty()) << dead[0] << " died by itself\n" << cluster_.logs();
  }

  // Drains a queue that nobody consumed before: each confirmed message must be there once.
  Received drain(const std::string& queue, std::uint64_t expected) {
    Received received;
    client::Connection connection = cluster_.connect("drain");
    auto consumer = connection.subscribe(queue, {.prefetch = 1000}).value();
    while (received.distinct() < expected) {
      const auto batch = consumer.next_batch(1000, seconds(20));
      if (!batch) break;
      for (const client::Delivery& delivery : batch.value()) received.take(delivery);
      batch.value().ack();
    }
    // One more message would be one too many.
    const auto surplus = consumer.next(milliseconds(200));
    EXPECT_FALSE(surplus) << queue << ": surplus '" << surplus.value().body() << "'";
    return received;
  }

  TestCluster cluster_{{.routers = 2, .nodes = 3, .yaml = "memory_limit: 256MiB\n"}};
  const std::vector<std::string> live_{"live-a", "live-b", "live-c", "live-d"};
  const std::vector<std::string> idle_{"idle-a", "idle-b", "idle-c", "idle-d"};
  std::vector<std::string> queues_{"live-a", "live-b", "live-c", "live-d",
                                   "idle-a", "idle-b", "idle-c", "idle-d"};
  std::set<std::string> nodes_used_;
  Progress progress_;
};

TEST_F(Crash, LosesNothingConfirmedAndEnqueuesNothingTwice) {
  const std::uint64_t rounds = from_environment("SEGUE_CRASH_ROUNDS", 50);
  const std::uint64_t seed = from_environment("SEGUE_CRASH_SEED", std::random_device{}());
  SCOPED_TRACE("SEGUE_CRASH_SEED=" + std::to_string(seed));
  std::printf("SEGUE_CRASH_SEED=%llu SEGUE_CRASH_ROUNDS=%llu\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(rounds));
  std::mt19937_64 random(seed);

  cluster_.start_all();
  ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
  ASSERT_NO_FATAL_FAILURE(declare_queues());
  EXPECT_GT(nodes_used_.size(), 1u) << "the queues should sit on different nodes";

  std::vector<std::unique_ptr<LiveConsumer>> consumers;
  for (const std::string& queue : live_) {
    consumers.push_back(std::make_unique<LiveConsumer>(cluster_, queue, progress_));
  }
  std::vector<std::unique_ptr<Producer>> producers;
  for (int i = 0; i < kProducers; ++i) {
    producers.push_back(std::make_unique<Producer>(cluster_, i, queues_, progress_));
  }

  for (std::uint64_t i = 0; i < rounds && !HasFatalFailure(); ++i) round(random);
  {
    const std::lock_guard lock(progress_.mutex);
    progress_.finished = true;
  }
  progress_.changed.notify_all();

  std::map<std::string, std::uint64_t> expected;
  std::uint64_t total = 0;
  for (auto& producer : producers) {
    const client::Status settled = producer->finish();
    ASSERT_TRUE(settled) << settled.error().to_string() << "\n" << cluster_.logs();
    EXPECT_EQ(producer->failures(), "");
    for (std::uint64_t seq = 1; seq <= producer->published(); ++seq) {
      ASSERT_TRUE(producer->confirmed(seq)) << seq;
      ++expected[producer->queue_of(seq)];
      ++total;
    }
  }
  ASSERT_EQ(total, kProducers * 400 * rounds);

  for (std::size_t i = 0; i < live_.size(); ++i) {
    LiveConsumer& consumer = *consumers[i];
    std::unique_lock lock(progress_.mutex);
    progress_.changed.wait_for(lock, seconds(60),
                               [&] { return consumer.distinct() >= expected[live_[i]]; });
  }
  std::uint64_t repeats = 0;
  std::map<std::string, Received> received;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    consumers[i]->stop();
    received[live_[i]] = consumers[i]->received();
  }
  for (const std::string& queue : idle_) {
    received[queue] = drain(queue, expected[queue]);
    EXPECT_EQ(received[queue].repeats(), 0u) << queue << " has messages twice";
  }
  for (auto& [queue, what] : received) {
    EXPECT_EQ(what.failures(), "") << queue;
    EXPECT_EQ(what.distinct(), expected[queue]) << queue;
    repeats += what.repeats();
  }
  for (int i = 0; i < kProducers; ++i) {
    for (std::uint64_t seq = 1; seq <= producers[i]->published(); ++seq) {
      ASSERT_TRUE(received[producers[i]->queue_of(seq)].has(i, seq))
          << "lost: producer " << i << " seq " << seq << " of " << producers[i]->queue_of(seq);
    }
  }
  std::printf("%llu messages confirmed and received in %llu rounds; %llu redelivered\n",
              static_cast<unsigned long long>(total), static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(repeats));
}

}  // namespace
}  // namespace segue
