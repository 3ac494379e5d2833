#pragma once

#include <functional>

#include "common/clock.h"
#include "common/logging.h"
#include "common/memory_trim.h"
#include "common/zmq_socket.h"
#include "node/dead_letter_links.h"
#include "node/link_server.h"
#include "node/node_catalog.h"
#include "node/queue_host.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// The node's loop: brings frames, commits and timers to whom they concern, lets everybody end the
/// turn in the right order, and sleeps when there is nothing to do. The one thread that all of the
/// node's state belongs to.
class Reactor {
 public:
  struct Parts {
    storage::DiskDataCenter& disk;
    QueueHost& queues;
    NodeCatalog& catalog;
    DeadLetterLinks& dead_letters;
    LinkServer& links;
    Poller& poller;  // has the sockets, the wakeup and the signals
    Wakeup& wakeup;
    ShutdownSignals& signals;
    const Clock& clock;
    Logger& log;
  };

  /// What the parts refer to outlives the reactor.
  Reactor(Parts parts, Duration shutdown_timeout);

  /// Runs until SIGTERM or SIGINT; then stops reading from peers, makes checkpoints, and returns
  /// within the shutdown timeout. A second signal returns at once (the log has everything).
  void run();

 private:
  /// One round without sleeping. True: there is more to do at once.
  bool turn();
  bool take_commits();
  void tick();
  /// To all peers that want it. Returns the bytes of memory that messages take.
  std::uint64_t tell_state();
  void sleep();
  void on_signal();
  bool is_finished() const;

  Parts parts_;
  Duration shutdown_timeout_;
  MemoryTrim memory_;
  TimePoint now_;
  TimePoint started_;
  TimePoint next_tick_{};
  bool told_blocked_ = false;
  bool draining_ = false;
  bool checkpointed_ = false;
  bool hurry_ = false;
  TimePoint deadline_ = TimePoint::max();
};

}  // namespace segue::node
