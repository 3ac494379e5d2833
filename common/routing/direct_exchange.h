#pragma once

#include "common/routing/binding_list.h"
#include "common/routing/direct_table.h"
#include "common/routing/exchange_router.h"

namespace segue {

/// Type "direct": a message goes where its routing key is the binding's.
class DirectExchange final : public ExchangeRouter {
 public:
  Status bind(const ExchangeBinding& binding) override {
    if (bindings_.add(binding)) table_.add(binding.routing_key, binding.target);
    return Status::ok();
  }

  void unbind(BindingNumber number) override {
    if (const auto binding = bindings_.take(number)) {
      table_.remove(binding->routing_key, binding->target);
    }
  }

  void match(const RoutedMessage& message, std::vector<RouteTarget>& targets) override {
    table_.match(message.routing_key, targets);
  }

  std::size_t binding_count() const override { return bindings_.size(); }

 private:
  BindingList bindings_;
  DirectTable table_;
};

}  // namespace segue
