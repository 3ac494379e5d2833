#include "node/reactor.h"

#include <algorithm>

namespace segue::node {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);
// Bounds a turn, so that what came early is on its way to the disk while the rest is read.
constexpr std::size_t kFramesPerTurn = 64;

}  // namespace

Reactor::Reactor(Parts parts, Duration shutdown_timeout)
    : parts_(parts), shutdown_timeout_(shutdown_timeout), now_(parts.clock.now()), started_(now_) {}

void Reactor::run() {
  while (!is_finished()) {
    now_ = parts_.clock.now();
    if (!turn()) sleep();
  }
  if (!checkpointed_ && !hurry_) {
    parts_.log.warn("shutdown_timeout", {{"detail",
                                          "checkpoints are not complete; the next start "
                                          "replays more of the log"}});
  }
  parts_.links.close_all(now_);
}

bool Reactor::turn() {
  bool more = false;
  if (!draining_) {
    more = parts_.links.poll(now_, kFramesPerTurn);
    more |= parts_.catalog.poll(now_);
    more |= parts_.dead_letters.poll(now_);
    if (now_ >= parts_.links.next_timer()) parts_.links.on_timers(now_);
  }
  more |= take_commits();
  if (now_ >= next_tick_) tick();

  parts_.catalog.propose(now_);
  parts_.queues.end_turn(now_, parts_.clock.wall_ms());
  if (!draining_) parts_.dead_letters.flush(now_);
  if (parts_.queues.blocked() != told_blocked_) tell_state();
  parts_.disk.flush();

  // A lone group may be durable already.
  more |= take_commits();
  parts_.catalog.publish(now_);
  parts_.links.set_catalog_index(parts_.catalog.index(), now_);
  parts_.links.flush(now_);
  return more || parts_.queues.wants_turn() || parts_.catalog.wants_turn() ||
         parts_.links.has_output();
}

bool Reactor::take_commits() {
  const std::vector<storage::Committed> commits = parts_.disk.poll();
  for (const storage::Committed& committed : commits) {
    if (committed.shard == kCatalogShard) {
      parts_.catalog.on_committed(committed.up_to);
    } else {
      parts_.queues.on_committed(committed.shard, committed.up_to);
    }
  }
  return !commits.empty();
}

void Reactor::tick() {
  next_tick_ = now_ + kTick;
  parts_.queues.on_tick(now_, parts_.clock.wall_ms());
  parts_.catalog.on_tick(now_);
  memory_.on_tick(now_, tell_state());
  // Under load the loop never sleeps, so signals are looked for here too.
  on_signal();
}

std::uint64_t Reactor::tell_state() {
  v1::NodeState state = parts_.queues.state();
  state.set_uptime_ms(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now_ - started_).count()));
  told_blocked_ = parts_.queues.blocked();
  parts_.links.set_state(state, now_);
  return state.memory_bytes();
}

void Reactor::sleep() {
  TimePoint until = next_tick_;
  if (const auto wait = parts_.queues.next_turn_in()) until = std::min(until, now_ + *wait);
  if (!draining_) {
    until = std::min({until, parts_.links.next_timer(), parts_.catalog.next_timer(),
                      parts_.dead_letters.next_timer()});
  }
  const TimePoint now = parts_.clock.now();
  if (until > now) parts_.poller.wait(until - now);
  parts_.wakeup.clear();
}

void Reactor::on_signal() {
  const int signal = parts_.signals.take();
  if (signal == 0) return;
  if (draining_) {
    hurry_ = true;
    return;
  }
  parts_.log.info("node_stopping", {{"signal", signal}});
  draining_ = true;
  deadline_ = now_ + shutdown_timeout_;
  parts_.catalog.begin_shutdown(now_);
  parts_.dead_letters.close(now_);
  parts_.queues.begin_shutdown([this] { checkpointed_ = true; });
}

bool Reactor::is_finished() const {
  if (!draining_) return false;
  return hurry_ || (checkpointed_ && parts_.catalog.is_written()) ||
         parts_.clock.now() >= deadline_;
}

}  // namespace segue::node
