#include "cli/definitions.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "cli/field_values.h"
#include "cli/json_output.h"
#include "cli/policy_json.h"
#include "cli/table_output.h"
#include "cli/yaml_text.h"

namespace segue::cli {

namespace {

std::string json_of(const client::Table& table) {
  JsonWriter json;
  write_table(json, table);
  return json.take();
}

std::string json_of(const client::Value& value) {
  JsonWriter json;
  write_value(json, value);
  return json.take();
}

std::string quoted(const std::string& name) {
  return "'" + printable(name) + "'";
}

auto identity(const client::Binding& binding) {
  return std::tuple(binding.exchange, binding.to_exchange, binding.queue, binding.routing_key,
                    json_of(binding.arguments));
}

/// Gathers what of one object is not as it is wanted.
class Differences {
 public:
  void add_truth(const char* what, bool wanted, bool current) {
    const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
    add(std::string(what), text(wanted), text(current));
  }
  void add(const std::string& what, const std::string& wanted, const std::string& current) {
    if (wanted == current) return;
    if (!text_.empty()) text_ += "; ";
    text_ += what + " is " + current + ", wanted " + wanted;
  }
  void add(const client::Table& wanted, const client::Table& current) {
    for (const auto& [name, value] : wanted) {
      const auto found = current.find(name);
      add(printable(name), json_of(value),
          found == current.end() ? "not set" : json_of(found->second));
    }
    for (const auto& [name, value] : current) {
      if (!wanted.contains(name)) add(printable(name), "not set", json_of(value));
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string difference(const client::ExchangeOptions& wanted,
                       const client::ExchangeOptions& current) {
  Differences differences;
  differences.add("type", wanted.type, current.type);
  differences.add_truth("durable", wanted.durable, current.durable);
  differences.add_truth("auto_delete", wanted.auto_delete, current.auto_delete);
  differences.add_truth("internal", wanted.internal, current.internal);
  differences.add(wanted.arguments, current.arguments);
  return differences.text();
}

std::string difference(const client::QueueOptions& wanted, const client::QueueOptions& current) {
  Differences differences;
  differences.add_truth("durable", wanted.durable, current.durable);
  differences.add_truth("auto_delete", wanted.auto_delete, current.auto_delete);
  differences.add(wanted.arguments, current.arguments);
  return differences.text();
}

std::string difference(const client::PolicyDescription& wanted,
                       const client::PolicyDescription& current) {
  Differences differences;
  differences.add("pattern", quoted(wanted.pattern), quoted(current.pattern));
  differences.add("apply_to", wanted.apply_to, current.apply_to);
  differences.add("priority", std::to_string(wanted.priority), std::to_string(current.priority));
  differences.add(wanted.definition, current.definition);
  return differences.text();
}

template <typename Options>
void compare_named(const std::string& kind, const std::map<std::string, Options>& wanted,
                   const std::map<std::string, Options>& current, DefinitionDifferences& out) {
  for (const auto& [name, options] : wanted) {
    const std::string object = kind + " " + quoted(name);
    const auto found = current.find(name);
    if (found == current.end()) {
      out.missing.push_back(object);
    } else if (const std::string text = difference(options, found->second); !text.empty()) {
      out.different.push_back(object + ": " + text);
    }
  }
  for (const auto& [name, options] : current) {
    if (!wanted.contains(name)) out.surplus.push_back(kind + " " + quoted(name));
  }
}

}  // namespace

std::string binding_text(const client::Binding& binding) {
  std::string text = "binding of exchange " + quoted(binding.exchange) + " to " +
                     (binding.to_exchange.empty() ? "queue " + quoted(binding.queue)
                                                  : "exchange " + quoted(binding.to_exchange)) +
                     " with key " + quoted(binding.routing_key);
  if (!binding.arguments.empty()) text += " and arguments " + json_of(binding.arguments);
  return text;
}

std::vector<client::Binding> missing_bindings(const Definitions& wanted,
                                              const Definitions& current) {
  std::set<decltype(identity(client::Binding()))> seen;
  for (const client::Binding& binding : current.bindings) seen.insert(identity(binding));
  std::vector<client::Binding> missing;
  for (const client::Binding& binding : wanted.bindings) {
    if (seen.insert(identity(binding)).second) missing.push_back(binding);
  }
  return missing;
}

DefinitionDifferences compare_definitions(const Definitions& wanted, const Definitions& current) {
  DefinitionDifferences out;
  compare_named("exchange", wanted.exchanges, current.exchanges, out);
  compare_named("queue", wanted.queues, current.queues, out);
  compare_named("policy", wanted.policies, current.policies, out);
  for (const client::Binding& binding : missing_bindings(wanted, current)) {
    out.missing.push_back(binding_text(binding));
  }
  for (const client::Binding& binding : missing_bindings(current, wanted)) {
    out.surplus.push_back(binding_text(binding));
  }
  return out;
}

std::string definitions_yaml(const Definitions& definitions) {
  const auto document = parse_json(definitions_json(definitions));
  // Nested deeper than the reader goes; JSON is YAML, too.
  return document ? yaml_text(*document) : definitions_json(definitions);
}

std::string definitions_json(const Definitions& definitions) {
  std::string out = "{\n\"segue_definitions\": 1";
  const auto section = [&](const char* name, const std::vector<std::string>& lines) {
    out += std::string(",\n\"") + name + "\": [";
    for (std::size_t i = 0; i < lines.size(); ++i) out += (i == 0 ? "\n  " : ",\n  ") + lines[i];
    out += lines.empty() ? "]" : "\n]";
  };
  std::vector<std::string> lines;
  for (const auto& [name, options] : definitions.exchanges) {
    JsonWriter json;
    json.begin_object().field("name", name).field("type", options.type);
    json.field("durable", options.durable).field("auto_delete", options.auto_delete);
    json.field("internal", options.internal).key("arguments");
    write_table(json, options.arguments);
    lines.push_back(json.end_object().take());
  }
  section("exchanges", lines);
  lines.clear();
  for (const auto& [name, options] : definitions.queues) {
    JsonWriter json;
    json.begin_object().field("name", name).field("durable", options.durable);
    json.field("auto_delete", options.auto_delete).key("arguments");
    write_table(json, options.arguments);
    lines.push_back(json.end_object().take());
  }
  section("queues", lines);
  std::vector<client::Binding> bindings = definitions.bindings;
  std::sort(bindings.begin(), bindings.end(),
            [](const auto& a, const auto& b) { return identity(a) < identity(b); });
  lines.clear();
  for (const client::Binding& binding : bindings) {
    JsonWriter json;
    json.begin_object().field("exchange", binding.exchange);
    if (binding.to_exchange.empty()) {
      json.field("queue", binding.queue);
    } else {
      json.field("to_exchange", binding.to_exchange);
    }
    json.field("routing_key", binding.routing_key).key("arguments");
    write_table(json, binding.arguments);
    lines.push_back(json.end_object().take());
  }
  section("bindings", lines);
  lines.clear();
  for (const auto& [name, policy] : definitions.policies) {
    JsonWriter json;
    write_policy(json, policy);
    lines.push_back(json.take());
  }
  section("policies", lines);
  return out + "\n}\n";
}

}  // namespace segue::cli
