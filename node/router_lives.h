#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/clock.h"

namespace segue::node {

/// Which routers are connected, and in which of their lives: what the catalog's leader must know to
/// delete the exclusive queues of sessions that cannot come back. No I/O, one thread.
class RouterLives {
 public:
  /// A router that stays away longer is taken for dead.
  explicit RouterLives(Duration grace) : grace_(grace) {}

  void up(const std::string& router) { down_since_.erase(router); }
  void down(const std::string& router, TimePoint now) { down_since_.emplace(router, now); }

  /// Routers whose grace has ended by now; each is named once for each time it went down.
  std::vector<std::string> take_dead(TimePoint now) {
    std::vector<std::string> dead;
    for (auto at = down_since_.begin(); at != down_since_.end();) {
      if (now - at->second < grace_) {
        ++at;
        continue;
      }
      dead.push_back(at->first);
      at = down_since_.erase(at);
    }
    return dead;
  }

 private:
  Duration grace_;
  std::map<std::string, TimePoint> down_since_;
};

}  // namespace segue::node
