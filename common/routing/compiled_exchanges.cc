#include "common/routing/compiled_exchanges.h"

#include <algorithm>

namespace segue {

bool CompiledExchanges::match(const v1::ExchangeDefinition& exchange, const RoutedMessage& message,
                              std::vector<QueueId>& queues) {
  queues.clear();
  if (exchange.name().empty()) {
    // The default exchange: every queue by its name.
    if (const auto* queue = state_.find_queue(exchange.vhost(), message.routing_key)) {
      queues.push_back(QueueId(queue->id()));
    }
    return true;
  }
  ++walk_;
  walked_.clear();
  by_key_alone_ = true;
  visit(number_of({exchange.vhost(), exchange.name()}));
  follow(0, message, queues);
  for (std::size_t asked = 0; queues.empty() && asked < walked_.size();) {
    // All of them, then all that these lead to: what comes out does not depend on an order.
    const std::size_t end = walked_.size();
    for (; asked < end; ++asked) visit_alternate(walked_[asked]);
    follow(end, message, queues);
  }
  std::sort(queues.begin(), queues.end());
  queues.erase(std::unique(queues.begin(), queues.end()), queues.end());
  return by_key_alone_;
}

void CompiledExchanges::visit(ExchangeNumber number) {
  Exchange& exchange = exchanges_[number.value];
  if (exchange.visited_at == walk_) return;
  exchange.visited_at = walk_;
  walked_.push_back(number);
}

void CompiledExchanges::visit_alternate(ExchangeNumber number) {
  Exchange& exchange = exchanges_[number.value];
  look_at_policies(exchange);
  if (exchange.alternate.empty()) return;
  // It may be declared later, or never.
  const Key alternate(exchange.key.first, exchange.alternate);
  if (state_.find_exchange(alternate.first, alternate.second) != nullptr) {
    visit(number_of(alternate));
  }
}

void CompiledExchanges::follow(std::size_t from, const RoutedMessage& message,
                               std::vector<QueueId>& queues) {
  for (std::size_t at = from; at < walked_.size(); ++at) {
    Exchange& exchange = exchanges_[walked_[at].value];
    if (!exchange.compiled) compile(exchange);
    targets_.clear();
    if (exchange.router != nullptr) {
      exchange.router->match(message, targets_);
      if (exchange.router->looks_beyond_key()) by_key_alone_ = false;
    }
    if (targets_.empty()) visit_alternate(walked_[at]);
    for (const RouteTarget target : targets_) {
      if (target.is_queue()) {
        queues.push_back(target.queue());
      } else {
        visit(target.exchange());
      }
    }
  }
}

ExchangeNumber CompiledExchanges::number_of(const Key& key) {
  const auto known = numbers_.find(key);
  if (known != numbers_.end()) return known->second;
  ExchangeNumber number(static_cast<std::uint32_t>(exchanges_.size()));
  if (free_.empty()) {
    exchanges_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  exchanges_[number.value].key = key;
  numbers_.emplace(key, number);
  return number;
}

void CompiledExchanges::compile(Exchange& exchange) {
  exchange.compiled = true;
  const auto& [vhost, name] = exchange.key;
  const v1::ExchangeDefinition* const definition = state_.find_exchange(vhost, name);
  if (definition == nullptr) return;
  const auto alternate = definition->arguments().find(std::string(kAlternateExchange));
  exchange.own_alternate = alternate != definition->arguments().end();
  exchange.alternate = exchange.own_alternate ? alternate->second.string_value() : "";
  exchange.policies_at = 0;
  auto made = make_exchange_router(definition->type(), definition->arguments());
  // A type of a newer version: it matches nothing here.
  if (!made) return;
  exchange.router = std::move(*made);
  for (const std::uint64_t number : state_.bindings_from(vhost, name)) {
    bind(exchange, *state_.find_binding(number));
  }
}

void CompiledExchanges::look_at_policies(Exchange& exchange) {
  const Policies& policies = state_.policies();
  if (exchange.own_alternate || exchange.policies_at == policies.generation()) return;
  exchange.policies_at = policies.generation();
  const auto said = policies.value_of(Policies::Target::kExchange, exchange.key.first,
                                      exchange.key.second, kAlternateExchange);
  exchange.alternate = said.value == nullptr ? "" : said.value->string_value();
}

void CompiledExchanges::bind(Exchange& exchange, const v1::BindingDefinition& binding) {
  if (exchange.router == nullptr) return;
  const bool to_queue = binding.to_exchange().empty();
  const v1::QueueDefinition* queue = nullptr;
  if (to_queue && (queue = state_.find_queue(binding.vhost(), binding.queue())) == nullptr) return;
  const RouteTarget target = to_queue
                                 ? RouteTarget(QueueId(queue->id()))
                                 : RouteTarget(number_of({binding.vhost(), binding.to_exchange()}));
  const Status bound = exchange.router->bind({BindingNumber(binding.number()), target,
                                              to_queue ? binding.queue() : binding.to_exchange(),
                                              binding.routing_key(), binding.arguments()});
  if (bound.is_ok()) exchange_of_binding_[binding.number()] = numbers_.at(exchange.key);
}

void CompiledExchanges::forget(const Key& key, bool gone) {
  const auto known = numbers_.find(key);
  if (known == numbers_.end()) return;
  const ExchangeNumber number = known->second;
  std::erase_if(exchange_of_binding_,
                [&](const auto& binding) { return binding.second == number; });
  Exchange& exchange = exchanges_[number.value];
  exchange = {};
  exchange.key = key;
  if (!gone) return;
  // Bindings to it were deleted before.
  free_.push_back(number);
  numbers_.erase(known);
}

void CompiledExchanges::on_change(const v1::CatalogChange& change) {
  switch (change.kind_case()) {
    case v1::CatalogChange::kExchangeCreated:
      forget({change.exchange_created().vhost(), change.exchange_created().name()}, false);
      break;
    case v1::CatalogChange::kExchangeDeleted:
      forget({change.exchange_deleted().vhost(), change.exchange_deleted().name()}, true);
      break;
    case v1::CatalogChange::kBindingCreated: {
      const v1::BindingDefinition& binding = change.binding_created();
      const auto known = numbers_.find({binding.vhost(), binding.exchange()});
      if (known == numbers_.end()) break;
      Exchange& exchange = exchanges_[known->second.value];
      if (exchange.compiled) bind(exchange, binding);
      break;
    }
    case v1::CatalogChange::kBindingDeleted: {
      const auto known = exchange_of_binding_.find(change.binding_deleted());
      if (known == exchange_of_binding_.end()) break;
      exchanges_[known->second.value].router->unbind(BindingNumber(known->first));
      exchange_of_binding_.erase(known);
      break;
    }
    case v1::CatalogChange::kVhostDeleted: {
      // Its predeclared exchanges go without a word.
      const std::string& vhost = change.vhost_deleted();
      std::vector<Key> keys;
      for (auto at = numbers_.lower_bound({vhost, ""});
           at != numbers_.end() && at->first.first == vhost; ++at) {
        keys.push_back(at->first);
      }
      for (const Key& key : keys) forget(key, true);
      break;
    }
    default:
      break;
  }
}

void CompiledExchanges::clear() {
  exchange_of_binding_.clear();
  numbers_.clear();
  free_.clear();
  exchanges_.clear();
}

}  // namespace segue
