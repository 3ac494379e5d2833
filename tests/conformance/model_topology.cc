#include "tests/conformance/model_topology.h"

#include <algorithm>
#include <charconv>

namespace segue::conformance {
namespace {

using Words = std::vector<std::string>;

bool is_reserved(const std::string& name) {
  return name.starts_with("amq.");
}

/// The empty key has none.
Words words_of(const std::string& key) {
  Words words;
  if (key.empty()) return words;
  std::size_t begin = 0;
  for (std::size_t dot; (dot = key.find('.', begin)) != std::string::npos; begin = dot + 1) {
    words.push_back(key.substr(begin, dot - begin));
  }
  words.push_back(key.substr(begin));
  return words;
}

bool topic_matches(const Words& pattern, std::size_t p, const Words& key, std::size_t k) {
  if (p == pattern.size()) return k == key.size();
  if (pattern[p] == "#") {
    for (std::size_t next = k; next <= key.size(); ++next) {
      if (topic_matches(pattern, p + 1, key, next)) return true;
    }
    return false;
  }
  if (k == key.size() || (pattern[p] != "*" && pattern[p] != key[k])) return false;
  return topic_matches(pattern, p + 1, key, k + 1);
}

std::string match_word_of(const Table& arguments) {
  const auto found = arguments.find("x-match");
  if (found == arguments.end()) return "all";
  const auto* text = found->second.as<std::string>();
  return text == nullptr ? "(not a text)" : *text;
}

bool headers_match(const Table& arguments, const Table& headers) {
  const std::string word = match_word_of(arguments);
  const bool with_x = word.ends_with("-with-x");
  int held = 0;
  int counted = 0;
  for (const auto& [name, wanted] : arguments) {
    if (name == "x-match" || (!with_x && name.starts_with("x-"))) continue;
    ++counted;
    const auto header = headers.find(name);
    if (header != headers.end() && (wanted.is_void() || header->second == wanted)) ++held;
  }
  return word.starts_with("any") ? held > 0 : held == counted;
}

bool is_weight(const std::string& key) {
  int weight = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), weight);
  return error == std::errc() && end == key.data() + key.size() && weight >= 1 && weight <= 1000;
}

bool makes_sense(const DeclareExchange& exchange) {
  static const std::set<std::string> kTypes = {"direct", "fanout", "topic", "headers",
                                               "x-consistent-hash"};
  if (!kTypes.contains(exchange.type)) return false;
  for (const auto& [name, value] : exchange.arguments) {
    const auto* text = value.as<std::string>();
    if (name != "alternate-exchange" || text == nullptr || text->empty()) return false;
  }
  return true;
}

}  // namespace

std::string ModelTopology::alternate_of(const DeclareExchange& exchange) const {
  const auto own = exchange.arguments.find("alternate-exchange");
  if (own != exchange.arguments.end()) return *own->second.as<std::string>();
  const auto by_policy = alternates_.find(exchange.name);
  return by_policy == alternates_.end() ? "" : by_policy->second;
}

bool ModelTopology::set_alternates(std::map<std::string, std::string> by_policy) {
  const bool changes = alternates_ != by_policy;
  alternates_ = std::move(by_policy);
  return changes;
}

ModelTopology::Errors ModelTopology::declare(const DeclareExchange& wanted) {
  Errors errors;
  if (wanted.name.empty() || is_reserved(wanted.name)) errors.insert(ErrorCode::kAccessRefused);
  if (!makes_sense(wanted)) errors.insert(ErrorCode::kPreconditionFailed);
  if (const auto found = exchanges_.find(wanted.name); found != exchanges_.end()) {
    const DeclareExchange& is = found->second;
    const bool equal = is.type == wanted.type && is.durable == wanted.durable &&
                       is.auto_delete == wanted.auto_delete && is.internal == wanted.internal &&
                       is.arguments == wanted.arguments;
    if (!equal) errors.insert(ErrorCode::kPreconditionFailed);
  }
  if (errors.empty()) exchanges_.emplace(wanted.name, wanted);
  return errors;
}

ModelTopology::Errors ModelTopology::remove(const DeleteExchange& wanted) {
  if (wanted.name.empty() || is_reserved(wanted.name)) return {ErrorCode::kAccessRefused};
  if (!exchanges_.contains(wanted.name)) return {};
  const bool used = std::any_of(bindings_.begin(), bindings_.end(), [&](const Binding& binding) {
    return binding.exchange == wanted.name;
  });
  if (wanted.if_unused && used) return {ErrorCode::kPreconditionFailed};
  delete_exchange(wanted.name);
  return {};
}

ModelTopology::Errors ModelTopology::bind(const Bind& wanted, bool there) {
  Errors errors;
  if (wanted.exchange.empty()) errors.insert(ErrorCode::kAccessRefused);
  if (is_exchange_name(wanted.to)) there = exchanges_.contains(wanted.to);
  if (!there) errors.insert(ErrorCode::kNotFound);
  const auto exchange = exchanges_.find(wanted.exchange);
  if (exchange == exchanges_.end()) {
    errors.insert(ErrorCode::kNotFound);
  } else if (exchange->second.type == "x-consistent-hash" && !is_weight(wanted.key)) {
    errors.insert(ErrorCode::kPreconditionFailed);
  } else if (exchange->second.type == "headers") {
    static const std::set<std::string> kWords = {"all", "any", "all-with-x", "any-with-x"};
    if (!kWords.contains(match_word_of(wanted.arguments))) {
      errors.insert(ErrorCode::kPreconditionFailed);
    }
  }
  if (!errors.empty()) return errors;
  const Binding binding{wanted.exchange, wanted.to, wanted.key, wanted.arguments};
  const bool known = std::find(bindings_.begin(), bindings_.end(), binding) != bindings_.end();
  if (!known) bindings_.push_back(binding);
  return {};
}

ModelTopology::Errors ModelTopology::unbind(const Bind& wanted) {
  if (wanted.exchange.empty()) return {ErrorCode::kAccessRefused};
  const Binding gone{wanted.exchange, wanted.to, wanted.key, wanted.arguments};
  delete_if_bare(erase_bindings([&](const Binding& binding) { return binding == gone; }));
  return {};
}

template <typename Goes>
std::set<std::string> ModelTopology::erase_bindings(Goes goes) {
  std::set<std::string> from;
  std::erase_if(bindings_, [&](const Binding& binding) {
    if (!goes(binding)) return false;
    from.insert(binding.exchange);
    return true;
  });
  return from;
}

void ModelTopology::forget_queue(const std::string& queue) {
  delete_if_bare(erase_bindings([&](const Binding& binding) { return binding.to == queue; }));
}

void ModelTopology::delete_exchange(const std::string& name) {
  exchanges_.erase(name);
  delete_if_bare(erase_bindings(
      [&](const Binding& binding) { return binding.exchange == name || binding.to == name; }));
}

void ModelTopology::delete_if_bare(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const auto found = exchanges_.find(name);
    if (found == exchanges_.end() || !found->second.auto_delete) continue;
    const bool bare = std::none_of(bindings_.begin(), bindings_.end(), [&](const Binding& binding) {
      return binding.exchange == name;
    });
    if (bare) delete_exchange(name);
  }
}

std::optional<std::set<std::string>> ModelTopology::matches(const DeclareExchange& exchange,
                                                            const Seen& message) const {
  std::set<std::string> targets;
  for (const Binding& binding : bindings_) {
    if (binding.exchange != exchange.name) continue;
    const bool matching =
        (exchange.type == "direct" && binding.key == message.key) ||
        (exchange.type == "topic" &&
         topic_matches(words_of(binding.key), 0, words_of(message.key), 0)) ||
        (exchange.type == "headers" && headers_match(binding.arguments, message.headers)) ||
        exchange.type == "fanout" || exchange.type == "x-consistent-hash";
    if (matching) targets.insert(binding.to);
  }
  if (exchange.type == "x-consistent-hash" && targets.size() > 1) return std::nullopt;
  return targets;
}

std::optional<std::set<std::string>> ModelTopology::route(
    const Seen& message, const std::set<std::string>& queues) const {
  if (message.exchange.empty()) {
    if (queues.contains(message.key)) return std::set<std::string>{message.key};
    return std::set<std::string>{};
  }
  std::set<std::string> reached;
  std::vector<std::string> walked;  // each exchange once
  const auto visit = [&](const std::string& name) {
    if (exchanges_.contains(name) &&
        std::find(walked.begin(), walked.end(), name) == walked.end()) {
      walked.push_back(name);
    }
  };
  visit(message.exchange);
  for (std::size_t at = 0, asked = 0; at < walked.size();) {
    for (; at < walked.size(); ++at) {
      const DeclareExchange exchange = exchanges_.at(walked[at]);
      const auto targets = matches(exchange, message);
      if (!targets) return std::nullopt;
      if (targets->empty()) visit(alternate_of(exchange));
      for (const std::string& target : *targets) {
        is_queue_name(target) ? (void)reached.insert(target) : visit(target);
      }
    }
    // Without any queue, the alternates of all exchanges that it came to.
    if (!reached.empty()) break;
    for (const std::size_t end = walked.size(); asked < end; ++asked) {
      visit(alternate_of(exchanges_.at(walked[asked])));
    }
  }
  return reached;
}

}  // namespace segue::conformance
