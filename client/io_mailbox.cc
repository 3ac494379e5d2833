#include "client/io_mailbox.h"

#include <utility>

namespace segue::client {

bool IoMailbox::post(Command command) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    commands_.push_back(std::move(command));
  }
  wake();
  return true;
}

void IoMailbox::add_dirty(std::shared_ptr<ConsumerCore> consumer) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    dirty_.push_back(std::move(consumer));
  }
  wake();
}

void IoMailbox::wake() {
  // The I/O thread says that it sleeps before it looks for work a last time, under the lock that
  // the work was left under: it either sees the work, or we see that it sleeps.
  if (sleeping_.load() && sleeping_.exchange(false)) wakeup_.signal();
}

std::vector<IoMailbox::Command> IoMailbox::take_commands() {
  const std::lock_guard lock(mutex_);
  return std::exchange(commands_, {});
}

std::vector<std::shared_ptr<ConsumerCore>> IoMailbox::take_dirty() {
  const std::lock_guard lock(mutex_);
  return std::exchange(dirty_, {});
}

bool IoMailbox::has_work() const {
  const std::lock_guard lock(mutex_);
  return !commands_.empty() || !dirty_.empty();
}

void IoMailbox::woke_up() {
  if (!sleeping_.exchange(false)) wakeup_.clear();
}

void IoMailbox::close() {
  std::vector<std::shared_ptr<ConsumerCore>> dirty;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dirty.swap(dirty_);
  }
  sleeping_.store(false);
}

}  // namespace segue::client
