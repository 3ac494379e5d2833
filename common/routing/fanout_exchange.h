#pragma once

#include <vector>

#include "common/routing/binding_list.h"
#include "common/routing/exchange_router.h"
#include "common/routing/queue_set.h"

namespace segue {

/// Type "fanout": a message goes to every bound queue; keys mean nothing.
class FanoutExchange final : public ExchangeRouter {
 public:
  Status bind(BindingNumber number, QueueId queue, std::string_view routing_key) override {
    if (bindings_.add(number, queue, routing_key)) {
      queues_.add(queue);
      stale_ = true;
    }
    return Status::ok();
  }

  void unbind(BindingNumber number) override {
    if (const auto binding = bindings_.take(number)) {
      queues_.remove(binding->queue);
      stale_ = true;
    }
  }

  void match(std::string_view /*routing_key*/, std::vector<QueueId>& queues) override {
    if (stale_) {
      compiled_.clear();
      queues_.append_to(compiled_);
      stale_ = false;
    }
    queues.assign(compiled_.begin(), compiled_.end());
  }

  std::size_t binding_count() const override { return bindings_.size(); }

 private:
  BindingList bindings_;
  QueueSet queues_;
  std::vector<QueueId> compiled_;  // of queues_, unless stale_
  bool stale_ = false;
};

}  // namespace segue
