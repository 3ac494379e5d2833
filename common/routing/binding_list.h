#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/routing/exchange_router.h"

namespace segue {

/// An exchange's bindings by number: what unbind() needs to find the binding in the compiled form.
class BindingList {
 public:
  struct Binding {
    RouteTarget target;
    std::string routing_key;
  };

  /// False, and nothing changed, if the number is there.
  bool add(const ExchangeBinding& binding) {
    return bindings_
        .try_emplace(binding.number, Binding{binding.target, std::string(binding.routing_key)})
        .second;
  }

  /// Removes the binding and returns it; nothing if there is none.
  std::optional<Binding> take(BindingNumber number) {
    const auto found = bindings_.find(number);
    if (found == bindings_.end()) return std::nullopt;
    Binding binding = std::move(found->second);
    bindings_.erase(found);
    return binding;
  }

  std::size_t size() const { return bindings_.size(); }

 private:
  std::unordered_map<BindingNumber, Binding> bindings_;
};

}  // namespace segue
