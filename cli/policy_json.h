#pragma once

#include "common/json_output.h"
#include "segue/cluster.h"

namespace segue::cli {

/// A policy as lists and documents of definitions have it.
void write_policy(JsonWriter& json, const client::PolicyDescription& policy);

}  // namespace segue::cli
