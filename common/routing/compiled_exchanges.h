#pragma once

#include <cstdint>
#include <deque>
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

namespace segue {

/// The exchanges of a catalog, compiled for matching: each when the first message comes for it, and
/// kept up to date from then on. One thread.
///
/// A message goes on from exchange to exchange along bindings, and comes to each once, whatever
/// cycles they make. An exchange without a binding that matches hands it to its alternate exchange;
/// and when no queue was found at the end, so do all others that it came to.
class CompiledExchanges {
 public:
  /// `state` outlives it.
  explicit CompiledExchanges(const CatalogState& state) : state_(state) {}

  /// Sets `queues` to those that the message goes to, each once, in the order of their ids.
  /// `exchange` is one of the state's. True if every message with this routing key goes there;
  /// false if only equal headers and properties ensure that.
  bool match(const v1::ExchangeDefinition& exchange, const RoutedMessage& message,
             std::vector<QueueId>& queues);

  /// The change has been applied to the state.
  void on_change(const v1::CatalogChange& change);
  /// Everything was replaced.
  void clear();

 private:
  using Key = std::pair<std::string, std::string>;  // vhost, name

  struct Exchange {
    Key key;
    bool compiled = false;
    std::unique_ptr<ExchangeRouter> router;  // null, compiled: of a type that is not known here
    std::string alternate;                   // empty: none
    bool own_alternate = false;              // by its argument, which goes before policies
    std::uint64_t policies_at = 0;           // of the policies that `alternate` is by
    std::uint64_t visited_at = 0;            // the walk that came here last
  };

  ExchangeNumber number_of(const Key& key);
  void compile(Exchange& exchange);
  void look_at_policies(Exchange& exchange);
  void bind(Exchange& exchange, const v1::BindingDefinition& binding);
  /// `gone`: its number may be used again.
  void forget(const Key& key, bool gone);

  void visit(ExchangeNumber number);
  void visit_alternate(ExchangeNumber number);
  /// Visits what the exchanges from place `from` of the walk lead to, and so on.
  void follow(std::size_t from, const RoutedMessage& message, std::vector<QueueId>& queues);

  const CatalogState& state_;
  std::deque<Exchange> exchanges_;
  std::vector<ExchangeNumber> free_;
  std::map<Key, ExchangeNumber> numbers_;
  std::unordered_map<std::uint64_t, ExchangeNumber> exchange_of_binding_;
  // Of the walk under way.
  std::uint64_t walk_ = 0;
  std::vector<ExchangeNumber> walked_;
  bool by_key_alone_ = true;
  std::vector<RouteTarget> targets_;
};

}  // namespace segue
