#pragma once

#include "common/catalog_state.h"
#include "node/catalog_rules.h"
#include "segue/v1/catalog.pb.h"

namespace segue::node {

// What operations on policies come to (CatalogRules).

/// Makes or replaces one. PRECONDITION_FAILED as check_policy(); RESOURCE_ERROR when there are too
/// many.
void decide_set_policy(const CatalogState& state, v1::PolicyDefinition policy,
                       CatalogDecision& decision);
/// One that is not there is deleted already.
void decide_delete_policy(const CatalogState& state, v1::PolicyKey key, CatalogDecision& decision);

}  // namespace segue::node
