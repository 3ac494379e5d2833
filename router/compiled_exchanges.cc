#include "router/compiled_exchanges.h"

namespace segue::router {

void CompiledExchanges::match(const v1::ExchangeDefinition& exchange, std::string_view routing_key,
                              std::vector<QueueId>& queues) {
  queues.clear();
  if (exchange.name().empty()) {
    // The default exchange: every queue by its name.
    if (const auto* queue = state_.find_queue(exchange.vhost(), routing_key)) {
      queues.push_back(QueueId(queue->id()));
    }
    return;
  }
  if (ExchangeRouter* router = compiled(exchange)) router->match(routing_key, queues);
}

ExchangeRouter* CompiledExchanges::compiled(const v1::ExchangeDefinition& exchange) {
  const Key key(exchange.vhost(), exchange.name());
  const auto known = routers_.find(key);
  if (known != routers_.end()) return known->second.get();
  auto made = make_exchange_router(exchange.type());
  // A type of a newer version: it matches nothing here.
  if (!made) return nullptr;
  ExchangeRouter& router = *(routers_[key] = std::move(made.value()));
  for (const std::uint64_t number : state_.bindings_from(exchange.vhost(), exchange.name())) {
    bind(router, *state_.find_binding(number));
  }
  return &router;
}

void CompiledExchanges::bind(ExchangeRouter& router, const v1::BindingDefinition& binding) {
  const v1::QueueDefinition* queue = state_.find_queue(binding.vhost(), binding.queue());
  if (queue == nullptr) return;
  if (router.bind(BindingNumber(binding.number()), QueueId(queue->id()), binding.routing_key())
          .is_ok()) {
    router_of_binding_[binding.number()] = &router;
  }
}

void CompiledExchanges::forget_exchange(const Key& key) {
  const auto known = routers_.find(key);
  if (known == routers_.end()) return;
  std::erase_if(router_of_binding_,
                [&](const auto& binding) { return binding.second == known->second.get(); });
  routers_.erase(known);
}

void CompiledExchanges::on_change(const v1::CatalogChange& change) {
  switch (change.kind_case()) {
    case v1::CatalogChange::kExchangeCreated:
      forget_exchange({change.exchange_created().vhost(), change.exchange_created().name()});
      break;
    case v1::CatalogChange::kExchangeDeleted:
      forget_exchange({change.exchange_deleted().vhost(), change.exchange_deleted().name()});
      break;
    case v1::CatalogChange::kBindingCreated: {
      const v1::BindingDefinition& binding = change.binding_created();
      const auto known = routers_.find({binding.vhost(), binding.exchange()});
      if (known != routers_.end()) bind(*known->second, binding);
      break;
    }
    case v1::CatalogChange::kBindingDeleted: {
      const auto known = router_of_binding_.find(change.binding_deleted());
      if (known == router_of_binding_.end()) break;
      known->second->unbind(BindingNumber(known->first));
      router_of_binding_.erase(known);
      break;
    }
    default:
      break;
  }
}

void CompiledExchanges::clear() {
  router_of_binding_.clear();
  routers_.clear();
}

}  // namespace segue::router
