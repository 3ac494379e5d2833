#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/message_batch.h"
#include "node/memory_budget.h"
#include "node/peer_output.h"
#include "node/range_set.h"

namespace segue::node {

class Consumer;

/// The message groups of one queue: which consumer has which group, and what was looked past
/// because its group was another's. Knows the messages that are at consumers and those that were
/// looked at and are ready, by sequence; nothing of what was never looked at. A group without
/// either is forgotten. Each step costs the same however long the queue is. Reactor's thread.
class MessageGroups {
 public:
  /// A hash of the group's id: two groups that share one are treated as one, which breaks no order.
  /// 0 is no group.
  using Key = std::uint64_t;
  static constexpr Key kNoGroup = 0;
  /// So many messages are looked past at most.
  static constexpr std::size_t kWindow = 10'000;

  /// What is remembered counts in the budget, which outlives this.
  explicit MessageGroups(MemoryBudget& memory) : memory_(memory) {}
  ~MessageGroups();
  MessageGroups(const MessageGroups&) = delete;
  MessageGroups& operator=(const MessageGroups&) = delete;

  static Key key_of(std::string_view header);

  /// Who would get a message of the group that nobody has looked at yet.
  struct Claim {
    bool waits = false;         // nobody: earlier ones of the group wait
    Consumer* owner = nullptr;  // null: anybody
  };
  Claim claim(Key key) const;

  /// No more can be looked past for now.
  bool is_full() const { return held_ >= kWindow; }
  /// The message, which nobody had looked at, was looked past.
  void hold(Key key, Sequence sequence);
  /// The message is at the consumer, and will be settled.
  void deliver(Consumer& consumer, Key key, Sequence sequence);
  /// The messages left the queue, wherever they were; true if that changes who may get what.
  bool leave(NumberRange sequences);
  /// The messages were at consumers and are ready again.
  void come_back(NumberRange sequences);

  /// The first ready message that was looked at and that the consumer may get; 0: there is none.
  Sequence first_for(const Consumer& consumer) const;
  /// How many from this one on, of those side by side, are ready and of the same group; at most
  /// `most`.
  std::uint32_t alike(Sequence first, std::uint32_t most) const;
  /// The group of a message that was looked at.
  Key key_at(Sequence sequence) const;

  /// The consumer has credit: if its groups have messages for it, it is in take_eager().
  void offered(Consumer& consumer);
  /// The consumer gets no more.
  void gone(const Consumer& consumer);
  bool waits_for(const Consumer& consumer) const { return ready_.contains(&consumer); }
  /// Consumers with credit whose groups have messages for them; none is here any more.
  std::vector<Consumer*> take_eager();
  bool has_eager() const { return !eager_.empty(); }

  /// Groups that belong to a consumer.
  std::size_t owned() const { return owned_; }

 private:
  struct Group {
    Key key = kNoGroup;
    Consumer* owner = nullptr;
    std::uint64_t out = 0;         // messages at the owner
    std::set<std::uint64_t> held;  // ready
    std::uint64_t listed_at = 0;   // its place in ready_[listed_for]; 0: none
    const Consumer* listed_for = nullptr;
  };
  struct Known {
    Group* group;
    bool out;
  };
  using KnownMap = std::map<std::uint64_t, Known>;

  Group& group_of(Key key);
  void add(std::uint64_t sequence, Group& group, bool out);
  KnownMap::iterator remove(KnownMap::iterator at);
  void end_delivery(Group& group);
  /// After what is ready of the group, or its owner, has changed; may forget it.
  void list(Group& group);
  void unlist(Group& group);

  MemoryBudget& memory_;
  std::unordered_map<Key, Group> groups_;
  KnownMap known_;  // messages of groups that were looked at
  RangeSet alone_;  // ready again, and without a group
  std::size_t held_ = 0;
  std::size_t owned_ = 0;
  /// Groups with ready messages, by the first of them; null: those that anybody may have.
  std::unordered_map<const Consumer*, std::map<std::uint64_t, Group*>> ready_;
  std::map<std::pair<PeerId, std::uint64_t>, Consumer*> eager_;
};

}  // namespace segue::node
