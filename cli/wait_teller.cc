#include "cli/wait_teller.h"

namespace segue::cli {

namespace {

constexpr std::chrono::milliseconds kLook{100};

}  // namespace

WaitTeller::WaitTeller(Console& console, WaitNotes& notes)
    : console_(console), notes_(notes), thread_([this] { run(); }) {}

WaitTeller::~WaitTeller() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void WaitTeller::run() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    last = stop_.wait_for(lock, kLook, [&] { return stopping_; });
    for (const std::string& line : notes_.take(std::chrono::steady_clock::now())) {
      console_.note(line);
    }
  }
}

}  // namespace segue::cli
