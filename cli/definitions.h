#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "segue/admin.h"

namespace segue::cli {

/// What a cluster is to have: a document that people keep, compare and carry to another cluster.
struct Definitions {
  std::map<std::string, client::ExchangeOptions> exchanges;  // by name
  std::map<std::string, client::QueueOptions> queues;
  std::vector<client::Binding> bindings;
  std::map<std::string, client::PolicyDescription> policies{};  // by name
};

/// Something of a document of another broker that is not taken as it stands.
struct DefinitionNote {
  bool left_out = false;  // as a whole; else it was adapted
  std::string object;     // "queue 'a'"
  std::string text;
};

struct ReadDefinitions {
  Definitions definitions;
  std::vector<DefinitionNote> notes;
  bool from_rabbitmq = false;
};

/// Reads what definitions_json() wrote, the same as YAML (a text that does not begin with a brace),
/// or what RabbitMQ's export of definitions did: of that, the objects of the virtual host `vhost`.
/// INVALID_CONFIG says which member is wrong.
Result<ReadDefinitions> read_definitions(std::string_view text, const std::string& vhost);

/// The document; equal definitions make equal texts.
std::string definitions_json(const Definitions& definitions);
/// The same as YAML.
std::string definitions_yaml(const Definitions& definitions);

/// What is different between two of them, as lines for people: "+ queue 'a'" is only in `wanted`,
/// "- ..." only in `current`, "~ queue 'a': durable is false, wanted true" in both.
struct DefinitionDifferences {
  std::vector<std::string> missing;
  std::vector<std::string> different;
  std::vector<std::string> surplus;
  bool none() const { return missing.empty() && different.empty() && surplus.empty(); }
};
DefinitionDifferences compare_definitions(const Definitions& wanted, const Definitions& current);

/// Bindings of `wanted` that `current` does not have, each once.
std::vector<client::Binding> missing_bindings(const Definitions& wanted,
                                              const Definitions& current);

/// "exchange 'a' to queue 'b' with key 'k' and arguments {..}"
std::string binding_text(const client::Binding& binding);

}  // namespace segue::cli
