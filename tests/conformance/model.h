#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/model_queue.h"
#include "tests/conformance/model_topology.h"
#include "tests/conformance/outcome.h"
#include "tests/conformance/program.h"

namespace segue::conformance {

/// What the model gets wrong on purpose, to see that it is found.
enum class Mistake {
  kNone,
  kPurgeCountsUnacked,
  kRequeuedGoLast,
  kNewestAreDropped,
  kGroupsAreForgotten,
  kPoliciesGoFirst,
  kDelayedCanBePurged,
  kRepeatsAreLetIn,
};

/// A cluster as docs/semantics.md describes it: plain maps and vectors, nothing takes time. A
/// value: a copy goes its own way.
class Model {
 public:
  explicit Model(Mistake mistake = Mistake::kNone) : mistake_(mistake) {}

  /// Something that was delivered, to be settled.
  struct Handle {
    enum class State { kOpen, kSettled, kVoid };
    int session = 0;
    /// Of a consumer's deliveries.
    std::optional<std::uint64_t> consumer{};
    std::string queue{};
    std::uint64_t queue_id = 0;
    ModelMessage message{};
    State state = State::kOpen;
  };
  /// A message that a consumer was given.
  struct Delivered {
    int consumer = 0;
    /// Unless it is settled by that: where it is in handles().
    std::optional<std::size_t> handle{};
    Seen seen{};
  };
  struct Numbers {
    std::uint64_t ready = 0;
    std::uint64_t unacked = 0;
    std::uint64_t letters = 0;
    std::uint64_t consumers = 0;
    std::uint64_t delayed = 0;
    /// In the deduplication window.
    std::uint64_t ids = 0;

    bool operator==(const Numbers&) const = default;
  };

  /// No more queues than these are declared.
  void limit_queues(std::optional<std::uint64_t> most) { max_queues_ = most; }

  /// Does it, and says what comes of it. Nothing when the operation makes no sense now, or when the
  /// semantics leave open what comes of it; the model is of no use any more then.
  std::optional<Outcome> apply(const Operation& operation);

  /// What the last operation gave to consumers, in the order of each.
  const std::vector<Delivered>& delivered() const { return delivered_; }
  /// Consumers that the last operation ended, by deleting their queue.
  const std::set<int>& ended() const { return ended_; }
  /// The delivery that the last operation was about: which it settled, or got.
  std::size_t handle() const { return handle_; }
  const std::vector<Handle>& handles() const { return handles_; }
  /// Where what the last operation cancels stands among those that are delayed.
  std::size_t cancelled() const { return cancelled_; }
  /// Whether a dead letter of the last operation went nowhere.
  bool lost_letters() const { return lost_letters_; }
  /// The bodies of what the last operation published.
  const std::vector<std::string>& published() const { return published_; }

  const std::map<std::string, ModelQueue>& queues() const { return queues_; }
  const ModelTopology& topology() const { return topology_; }
  const std::map<std::string, SetPolicy>& policies() const { return policies_; }
  Numbers numbers(const ModelQueue& queue) const;
  bool has_dead_letter_exchanges() const;

 private:
  std::optional<Outcome> perform(const DeclareExchange& op);
  std::optional<Outcome> perform(const DeleteExchange& op);
  std::optional<Outcome> perform(const DeclareQueue& op);
  std::optional<Outcome> perform(const DeleteQueue& op);
  std::optional<Outcome> perform(const Purge& op);
  std::optional<Outcome> perform(const Bind& op);
  std::optional<Outcome> perform(const Publish& op);
  std::optional<Outcome> perform(const Get& op);
  std::optional<Outcome> perform(const Consume& op);
  std::optional<Outcome> perform(const Cancel& op);
  std::optional<Outcome> perform(const Settle& op);
  std::optional<Outcome> perform(const Browse& op);
  std::optional<Outcome> perform(const CancelDelayed& op);
  std::optional<Outcome> perform(const SetPolicy& op);
  std::optional<Outcome> perform(const DeletePolicy& op);
  std::optional<Outcome> perform(const Reopen& op);
  std::optional<Outcome> perform(const Restart& op);

  std::set<ErrorCode> cannot_use(const std::string& queue, int session) const;
  std::string publish_one(const Publish& op, const std::set<std::string>& targets,
                          const Seen& message, bool first);
  /// The values of policies in force for the name.
  Table said_of(const std::string& name, const std::string& kind) const;
  /// What policies and arguments say is in force from now on.
  void put_in_force();
  std::set<ErrorCode> cannot_declare(const DeclareQueue& wanted) const;
  void delete_queue(const std::string& name);
  void end_session(int session);
  void crash_nodes();

  /// What happens by itself, until nothing does: deliveries, expiry, limits, dead letters.
  void settle_down();
  bool dispatch(ModelQueue& queue);
  bool fire(ModelQueue& queue);
  bool expire(ModelQueue& queue);
  bool keep_limit(ModelQueue& queue);
  bool forward(ModelQueue& source);
  /// Whether the first letter has left.
  bool forward_first(ModelQueue& source, int lane);
  ModelConsumer* next_consumer(ModelQueue& queue);
  void deliver(ModelQueue& queue, std::size_t at, ModelConsumer& consumer);
  /// A delivery that the message's group is bound to; null: the group is nobody's.
  const Handle* holder_of(const ModelQueue& queue, const ModelMessage& message) const;
  /// Who is given the message, and whether it waits for its group's consumer.
  ModelConsumer* taker_of(ModelQueue& queue, const ModelMessage& message);
  Handle& hold(ModelQueue& queue, ModelMessage message, int session);
  void die(ModelQueue& queue, ModelMessage message, const char* reason);
  void give_back(Handle& handle, bool counts);
  ModelQueue* queue_of(const Handle& handle);
  ModelConsumer* consumer_of(const Handle& handle);
  /// Whether what came of the operation depends on what came first.
  bool is_a_race() const;

  Mistake mistake_;
  std::optional<std::uint64_t> max_queues_;
  ModelTopology topology_;
  std::map<std::string, ModelQueue> queues_;
  std::map<std::string, SetPolicy> policies_;
  std::vector<Handle> handles_;
  std::uint64_t next_id_ = 1;
  std::uint64_t publish_count_ = 0;

  // Of the last operation.
  /// What happened to a queue.
  struct Events {
    std::set<std::string> sources;  // of what came, or waits to come
    int arrived = 0;
    int came_back = 0;
    bool delivered = false;
    bool died = false;
  };
  std::map<std::string, Events> events_;
  std::vector<Delivered> delivered_;
  std::set<int> ended_;
  std::size_t handle_ = 0;
  std::size_t cancelled_ = 0;
  std::set<std::string> changed_;  // queues, by policies
  bool alternates_changed_ = false;
  std::vector<std::string> published_;
  bool deleted_ = false;
  bool forwarded_ = false;
  bool lost_letters_ = false;
  bool left_open_ = false;
};

}  // namespace segue::conformance
