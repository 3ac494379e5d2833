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
  Status bind(BindingNumber number, QueueId queue, std::string_view routing_key) override {
    if (bindings_.add(number, queue, routing_key)) {
      trie_.add(routing_key, queue);
      cache_.clear();
    }
    return Status::ok();
  }

  void unbind(BindingNumber number) override {
    if (const auto binding = bindings_.take(number)) {
      trie_.remove(binding->routing_key, binding->queue);
      cache_.clear();
    }
  }

  void match(std::string_view routing_key, std::vector<QueueId>& queues) override {
    if (const std::vector<QueueId>* known = cache_.find(routing_key)) {
      queues.assign(known->begin(), known->end());
      return;
    }
    trie_.match(routing_key, queues);
    cache_.put(routing_key, queues);
  }

  std::size_t binding_count() const override { return bindings_.size(); }

 private:
  BindingList bindings_;
  TopicTrie trie_;
  MatchCache cache_;
};

}  // namespace segue
