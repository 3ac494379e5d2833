#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/catalog_state.h"
#include "common/status.h"
#include "segue/v1/catalog.pb.h"

namespace segue {

/// What a cluster is to have: a document that people keep, compare and carry to another cluster.
/// Every object has its virtual host set; numbers and owners, which are the catalog's to give, are
/// not.
struct Definitions {
  using Key = std::pair<std::string, std::string>;  // virtual host, name

  std::map<std::string, v1::VhostDefinition> vhosts{};  // empty: none is said to be there
  std::map<Key, v1::ExchangeDefinition> exchanges{};
  std::map<Key, v1::QueueDefinition> queues{};
  std::map<Key, v1::PolicyDefinition> policies{};
  std::vector<v1::BindingDefinition> bindings{};
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

struct ReadDefinitionsOptions {
  /// Where objects go of which the document does not say it.
  std::string vhost = "/";
  /// Of a document of RabbitMQ the objects of this virtual host alone, which go to `vhost`; not
  /// set: all, each in its own.
  std::optional<std::string> from_vhost{};
  /// What messages begin with: a file's name. Not set: nothing.
  std::string name{};
};

/// The most bytes that a document may have which a process reads at its start: it takes some 65
/// times as much memory.
inline constexpr std::size_t kMostDefinitionsBytes = std::size_t{16} << 20;

/// Reads what definitions_json() wrote, the same as YAML (a text that does not begin with a brace),
/// or what RabbitMQ's export of definitions did. INVALID_CONFIG says which member is wrong, or
/// where (line:column) the YAML is.
Result<ReadDefinitions> read_definitions(std::string_view text,
                                         const ReadDefinitionsOptions& options);
/// The same of a file that is read at a start; messages begin with its path. IO_ERROR when it
/// cannot be read, INVALID_CONFIG too when it is no regular file or too large.
Result<ReadDefinitions> load_definitions(const std::string& path);

/// The document; equal definitions make equal texts. It says of each object in which virtual host
/// it is if there are `vhosts`; else all are in one, which it does not say.
std::string definitions_json(const Definitions& definitions);
/// The same as YAML.
std::string definitions_yaml(const Definitions& definitions);

/// One thing that definitions want.
struct DefinedObject {
  std::string vhost;  // that it is in; of a virtual host its name
  std::string text;   // "queue 'a'"; with " of virtual host 'b'" if that is not the reader's own
  /// Makes it.
  v1::CatalogOperation operation;
};

/// All of them in the order in which they can be made. `home` is the virtual host that is not told.
std::vector<DefinedObject> objects_of(const Definitions& definitions, const std::string& home);

/// How something that is wanted is to what there is.
struct Compared {
  enum class State { kMissing, kEqual, kDifferent };
  State state = State::kMissing;
  /// Of what is different: "durable is false, wanted true; x-expires is not set, wanted 10".
  std::string difference{};
};
/// Compares what an operation of objects_of() makes with what has its name. The virtual host "/",
/// which is always there, counts as missing while it has no limits and is to have some.
Compared compare(const v1::CatalogOperation& wanted, const CatalogState& current);

/// A catalog of these, and no more: for compare().
CatalogState catalog_of(const Definitions& definitions);

/// What is different between two of them, as lines for people: "+ queue 'a'" is only in `wanted`,
/// "- ..." only in `current`, "~ queue 'a': durable is false, wanted true" in both.
struct DefinitionDifferences {
  std::vector<std::string> missing;
  std::vector<std::string> different;
  std::vector<std::string> surplus;
  bool none() const { return missing.empty() && different.empty() && surplus.empty(); }
};
DefinitionDifferences compare_definitions(const Definitions& wanted, const Definitions& current,
                                          const std::string& home);

/// "exchange 'a' to queue 'b' with key 'k' and arguments {..}"
std::string binding_text(const v1::BindingDefinition& binding);

}  // namespace segue
