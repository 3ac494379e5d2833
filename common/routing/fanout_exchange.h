#pragma once

#include <vector>

#include "common/routing/binding_list.h"
#include "common/routing/exchange_router.h"
#include "common/routing/target_set.h"

namespace segue {

/// Type "fanout": a message goes to every target; keys mean nothing.
class FanoutExchange final : public ExchangeRouter {
 public:
  Status bind(const ExchangeBinding& binding) override {
    if (bindings_.add(binding)) {
      targets_.add(binding.target);
      stale_ = true;
    }
    return Status::ok();
  }

  void unbind(BindingNumber number) override {
    if (const auto binding = bindings_.take(number)) {
      targets_.remove(binding->target);
      stale_ = true;
    }
  }

  void match(const RoutedMessage& /*message*/, std::vector<RouteTarget>& targets) override {
    if (stale_) {
      compiled_.clear();
      targets_.append_to(compiled_);
      stale_ = false;
    }
    targets.assign(compiled_.begin(), compiled_.end());
  }

  std::size_t binding_count() const override { return bindings_.size(); }

 private:
  BindingList bindings_;
  TargetSet targets_;
  std::vector<RouteTarget> compiled_;  // of targets_, unless stale_
  bool stale_ = false;
};

}  // namespace segue
