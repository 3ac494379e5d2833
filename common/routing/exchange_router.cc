#include "common/routing/exchange_router.h"

#include <algorithm>
#include <array>
#include <string>

#include "common/rabbitmq_names.h"
#include "common/routing/direct_exchange.h"
#include "common/routing/fanout_exchange.h"
#include "common/routing/hash_exchange.h"
#include "common/routing/headers_exchange.h"
#include "common/routing/topic_exchange.h"
#include "common/suggestion.h"

namespace segue {
namespace {

struct ExchangeType {
  std::string_view name;
  std::unique_ptr<ExchangeRouter> (*make)(const FieldValues& arguments);
};

template <typename Router>
std::unique_ptr<ExchangeRouter> make_router(const FieldValues& /*arguments*/) {
  return std::make_unique<Router>();
}

std::unique_ptr<ExchangeRouter> make_hash_router(const FieldValues& arguments) {
  return std::make_unique<HashExchange>(arguments);
}

constexpr std::string_view kHeaders = "headers";
constexpr std::string_view kHash = "x-consistent-hash";
constexpr std::array<ExchangeType, 5> kTypes = {{{"direct", make_router<DirectExchange>},
                                                 {"fanout", make_router<FanoutExchange>},
                                                 {"topic", make_router<TopicExchange>},
                                                 {kHeaders, make_router<HeadersExchange>},
                                                 {kHash, make_hash_router}}};
constexpr std::array<std::string_view, 2> kHashArguments = {"hash-header", "hash-property"};

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
  if (name == kDelayedExchangeType) {
    message += "; declare it with the type that is its x-delayed-type: ";
    message += kDelaysElsewhere;
  } else if (const auto near = closest_match(name, names)) {
    message += "; did you mean '" + std::string(*near) + "'?";
  }
  return {Code::kPreconditionFailed, std::move(message)};
}

}  // namespace

Result<std::unique_ptr<ExchangeRouter>> make_exchange_router(std::string_view type,
                                                             const FieldValues& arguments) {
  const ExchangeType* found = find_type(type);
  if (found == nullptr) return no_such_type(type);
  return found->make(arguments);
}

Status check_exchange_type(std::string_view type, const FieldValues& arguments) {
  if (find_type(type) == nullptr) return no_such_type(type);
  return type == kHash ? HashExchange::check_arguments(arguments) : Status::ok();
}

Status check_exchange_binding(std::string_view type, std::string_view routing_key,
                              const FieldValues& arguments) {
  if (type == kHash) return HashExchange::check_binding(routing_key);
  if (type == kHeaders) return HeadersExchange::check(arguments);
  return {};
}

bool is_exchange_argument(std::string_view type, std::string_view name) {
  if (name == kAlternateExchange) return true;
  return type == kHash &&
         std::find(kHashArguments.begin(), kHashArguments.end(), name) != kHashArguments.end();
}

std::string exchange_arguments(std::string_view type) {
  std::string list(kAlternateExchange);
  if (type != kHash) return list;
  for (const std::string_view argument : kHashArguments) list += ", " + std::string(argument);
  return list;
}

}  // namespace segue
