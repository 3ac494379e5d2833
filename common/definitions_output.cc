// Writing documents of definitions (common/definitions.h).
#include <tuple>

#include "common/definitions.h"
#include "common/field_json.h"
#include "common/json_output.h"
#include "common/yaml_text.h"

namespace segue {

namespace {

/// The lines of a document's lists.
class Lines {
 public:
  explicit Lines(bool with_vhosts) : with_vhosts_(with_vhosts) {}

  /// Begins an object's line.
  JsonWriter& begin() { return json_.begin_object(); }
  void vhost(const std::string& vhost) {
    if (with_vhosts_) json_.field("vhost", vhost);
  }
  void arguments(const char* name, const FieldMap& fields) {
    json_.key(name);
    write_fields(json_, fields);
  }
  void end() { lines_.push_back(json_.end_object().take()); }
  std::string section(const char* name) {
    std::string out = std::string(",\n\"") + name + "\": [";
    for (std::size_t i = 0; i < lines_.size(); ++i) out += (i == 0 ? "\n  " : ",\n  ") + lines_[i];
    out += lines_.empty() ? "]" : "\n]";
    lines_.clear();
    return out;
  }

 private:
  bool with_vhosts_;
  JsonWriter json_;
  std::vector<std::string> lines_;
};

void write_vhosts(const Definitions& definitions, Lines& lines) {
  for (const auto& [name, vhost] : definitions.vhosts) {
    JsonWriter& json = lines.begin().field("name", name);
    if (vhost.has_max_queues()) json.field("max_queues", std::uint64_t{vhost.max_queues()});
    if (vhost.has_max_sessions()) json.field("max_sessions", std::uint64_t{vhost.max_sessions()});
    if (vhost.has_max_bytes()) json.field("max_bytes", std::uint64_t{vhost.max_bytes()});
    lines.end();
  }
}

void write_exchanges(const Definitions& definitions, Lines& lines) {
  for (const auto& [key, exchange] : definitions.exchanges) {
    JsonWriter& json = lines.begin().field("name", exchange.name());
    lines.vhost(exchange.vhost());
    json.field("type", exchange.type()).field("durable", exchange.durable());
    json.field("auto_delete", exchange.auto_delete()).field("internal", exchange.internal());
    lines.arguments("arguments", exchange.arguments());
    lines.end();
  }
}

void write_queues(const Definitions& definitions, Lines& lines) {
  for (const auto& [key, queue] : definitions.queues) {
    JsonWriter& json = lines.begin().field("name", queue.name());
    lines.vhost(queue.vhost());
    json.field("durable", queue.durable()).field("auto_delete", queue.auto_delete());
    lines.arguments("arguments", queue.arguments());
    lines.end();
  }
}

void write_bindings(const Definitions& definitions, Lines& lines) {
  using Order =
      std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;
  std::map<Order, const v1::BindingDefinition*> sorted;
  for (const v1::BindingDefinition& binding : definitions.bindings) {
    sorted.emplace(Order(binding.vhost(), binding.exchange(), binding.to_exchange(),
                         binding.queue(), binding.routing_key(), json_of(binding.arguments())),
                   &binding);
  }
  for (const auto& [order, binding] : sorted) {
    JsonWriter& json = lines.begin().field("exchange", binding->exchange());
    lines.vhost(binding->vhost());
    if (binding->to_exchange().empty()) {
      json.field("queue", binding->queue());
    } else {
      json.field("to_exchange", binding->to_exchange());
    }
    json.field("routing_key", binding->routing_key());
    lines.arguments("arguments", binding->arguments());
    lines.end();
  }
}

void write_policies(const Definitions& definitions, Lines& lines) {
  for (const auto& [key, policy] : definitions.policies) {
    JsonWriter& json = lines.begin().field("name", policy.name());
    lines.vhost(policy.vhost());
    json.field("pattern", policy.pattern()).field("apply_to", policy.apply_to());
    json.field("priority", policy.priority());
    lines.arguments("definition", policy.definition());
    lines.end();
  }
}

}  // namespace

std::string definitions_yaml(const Definitions& definitions) {
  const auto document = parse_json(definitions_json(definitions));
  // Nested deeper than the reader goes; JSON is YAML, too.
  return document ? yaml_text(*document) : definitions_json(definitions);
}

std::string definitions_json(const Definitions& definitions) {
  const bool with_vhosts = !definitions.vhosts.empty();
  Lines lines(with_vhosts);
  std::string out = "{\n\"segue_definitions\": 1";
  if (with_vhosts) {
    write_vhosts(definitions, lines);
    out += lines.section("vhosts");
  }
  write_exchanges(definitions, lines);
  out += lines.section("exchanges");
  write_queues(definitions, lines);
  out += lines.section("queues");
  write_bindings(definitions, lines);
  out += lines.section("bindings");
  write_policies(definitions, lines);
  out += lines.section("policies");
  return out + "\n}\n";
}

}  // namespace segue
