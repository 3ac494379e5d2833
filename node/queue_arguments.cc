#include "node/queue_arguments.h"

#include <string>

namespace segue::node {

std::optional<std::int64_t> number_of(const v1::QueueDefinition& definition,
                                      const NumberArgument& argument) {
  const auto found = definition.arguments().find(std::string(argument.name));
  if (found == definition.arguments().end()) return std::nullopt;
  const std::int64_t number = found->second.int_value();
  if (number < argument.least || number > argument.most) return std::nullopt;
  return number;
}

bool is_set(const v1::QueueDefinition& definition, std::string_view argument) {
  const auto found = definition.arguments().find(std::string(argument));
  return found != definition.arguments().end() && found->second.bool_value();
}

storage::GcOverrides gc_overrides_of(const v1::QueueDefinition& definition) {
  storage::GcOverrides overrides;
  if (const auto bytes = number_of(definition, kGcMinBytes)) {
    overrides.min_bytes = static_cast<std::uint64_t>(*bytes);
  }
  if (const auto messages = number_of(definition, kGcMinMessages)) {
    overrides.min_messages = static_cast<std::uint32_t>(*messages);
  }
  if (const auto percent = number_of(definition, kGcValidPercent)) {
    overrides.valid_percent = static_cast<std::uint32_t>(*percent);
  }
  return overrides;
}

}  // namespace segue::node
