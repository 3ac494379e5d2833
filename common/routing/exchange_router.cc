#include "common/routing/exchange_router.h"

#include <algorithm>
#include <array>
#include <string>

#include "common/routing/direct_exchange.h"
#include "common/routing/fanout_exchange.h"
#include "common/routing/topic_exchange.h"
#include "common/suggestion.h"

namespace segue {
namespace {

struct ExchangeType {
  std::string_view name;
  std::unique_ptr<ExchangeRouter> (*make)();
};

template <typename Router>
std::unique_ptr<ExchangeRouter> make_router() {
  return std::make_unique<Router>();
}

constexpr std::array<ExchangeType, 3> kTypes = {{{"direct", make_router<DirectExchange>},
                                                 {"fanout", make_router<FanoutExchange>},
                                                 {"topic", make_router<TopicExchange>}}};

const ExchangeType* find_type(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [name](const ExchangeType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

Status no_such_type(std::string_view name) {
  constexpr std::size_t kMaxShown = 64;
  std::vector<std::string_view> names;
  std::string known;
  for (const ExchangeType& type : kTypes) {
    names.push_back(type.name);
    known += (known.empty() ? "" : ", ") + std::string(type.name);
  }
  std::string message = "there is no exchange type '" + std::string(name.substr(0, kMaxShown)) +
                        "'; the types are " + known;
  if (const auto near = closest_match(name, names)) {
    message += "; did you mean '" + std::string(*near) + "'?";
  }
  return {Code::kPreconditionFailed, std::move(message)};
}

}  // namespace

Result<std::unique_ptr<ExchangeRouter>> make_exchange_router(std::string_view type) {
  const ExchangeType* found = find_type(type);
  if (found == nullptr) return no_such_type(type);
  return found->make();
}

Status check_exchange_type(std::string_view type) {
  return find_type(type) != nullptr ? Status::ok() : no_such_type(type);
}

}  // namespace segue
