#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/catalog_state.h"
#include "common/routing/exchange_router.h"
#include "segue/v1/catalog.pb.h"

namespace segue::router {

/// The exchanges' bindings, compiled for matching. An exchange is compiled when the first message
/// comes for it and kept up to date from then on. One thread.
class CompiledExchanges {
 public:
  /// `state` outlives it.
  explicit CompiledExchanges(const CatalogState& state) : state_(state) {}

  /// Sets `queues` to those that a message with this key goes to, in the order of their ids.
  /// `exchange` is one of the state's.
  void match(const v1::ExchangeDefinition& exchange, std::string_view routing_key,
             std::vector<QueueId>& queues);

  /// The change has been applied to the state.
  void on_change(const v1::CatalogChange& change);
  /// Everything was replaced.
  void clear();

 private:
  using Key = std::pair<std::string, std::string>;  // vhost, name

  ExchangeRouter* compiled(const v1::ExchangeDefinition& exchange);
  void bind(ExchangeRouter& router, const v1::BindingDefinition& binding);
  void forget_exchange(const Key& key);

  const CatalogState& state_;
  std::map<Key, std::unique_ptr<ExchangeRouter>> routers_;
  std::unordered_map<std::uint64_t, ExchangeRouter*> router_of_binding_;
};

}  // namespace segue::router
