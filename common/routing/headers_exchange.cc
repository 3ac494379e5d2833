#include "common/routing/headers_exchange.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <utility>

#include "common/bytes.h"

namespace segue {

namespace {

constexpr std::string_view kMatch = "x-match";

struct MatchMode {
  bool all = true;
  bool with_x = false;
};

/// Nothing if the value is none of the four.
std::optional<MatchMode> mode_of(const FieldValues& arguments) {
  const auto given = arguments.find(std::string(kMatch));
  if (given == arguments.end()) return MatchMode{};
  if (given->second.kind_case() != v1::FieldValue::kStringValue) return std::nullopt;
  const std::string& text = given->second.string_value();
  if (text == "all") return MatchMode{true, false};
  if (text == "any") return MatchMode{false, false};
  if (text == "all-with-x") return MatchMode{true, true};
  if (text == "any-with-x") return MatchMode{false, true};
  return std::nullopt;
}

bool is_void(const v1::FieldValue& value) {
  return value.kind_case() == v1::FieldValue::KIND_NOT_SET;
}

/// Bytes that are equal exactly when type and value are; not empty but for the void value.
std::string canonical(const v1::FieldValue& value) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    value.SerializeToCodedStream(&coded);
  }
  return bytes;
}

std::string condition_key(std::string_view name, std::string_view value) {
  std::string key;
  append_le(key, static_cast<std::uint32_t>(name.size()));
  key += name;
  key += value;
  return key;
}

}  // namespace

Status HeadersExchange::check(const FieldValues& arguments) {
  if (mode_of(arguments)) return {};
  return Status(Code::kPreconditionFailed,
                "argument 'x-match' must be 'all', 'any', 'all-with-x' or 'any-with-x'");
}

Status HeadersExchange::bind(const ExchangeBinding& binding) {
  if (bindings_.contains(binding.number)) return {};
  const auto mode = mode_of(binding.arguments);
  if (!mode) return check(binding.arguments);
  Binding made{binding.target, mode->all, {}, {}};
  for (const auto& [name, value] : binding.arguments) {
    if (name == kMatch || (!mode->with_x && name.starts_with("x-"))) continue;
    made.conditions.push_back({name, is_void(value) ? "" : canonical(value)});
  }
  if (made.all && made.conditions.empty()) unconditional_.insert(binding.number);
  const Condition* rarest = nullptr;
  std::size_t fewest = 0;
  for (const Condition& condition : made.conditions) {
    std::string key = condition_key(condition.name, condition.value);
    if (!made.all) {
      by_condition_[key].insert(binding.number);
      made.found_by.push_back(std::move(key));
      continue;
    }
    const auto others = by_condition_.find(key);
    const std::size_t count = others == by_condition_.end() ? 0 : others->second.size();
    // At equal counts one with a value: more headers have any.
    if (rarest == nullptr || count < fewest ||
        (count == fewest && rarest->value.empty() && !condition.value.empty())) {
      rarest = &condition;
      fewest = count;
    }
  }
  if (rarest != nullptr) {
    made.found_by.push_back(condition_key(rarest->name, rarest->value));
    by_condition_[made.found_by.back()].insert(binding.number);
  }
  bindings_.emplace(binding.number, std::move(made));
  return {};
}

void HeadersExchange::unbind(BindingNumber number) {
  const auto found = bindings_.find(number);
  if (found == bindings_.end()) return;
  unconditional_.erase(number);
  for (const std::string& key : found->second.found_by) {
    const auto numbers = by_condition_.find(key);
    numbers->second.erase(number);
    if (numbers->second.empty()) by_condition_.erase(numbers);
  }
  bindings_.erase(found);
}

bool HeadersExchange::holds(const Condition& condition, const FieldValues& headers) {
  const auto header = headers.find(condition.name);
  if (header == headers.end()) return false;
  return condition.value.empty() || canonical(header->second) == condition.value;
}

void HeadersExchange::take(const Numbers& numbers, const FieldValues& headers,
                           std::vector<RouteTarget>& targets) {
  for (const BindingNumber number : numbers) {
    const Binding& binding = bindings_.find(number)->second;
    const bool all =
        !binding.all || std::all_of(binding.conditions.begin(), binding.conditions.end(),
                                    [&](const Condition& one) { return holds(one, headers); });
    if (all) targets.push_back(binding.target);
  }
}

void HeadersExchange::match(const RoutedMessage& message, std::vector<RouteTarget>& targets) {
  targets.clear();
  const FieldValues& headers = message.properties.headers();
  take(unconditional_, headers, targets);
  for (const auto& [name, value] : headers) {
    const auto present = by_condition_.find(condition_key(name, ""));
    if (present != by_condition_.end()) take(present->second, headers, targets);
    if (is_void(value)) continue;
    const auto equal = by_condition_.find(condition_key(name, canonical(value)));
    if (equal != by_condition_.end()) take(equal->second, headers, targets);
  }
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
}

}  // namespace segue
