#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "segue/publisher.h"

namespace segue::conformance {

/// What a publisher was told of its messages, by their seqs. Any thread.
class Told {
 public:
  void listen(client::Publisher& publisher, const std::shared_ptr<Told>& self) {
    publisher.on_confirm([self](const client::ConfirmEvent& event) { self->add(event); });
    publisher.on_return([self](const client::ReturnedMessage& returned) {
      const std::lock_guard lock(self->mutex_);
      self->returned_.insert(returned.seq);
    });
  }
  /// Waits until it was told of all up to this one; false after `timeout`.
  bool wait_for(std::uint64_t seq, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return more_.wait_for(lock, timeout, [&] { return settled_ >= seq; });
  }
  bool is_returned(std::uint64_t seq) const {
    const std::lock_guard lock(mutex_);
    return returned_.contains(seq);
  }
  /// The queues that refused it, in order.
  std::vector<std::string> refusing(std::uint64_t seq) const {
    const std::lock_guard lock(mutex_);
    const auto found = refused_.find(seq);
    return found == refused_.end() ? std::vector<std::string>{} : found->second;
  }

 private:
  void add(const client::ConfirmEvent& event) {
    const std::lock_guard lock(mutex_);
    for (const client::SeqRange& range : event.confirmed) settled_ += range.count();
    for (const client::Rejection& rejection : event.rejected) {
      settled_ += rejection.seqs.count();
      for (std::uint64_t seq = rejection.seqs.first; seq <= rejection.seqs.last; ++seq) {
        refused_[seq] = rejection.queues;
        std::sort(refused_[seq].begin(), refused_[seq].end());
      }
    }
    more_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::uint64_t settled_ = 0;  // seqs count from 1, so it is the last one's when all are settled
  std::set<std::uint64_t> returned_;
  std::map<std::uint64_t, std::vector<std::string>> refused_;
};

}  // namespace segue::conformance
