#include "cli/policy_json.h"

#include "cli/field_values.h"

namespace segue::cli {

void write_policy(JsonWriter& json, const client::PolicyDescription& policy) {
  json.begin_object().field("name", policy.name).field("pattern", policy.pattern);
  json.field("apply_to", policy.apply_to).field("priority", policy.priority).key("definition");
  write_table(json, policy.definition);
  json.end_object();
}

}  // namespace segue::cli
