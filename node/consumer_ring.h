#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>

#include "node/consumer.h"

namespace segue::node {

/// The consumers of one queue that have free credit, in the order in which they are served: higher
/// priority first, within one priority in turn. Each step costs the same however many there are.
/// Reactor's thread.
class ConsumerRing {
 public:
  /// The consumer has credit: it is served after those of its priority that wait already.
  void offer(Consumer& consumer);
  /// The consumer has no credit, or goes.
  void withdraw(Consumer& consumer);
  /// Whose turn it is; null when nobody has credit.
  Consumer* front() const { return groups_.empty() ? nullptr : groups_.begin()->second.front(); }
  /// How many wait with the first one's priority.
  std::size_t front_group_size() const {
    return groups_.empty() ? 0 : groups_.begin()->second.size();
  }
  /// The first one goes behind the others of its priority.
  void rotate();

 private:
  std::map<std::int32_t, std::list<Consumer*>, std::greater<>> groups_;  // none is empty
};

}  // namespace segue::node
