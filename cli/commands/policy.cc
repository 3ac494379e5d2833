#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/field_values.h"
#include "cli/outcome.h"
#include "cli/policy_json.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/config_problems.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

constexpr const char* kSetHelp =
    "A policy says what is in force for all queues, or exchanges, whose names match its pattern,\n"
    "whether they exist already or are made later; a policy of the same name is replaced. It is "
    "in\n"
    "force at once; whether it was created, replaced or is unchanged is told. Keys are the "
    "arguments of queues that can be changed in place, without x-:\n"
    "message-ttl, expires, max-length, max-length-bytes, overflow, dead-letter-exchange,\n"
    "dead-letter-routing-key, delivery-limit, consumer-timeout, ...; and for exchanges\n"
    "alternate-exchange. If several policies match, each key is taken of the one with the highest\n"
    "priority that has it. Of a limit the lower one counts, the queue's argument or the policy's;\n"
    "of everything else the queue's own argument. `segue queue show` says what is in force, and\n"
    "where it comes from.\n"
    "\n"
    "The pattern is a regular expression, found anywhere in a name: ^ and $ bind it to the ends.\n"
    "\n"
    "Examples:\n"
    "  segue policy set short --pattern '^tmp\\.' message-ttl=60000 expires=3600000\n"
    "  segue policy set bounded --pattern . --apply-to queues --priority -1 max-length=1000000\n"
    "  segue policy set dead --pattern '^orders' --definition '{\"dead-letter-exchange\": "
    "\"dead\"}'\n"
    "  segue policy set caught --pattern '^events$' --apply-to exchanges alternate-exchange=lost\n";

/// The one of the name; nothing if there is none.
client::Result<std::optional<client::PolicyDescription>> find_policy(client::Connection& connection,
                                                                     const std::string& name) {
  const auto policies = connection.admin().list_all_policies();
  if (!policies) return policies.error();
  for (const client::PolicyDescription& policy : *policies) {
    if (policy.name == name) return std::optional(policy);
  }
  return std::optional<client::PolicyDescription>();
}

class PolicySet final : public SessionCommand {
 public:
  Status check(const OptionTable& options) override {
    if (!options.given("pattern")) {
      return Status(Code::kInvalidConfig, "--pattern is missing: which names the policy is for");
    }
    for (const std::string& assignment : assignments_) {
      if (Status status = add_assignment(policy_.definition, assignment); !status.is_ok()) {
        return status;
      }
    }
    if (policy_.definition.empty()) {
      return Status(Code::kInvalidConfig, "give what the policy sets: KEY=VALUE or --definition");
    }
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(policy_.name, {"NAME", "the policy's name"});
    options.positional(assignments_,
                       {"KEY=VALUE", "what it sets; VALUE is a whole number or else text", false});
    options.text(policy_.pattern, {"pattern", 0, "RE", "a regular expression; needed"});
    options.custom({"priority", 0, "N", "of several policies the highest counts (0)"},
                   [this](std::string_view text) { return set_priority(text); });
    options.choice(policy_.apply_to, {"apply-to", 0, "WHAT", "queues, exchanges or all (all)"},
                   {"queues", "exchanges", "all"});
    options.custom({"definition", 0, "JSON", "an object of what it sets"},
                   [this](std::string_view text) { return set_definition(text); });
    options.flag(json_, {"json", 0, "", "print what became of it as a JSON object"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto before = find_policy(connection, policy_.name);
    if (!before) return report(console, "look for policy '" + policy_.name + "'", before.error());
    const auto status = connection.admin().set_policy(policy_);
    if (!status) return report(console, "set policy '" + policy_.name + "'", status.error());
    const bool equal = *before && (*before)->pattern == policy_.pattern &&
                       (*before)->apply_to == policy_.apply_to &&
                       (*before)->priority == policy_.priority &&
                       (*before)->definition == policy_.definition;
    tell_outcome(console, json_, "policy", policy_.name,
                 !*before ? "created" : (equal ? "unchanged" : "replaced"));
    return kExitOk;
  }

 private:
  Status set_priority(std::string_view text) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), policy_.priority);
    if (error == std::errc() && end == text.data() + text.size()) return Status::ok();
    return Status(Code::kInvalidConfig,
                  "expected a whole number of 32 bits, got " + in_quotes(text));
  }
  Status set_definition(std::string_view text) {
    const Result<JsonValue> json = parse_json(text);
    if (!json) return Status(Code::kInvalidConfig, json.status().message());
    Result<client::Table> table = table_of(*json);
    if (!table) return Status(Code::kInvalidConfig, table.status().message());
    for (auto& [key, value] : *table) policy_.definition[key] = std::move(value);
    return Status::ok();
  }

  client::PolicyDescription policy_;
  std::vector<std::string> assignments_;
  bool json_ = false;
};

class PolicyDelete final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"NAME", "the policy's name"});
    options.flag(json_, {"json", 0, "", "print what became of it as a JSON object"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto before = find_policy(connection, name_);
    if (!before) return report(console, "look for policy '" + name_ + "'", before.error());
    const auto status = connection.admin().delete_policy(name_);
    if (!status) return report(console, "delete policy '" + name_ + "'", status.error());
    tell_outcome(console, json_, "policy", name_, *before ? "deleted" : "absent");
    return kExitOk;
  }

 private:
  bool json_ = false;
  std::string name_;
};

class PolicyList final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.flag(json_, {"json", 0, "", "print a JSON array"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto policies = connection.admin().list_all_policies();
    if (!policies) return report(console, "list the policies", policies.error());
    if (json_) {
      JsonWriter json;
      json.begin_array();
      for (const client::PolicyDescription& policy : *policies) write_policy(json, policy);
      console.write(json.end_array().take() + "\n");
      return kExitOk;
    }
    Table table({{"POLICY"},
                 {"PATTERN"},
                 {"APPLIES TO"},
                 {"PRIORITY", Table::Align::kRight},
                 {"DEFINITION"}});
    for (const client::PolicyDescription& policy : *policies) {
      JsonWriter definition;
      write_table(definition, policy.definition);
      table.add({policy.name, policy.pattern, policy.apply_to, std::to_string(policy.priority),
                 definition.take()});
    }
    console.write(table.text());
    return kExitOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

CommandEntry policy_set_command() {
  return {"policy set", "set what is in force for queues or exchanges of a pattern", kSetHelp,
          [] { return std::make_unique<PolicySet>(); }};
}

CommandEntry policy_delete_command() {
  return {"policy delete", "delete a policy",
          "What it set is no longer in force. A policy that is not there is told as absent and is "
          "no failure.\n\nExample:\n  segue policy delete short\n",
          [] { return std::make_unique<PolicyDelete>(); }};
}

CommandEntry policy_list_command() {
  return {"policy list", "list the policies", "Example:\n  segue policy list --json\n",
          [] { return std::make_unique<PolicyList>(); }};
}

}  // namespace segue::cli
