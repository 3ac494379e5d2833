#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/console.h"
#include "cli/wait_notes.h"

namespace segue::cli {

/// Writes the lines of WaitNotes to standard error as they become due, from a thread of its own, as
/// long as it lives: the command itself may be in a call that waits.
class WaitTeller {
 public:
  /// Both outlive it.
  WaitTeller(Console& console, WaitNotes& notes);
  ~WaitTeller();
  WaitTeller(const WaitTeller&) = delete;
  WaitTeller& operator=(const WaitTeller&) = delete;

 private:
  void run();

  Console& console_;
  WaitNotes& notes_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace segue::cli
