#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/routing/exchange_router.h"
#include "common/routing/string_map.h"

namespace segue {

/// Type "headers": a binding's arguments are conditions on the message's headers: an equal value of
/// the same type, or, for the void value, that the header is there. `x-match` says whether all of
/// them must hold or any; conditions on names that begin with "x-" count with all-with-x and
/// any-with-x only. Without a condition, all of them hold and none does.
///
/// A binding that wants all its conditions is found by one of them only, the one that the fewest
/// share; so a lookup costs what has that one condition in common with the message, not all there
/// is.
class HeadersExchange final : public ExchangeRouter {
 public:
  Status bind(const ExchangeBinding& binding) override;
  void unbind(BindingNumber number) override;
  void match(const RoutedMessage& message, std::vector<RouteTarget>& targets) override;
  bool looks_beyond_key() const override { return true; }
  std::size_t binding_count() const override { return bindings_.size(); }

  static Status check(const FieldValues& arguments);

 private:
  struct Condition {
    std::string name;
    std::string value;  // canonical; empty: any
  };
  struct Binding {
    RouteTarget target;
    bool all = true;
    std::vector<Condition> conditions;
    std::vector<std::string> found_by;  // keys of by_condition_
  };
  using Numbers = std::unordered_set<BindingNumber>;

  /// Adds the targets of the bindings that are found by the condition and hold.
  void take(const Numbers& numbers, const FieldValues& headers, std::vector<RouteTarget>& targets);
  static bool holds(const Condition& condition, const FieldValues& headers);

  std::unordered_map<BindingNumber, Binding> bindings_;
  StringMap<Numbers> by_condition_;
  Numbers unconditional_;
};

}  // namespace segue
