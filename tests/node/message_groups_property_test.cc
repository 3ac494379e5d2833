// Random consumers, credit, settles, requeues and losses on queues with message groups, against a
// plain model of what each message's place is.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "common/random.h"
#include "tests/node/groups_fixture.h"

namespace segue::node {
namespace {

class MessageGroupsProperty : public MessageGroupsTest {
 protected:
  static constexpr std::uint64_t kQueue = 1;
  static constexpr std::uint64_t kGets = 90;

  using ConsumerKey = std::pair<std::uint64_t, std::uint64_t>;  // peer, consumer
  struct Message {
    bool ready = true;
    ConsumerKey at;  // if it is not
    std::uint64_t number = 0;
  };
  struct LiveConsumer {
    std::uint32_t prefetch = 0;
    bool no_ack = false;
    bool cancelled = false;
    std::map<std::uint64_t, std::string> out;
    bool has_credit() const { return no_ack || prefetch == 0 || out.size() < prefetch; }
  };

  std::uint64_t pick(std::uint64_t bound) { return random_->below(bound); }
  static char group_of(const std::string& body) { return body[0]; }
  static int number_of(const std::string& body) { return std::stoi(body.substr(1)); }

  void start(std::uint64_t seed) {
    random_ = std::make_unique<SeededRandom>(seed);
    disk = storage::FakeDiskDataCenter();
    definitions.clear();
    groups_.clear();
    consumers_.clear();
    made_.clear();
    durable_ = seed % 4 != 0;
    large_ = seed % 2 == 0;
    single_active_ = seed % 5 == 0;
    options.memory_limit = 2 << 20;
    options.free_disk_limit = 0;
    options.checkpoint_wal_bytes = 100'000;
    open();
    declare_groups(kQueue, durable_, {{"x-single-active-consumer", single_active_ ? 1 : 0}});
  }

  void do_publish() {
    std::vector<std::string> bodies;
    const std::uint64_t count = 1 + pick(8);
    for (std::uint64_t i = 0; i < count; ++i) {
      const char group = "-abcd"[pick(5)];
      std::string body = group + std::to_string(++made_[group]) + " ";
      if (large_) body.resize(body.size() + pick(20'000), 'x');
      bodies.push_back(body);
    }
    const std::uint64_t batch = publish(bodies, kQueue);
    for (int i = 0; i < 20 && confirm_of(batch) == nullptr; ++i) turn();
    ASSERT_NE(confirm_of(batch), nullptr);
    const bool taken = !confirm_of(batch)->has_error();
    output->confirms.clear();
    // Deliveries are looked at after this.
    for (const std::string& body : bodies) {
      if (taken) groups_[group_of(body)][number_of(body)] = {};
    }
  }

  void do_subscribe() {
    const ConsumerKey key{1 + pick(3), 1 + pick(3)};
    if (consumers_.contains(key)) return;
    LiveConsumer consumer;
    consumer.prefetch = static_cast<std::uint32_t>(pick(5));
    consumer.no_ack = pick(8) == 0;
    Terms terms;
    terms.prefetch = consumer.prefetch;
    terms.no_ack = consumer.no_ack;
    terms.priority = static_cast<std::int32_t>(pick(2));
    subscribe(key.second, kQueue, terms, PeerId{key.first});
    consumers_[key] = consumer;
  }

  void back(LiveConsumer& consumer) {
    for (const auto& [number, body] : consumer.out) {
      groups_[group_of(body)].at(number_of(body)).ready = true;
    }
    consumer.out.clear();
  }

  void do_unsubscribe() {
    if (consumers_.empty()) return;
    auto at = std::next(consumers_.begin(), static_cast<long>(pick(consumers_.size())));
    if (at->first.second == kGets || at->second.cancelled) return;
    const bool requeue = pick(2) == 0;
    unsubscribe(at->first.second, requeue, PeerId{at->first.first});
    if (requeue) back(at->second);
    at->second.cancelled = true;
    if (at->second.out.empty()) consumers_.erase(at);
  }

  void do_lose_peer() {
    const std::uint64_t peer = 1 + pick(3);
    host->on_peer_lost(PeerId{peer});
    for (auto at = consumers_.begin(); at != consumers_.end();) {
      if (at->first.first != peer) {
        ++at;
        continue;
      }
      back(at->second);
      at = consumers_.erase(at);
    }
  }

  void do_settle() {
    if (consumers_.empty()) return;
    auto at = std::next(consumers_.begin(), static_cast<long>(pick(consumers_.size())));
    LiveConsumer& consumer = at->second;
    if (consumer.out.empty()) return;
    auto first = std::next(consumer.out.begin(), static_cast<long>(pick(consumer.out.size())));
    const std::uint64_t low = first->first;
    const std::uint64_t high = low + pick(3);
    const auto outcome = static_cast<v1::Outcome>(1 + pick(4));
    settle(at->first.second, low, high, outcome, 0, PeerId{at->first.first});
    for (auto out = first; out != consumer.out.end() && out->first <= high;) {
      auto& group = groups_[group_of(out->second)];
      if (outcome == v1::OUTCOME_REQUEUE || outcome == v1::OUTCOME_RELEASE) {
        group.at(number_of(out->second)).ready = true;
      } else {
        group.erase(number_of(out->second));
      }
      out = consumer.out.erase(out);
    }
    if (consumer.cancelled && consumer.out.empty()) consumers_.erase(at);
  }

  void do_get() {
    const bool no_ack = pick(2) == 0;
    v1::QueueRequest message;
    message.set_queue_id(kQueue);
    message.set_request_id(++last_request);
    message.mutable_get()->set_consumer(kGets);
    message.mutable_get()->set_no_ack(no_ack);
    host->on_queue_request(kRouter, message);
    // It may have to come from disk, and memory for it has to become free before.
    for (int i = 0; i < 100 && output->replies.empty(); ++i) tick();
    const auto got = reply_of(last_request);
    const ConsumerKey key{kRouter.value, kGets};
    consumers_[key].prefetch = 1;
    consumers_[key].no_ack = no_ack;
    // It may have come before or after what consumers got.
    v1::NodeDelivery delivery;
    delivery.set_consumer(kGets);
    output->deliveries.push_back({kRouter, delivery, got.messages});
    look();
    output->replies.clear();
  }

  void do_purge() {
    purge(kQueue);
    look();
    for (auto& [name, group] : groups_) {
      std::erase_if(group, [](const auto& entry) { return entry.second.ready; });
    }
    output->replies.clear();
  }

  void do_restart() {
    for (auto& [key, consumer] : consumers_) back(consumer);
    consumers_.clear();
    if (!durable_) groups_.clear();
    for (std::uint64_t peer = 1; peer <= 3; ++peer) host->on_peer_lost(PeerId{peer});
    settle_down();  // settles are on the disk
    open();
  }

  void saw(const SeenMessage& message, const ConsumerKey& key, bool no_ack) {
    const char name = group_of(message.body);
    auto& group = groups_[name];
    const int number = number_of(message.body);
    const auto at = group.find(number);
    ASSERT_NE(at, group.end()) << message.body.substr(0, 5) << " is gone";
    ASSERT_TRUE(at->second.ready) << message.body.substr(0, 5) << " is out";
    for (const auto& [other, known] : group) {
      if (name == '-') break;
      if (known.ready) {
        ASSERT_GE(other, number) << "of group " << name << " it is not next";
      } else {
        ASSERT_EQ(known.at, key) << "group " << name << " is at two consumers";
      }
    }
    if (no_ack) {
      group.erase(at);
      return;
    }
    at->second = {false, key, message.number};
    consumers_.at(key).out[message.number] = message.body;
  }

  /// What was delivered since the last look, the messages of each group in order.
  void look() {
    std::map<std::pair<char, int>, std::pair<SeenMessage, ConsumerKey>> came;
    for (const auto& delivered : std::exchange(output->deliveries, {})) {
      const ConsumerKey key{delivered.peer.value, delivered.delivery.consumer()};
      std::map<char, int> last;
      for (const SeenMessage& message : delivered.messages) {
        const char group = group_of(message.body);
        ASSERT_GT(number_of(message.body), std::exchange(last[group], number_of(message.body)));
        came[{group, number_of(message.body)}] = {message, key};
      }
    }
    for (const auto& [place, delivery] : came) {
      ASSERT_TRUE(consumers_.contains(delivery.second));
      saw(delivery.first, delivery.second, consumers_.at(delivery.second).no_ack);
      if (HasFatalFailure()) return;
    }
  }

  /// Nobody with credit waits for a message that it may have.
  void nothing_is_stuck() {
    for (int i = 0; i < 40; ++i) {
      tick();  // what is in memory has to go before more is read from disk
      look();
      if (HasFatalFailure()) return;
    }
    const bool anybody = std::any_of(consumers_.begin(), consumers_.end(), [](const auto& entry) {
      return entry.first.second != kGets && !entry.second.cancelled && entry.second.has_credit();
    });
    std::size_t owned = 0;
    for (const auto& [name, group] : groups_) {
      const auto out = std::find_if(group.begin(), group.end(),
                                    [](const auto& entry) { return !entry.second.ready; });
      const bool is_owned = name != '-' && out != group.end();
      if (is_owned) ++owned;
      const bool waits = std::any_of(group.begin(), group.end(),
                                     [](const auto& entry) { return entry.second.ready; });
      if (!waits || !anybody || single_active_) continue;
      ASSERT_TRUE(is_owned) << "group " << name << " is nobody's and waits";
      const LiveConsumer& owner = consumers_.at(out->second.at);
      ASSERT_TRUE(out->second.at.second == kGets || owner.cancelled || !owner.has_credit())
          << "group " << name << " waits for consumer " << out->second.at.second << " of peer "
          << out->second.at.first << ", which has " << owner.out.size() << " of " << owner.prefetch;
    }
    ASSERT_EQ(status(kQueue).groups(), owned);
    output->replies.clear();
  }

  void step() {
    switch (pick(14)) {
      case 0:
      case 1:
      case 2:
        return do_publish();
      case 3:
      case 4:
        return do_subscribe();
      case 5:
        return pick(3) == 0 ? do_lose_peer() : do_unsubscribe();
      case 6:
        return do_get();
      case 7:
        return pick(20) == 0 ? do_purge() : tick();
      case 8:
        if (pick(12) == 0) do_restart();
        return;
      default:
        return do_settle();
    }
  }

  /// All that is left comes to one consumer, each group in order.
  void drain() {
    for (std::uint64_t peer = 1; peer <= 3; ++peer) host->on_peer_lost(PeerId{peer});
    for (auto& [key, consumer] : consumers_) back(consumer);
    consumers_.clear();
    const ConsumerKey last{9, 1};
    subscribe(1, kQueue, {}, PeerId{9});
    consumers_[last] = {};
    for (int i = 0; i < 100; ++i) {
      tick();
      look();
      if (HasFatalFailure()) return;
    }
    for (const auto& [name, group] : groups_) {
      for (const auto& [number, message] : group) {
        ASSERT_FALSE(message.ready) << name << number << " does not come";
      }
    }
    ASSERT_EQ(host->state().ready(), 0u);
  }

  std::unique_ptr<SeededRandom> random_;
  std::map<char, std::map<int, Message>> groups_;  // what is not settled
  std::map<ConsumerKey, LiveConsumer> consumers_;
  std::map<char, int> made_;
  bool durable_ = true;
  bool large_ = false;
  bool single_active_ = false;
};

TEST_F(MessageGroupsProperty, AGroupIsAtOneConsumerInOrderAndNothingIsStuck) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    start(seed);
    for (int i = 0; i < 300; ++i) {
      step();
      if (HasFatalFailure()) return;
      // What was settled may free what the model must hear of first.
      if (pick(3) > 0) turn();
      look();
      if (i % 20 == 0 && !HasFatalFailure()) nothing_is_stuck();
      if (HasFatalFailure()) return;
    }
    drain();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace segue::node
