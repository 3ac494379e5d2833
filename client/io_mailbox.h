#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/zmq_socket.h"

namespace segue::client {

class ConsumerCore;

/// How other threads reach the I/O thread. Outlives it, for deliveries may outlive the connection:
/// then nothing is taken any more. The lock is held for a push only.
class IoMailbox {
 public:
  using Command = std::function<void()>;

  // ---- any thread

  /// Has the I/O thread run `command`. False, and it is dropped, after close().
  bool post(Command command);
  /// The consumer has something to send.
  void add_dirty(std::shared_ptr<ConsumerCore> consumer);
  /// Makes the I/O thread look around; costs nothing while it is awake.
  void wake();
  bool on_io_thread() const {
    return io_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  // ---- I/O thread

  Wakeup& wakeup() { return wakeup_; }
  void set_io_thread(std::thread::id id) { io_thread_.store(id); }
  std::vector<Command> take_commands();
  std::vector<std::shared_ptr<ConsumerCore>> take_dirty();
  /// Announces sleep: from here on wake() rings. Then look whether there is work, then sleep.
  void prepare_sleep() { sleeping_.store(true); }
  bool has_work() const;
  void woke_up();
  /// Takes nothing any more. What had been posted is still there for take_commands().
  void close();

 private:
  Wakeup wakeup_;
  std::atomic<bool> sleeping_{false};
  std::atomic<std::thread::id> io_thread_{};
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::vector<Command> commands_;
  std::vector<std::shared_ptr<ConsumerCore>> dirty_;
};

}  // namespace segue::client
