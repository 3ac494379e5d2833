#pragma once

#include "common/routing/binding_list.h"
#include "common/routing/exchange_router.h"
#include "common/routing/match_cache.h"
#include "common/routing/topic_trie.h"

namespace segue {

/// Type "topic": a message goes where the binding's pattern matches its routing key (see
/// TopicTrie). Keys repeat, so results are remembered until a binding changes.
class TopicExchange final : public ExchangeRouter {
 public:
  Status bind(const ExchangeBinding& binding) override {
    if (bindings_.add(binding)) {
      trie_.add(binding.routing_key, binding.target);
      cache_.clear();
    }
    return Status::ok();
  }

  void unbind(BindingNumber number) override {
    if (const auto binding = bindings_.take(number)) {
      trie_.remove(binding->routing_key, binding->target);
      cache_.clear();
    }
  }

  void match(const RoutedMessage& message, std::vector<RouteTarget>& targets) override {
    if (const std::vector<RouteTarget>* known = cache_.find(message.routing_key)) {
      targets.assign(known->begin(), known->end());
      return;
    }
    trie_.match(message.routing_key, targets);
    cache_.put(message.routing_key, targets);
  }

  std::size_t binding_count() const override { return bindings_.size(); }

 private:
  BindingList bindings_;
  TopicTrie trie_;
  MatchCache cache_;
};

}  // namespace segue
