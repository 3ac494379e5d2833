#pragma once

#include <string>
#include <vector>

#include "common/policies.h"
#include "common/status.h"
#include "segue/v1/catalog.pb.h"
#include "segue/v1/client.pb.h"

namespace segue::node {

/// Policies of one catalog at most: each is looked at for each queue.
inline constexpr std::size_t kMaxPolicies = 1000;

/// Name, pattern, keys and values. What a policy may set of a queue are the arguments that can be
/// changed in place (QueueArgument.changeable), without their "x-"; of an exchange its alternate
/// exchange. PRECONDITION_FAILED names what is wrong.
Status check_policy(const v1::PolicyDefinition& policy);

/// What is in force for a queue.
struct EffectiveQueue {
  /// The definition, with the arguments that are in force.
  v1::QueueDefinition definition;
  /// All of them, in order of name, with their origins.
  std::vector<v1::EffectiveSetting> settings;
};

/// Merges a queue's arguments with what policies say: of a limit (length, time to live, ...) the
/// lower one counts, of everything else the queue's own argument. Without policies for it, the
/// definition as it is.
EffectiveQueue effective_of(const v1::QueueDefinition& queue, const Policies& policies);
/// The definition alone.
v1::QueueDefinition in_force(const v1::QueueDefinition& queue, const Policies::Values& values);
/// Equal for two sets of values exactly when they say the same.
std::string identity_of(const Policies::Values& values);

}  // namespace segue::node
