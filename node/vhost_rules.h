#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/catalog_state.h"
#include "node/catalog_rules.h"
#include "segue/v1/catalog.pb.h"

namespace segue::node {

// What operations on virtual hosts come to (CatalogRules).

/// The most that a catalog takes.
inline constexpr std::size_t kMaxVhosts = 1000;

/// PRECONDITION_FAILED when it exists with other limits, unless it is to take them over, or the
/// name makes no sense; RESOURCE_ERROR when there are too many.
void decide_declare_vhost(const CatalogState& state, const v1::DeclareVhostOp& operation,
                          CatalogDecision& decision);
/// Whether it may be deleted at all (deletion_step() does it); one that is not there is deleted
/// already. ACCESS_REFUSED for "/".
void decide_delete_vhost(const std::string& name, CatalogDecision& decision);
/// NOT_FOUND without such a virtual host; RESOURCE_ERROR when it has its number of queues.
Status check_room_for_queue(const CatalogState& state, const std::string& vhost);

/// The changes that take away the next of what is in the virtual host, about `most` at a time: to
/// be applied before the next step. When nothing is left, the change is the one that deletes the
/// virtual host itself, and it returns true.
bool deletion_step(const CatalogState& state, const std::string& vhost, std::size_t most,
                   std::vector<v1::CatalogChange>& changes);

}  // namespace segue::node
