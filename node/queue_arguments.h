#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "segue/v1/catalog.pb.h"
#include "storage/gc_options.h"

namespace segue::node {

// The arguments that a queue may be declared with. check_queue() refuses others.

inline constexpr std::string_view kDurabilityArgument = "x-durability";

/// An argument that is a whole number.
struct NumberArgument {
  std::string_view name;
  std::int64_t least;
  std::int64_t most;
};

inline constexpr NumberArgument kGcMinBytes{"x-gc-min-bytes", 4096, std::int64_t{4} << 30};
inline constexpr NumberArgument kGcMinMessages{"x-gc-min-messages", 1, 100'000'000};
inline constexpr NumberArgument kGcValidPercent{"x-gc-valid-percent", 1, 66};
/// An argument that is true or false.
inline constexpr std::string_view kSingleActiveConsumer = "x-single-active-consumer";
inline constexpr std::string_view kBooleanArguments[] = {kSingleActiveConsumer};

/// Whether the argument is given, and true.
bool is_set(const v1::QueueDefinition& definition, std::string_view argument);

inline constexpr NumberArgument kNumberArguments[] = {kGcMinBytes, kGcMinMessages, kGcValidPercent};

/// The number that a checked definition has for the argument.
std::optional<std::int64_t> number_of(const v1::QueueDefinition& definition,
                                      const NumberArgument& argument);
/// What the queue has in the place of the node's gc.*.
storage::GcOverrides gc_overrides_of(const v1::QueueDefinition& definition);

}  // namespace segue::node
