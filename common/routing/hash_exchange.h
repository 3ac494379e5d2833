#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/routing/exchange_router.h"
#include "common/routing/match_cache.h"

namespace segue {

/// Type "x-consistent-hash": each message goes to one of the targets, always the same for the same
/// key as long as the bindings are, and in proportion to their weights, which are the binding keys
/// (1 to 1,000). When a binding comes or goes only the keys move that it gets or had. What is
/// hashed is the routing key, or what the exchange's arguments name: `hash-header`, a header; or
/// `hash-property`, one of message_id, correlation_id and timestamp. What lacks it counts as empty.
///
/// Multi-probe consistent hashing: a binding has points on a ring, 8 for one of weight; a key is
/// hashed several times, and belongs to the point that is nearest behind one of its hashes. So the
/// ring needs few points for an even spread. Source: Appleton, O'Reilly, "Multi-Probe
/// Consistent Hashing", 2015; with 21 probes the largest share is about 1.05 times its due.
class HashExchange final : public ExchangeRouter {
 public:
  static constexpr int kMostWeight = 1000;

  explicit HashExchange(const FieldValues& arguments);

  Status bind(const ExchangeBinding& binding) override;
  void unbind(BindingNumber number) override;
  void match(const RoutedMessage& message, std::vector<RouteTarget>& targets) override;
  bool looks_beyond_key() const override { return source_ != Source::kRoutingKey; }
  std::size_t binding_count() const override { return bindings_.size(); }

  static Status check_arguments(const FieldValues& arguments);
  static Status check_binding(std::string_view routing_key);

 private:
  enum class Source { kRoutingKey, kHeader, kMessageId, kCorrelationId, kTimestamp };
  struct Binding {
    RouteTarget target;
    std::string target_name;
    std::uint32_t weight = 0;
  };
  struct Point {
    std::uint64_t place = 0;
    RouteTarget target;
    auto operator<=>(const Point&) const = default;
  };

  std::string_view text_of(const RoutedMessage& message);
  void compile();
  RouteTarget target_of(std::string_view text) const;

  Source source_ = Source::kRoutingKey;
  std::string header_;
  std::unordered_map<BindingNumber, Binding> bindings_;
  std::vector<Point> ring_;  // sorted
  bool stale_ = false;
  std::string scratch_;
};

}  // namespace segue
