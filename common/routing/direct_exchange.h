#pragma once

#include "common/routing/binding_list.h"
#include "common/routing/direct_table.h"
#include "common/routing/exchange_router.h"

namespace segue {

/// Type "direct": a message goes where its routing key is the binding's.
class DirectExchange final : public ExchangeRouter {
 public:
  Status bind(BindingNumber number, QueueId queue, std::string_view routing_key) override {
    if (bindings_.add(number, queue, routing_key)) table_.add(routing_key, queue);
    return Status::ok();
  }

  void unbind(BindingNumber number) override {
    if (const auto binding = bindings_.take(number)) {
      table_.remove(binding->routing_key, binding->queue);
    }
  }

  void match(std::string_view routing_key, std::vector<QueueId>& queues) override {
    table_.match(routing_key, queues);
  }

  std::size_t binding_count() const override { return bindings_.size(); }

 private:
  BindingList bindings_;
  DirectTable table_;
};

}  // namespace segue
