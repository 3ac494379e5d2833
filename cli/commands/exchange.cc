#include "cli/cluster_definitions.h"
#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/field_values.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/catalog_state.h"
#include "common/json_output.h"
#include "common/policies.h"
#include "common/routing/exchange_router.h"

namespace segue::cli {

namespace {

class ExchangeDeclare final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"NAME", "the exchange's name"});
    // Not a choice(): the cluster knows which types there are.
    options.text(settings_.type, {"type", 't', "TYPE",
                                  "direct, fanout, topic, headers or x-consistent-hash (direct)"});
    options.offer("type", {"direct", "fanout", "topic", "headers", "x-consistent-hash"});
    options.flag(transient_, {"transient", 0, "", "not durable"});
    options.flag(settings_.auto_delete,
                 {"auto-delete", 0, "", "delete it when its last binding goes"});
    options.flag(settings_.internal, {"internal", 0, "", "takes no publishes from clients"});
    options.text(alternate_, {"alternate", 0, "NAME",
                              "the exchange that takes what no queue here gets (the argument "
                              "alternate-exchange)"});
    options.offer("alternate", OptionTable::Names::kExchanges);
    options.custom(
        {"argument", 'a', "NAME=VALUE",
         "an argument; VALUE is a whole number, true, false, or else text (in double quotes "
         "always); may be given again"},
        [this](std::string_view value) { return add_assignment(settings_.arguments, value); });
    options.repeatable("argument");
  }

  Status check(const OptionTable& options) override {
    if (!options.given("alternate")) return Status::ok();
    if (settings_.arguments.contains("alternate-exchange")) {
      return Status(Code::kInvalidConfig,
                    "--alternate and the argument alternate-exchange are the same: give one");
    }
    settings_.arguments["alternate-exchange"] = alternate_;
    return Status::ok();
  }

  int run_with(Console& console, client::Connection& connection) override {
    settings_.durable = !transient_;
    const bool present = static_cast<bool>(connection.admin().find_exchange(name_));
    const auto status = connection.admin().declare_exchange(name_, settings_);
    if (!status) return report(console, "declare exchange '" + name_ + "'", status.error());
    console.write("exchange " + printable(name_) +
                  (present ? " was there already, with equal settings" : " created") + " (" +
                  printable(settings_.type) + ")\n");
    return kExitOk;
  }

 private:
  std::string name_;
  client::ExchangeOptions settings_;
  std::string alternate_;
  bool transient_ = false;
};

/// What is in force as an exchange's alternate exchange.
struct Alternate {
  std::string name;  // empty: none
  std::string origin;
};

/// The exchange's own argument goes before what policies say.
Alternate alternate_of(const client::ExchangeDescription& exchange, const Policies& policies) {
  const std::string key(kAlternateExchange);
  const auto own = exchange.arguments.find(key);
  if (own != exchange.arguments.end()) {
    const auto* name = own->second.as<std::string>();
    return {name == nullptr ? "" : *name, "argument"};
  }
  const Policies::Value said =
      policies.value_of(Policies::Target::kExchange, kDefaultVhost, exchange.name, key);
  if (said.value == nullptr) return {};
  return {said.value->string_value(), "policy " + std::string(said.policy)};
}

class ExchangeList final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.flag(names_, {"names", 0, "",
                          "names only, one on a line as `segue queue list --names` has them; not "
                          "the default exchange's, which is empty"});
    options.flag(json_, {"json", 0, "", "print a JSON array"});
  }
  Status check(const OptionTable& options) override {
    if (!options.given("names") || !options.given("json")) return Status::ok();
    return Status(Code::kInvalidConfig, "--names and --json exclude each other");
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto exchanges = connection.admin().list_all_exchanges();
    if (!exchanges) return report(console, "list the exchanges", exchanges.error());
    if (names_) {
      for (const client::ExchangeDescription& exchange : *exchanges) {
        if (!exchange.name.empty()) console.write(name_line(exchange.name) + "\n");
      }
      return kExitOk;
    }
    const auto listed = connection.admin().list_all_policies();
    if (!listed) return report(console, "list the policies", listed.error());
    Policies policies;  // all of the session's virtual host, whatever its name
    for (const client::PolicyDescription& policy : *listed) {
      policies.set(policy_definition(policy, std::string(kDefaultVhost)));
    }
    if (json_) {
      JsonWriter json;
      json.begin_array();
      for (const client::ExchangeDescription& exchange : *exchanges) {
        json.begin_object().field("name", exchange.name).field("type", exchange.type);
        json.field("durable", exchange.durable).field("auto_delete", exchange.auto_delete);
        json.field("internal", exchange.internal).field("bindings", exchange.bindings);
        json.key("arguments");
        write_table(json, exchange.arguments);
        json.key("effective").begin_array();
        if (const Alternate alternate = alternate_of(exchange, policies); !alternate.name.empty()) {
          json.begin_object().field("name", kAlternateExchange).field("value", alternate.name);
          json.field("origin", alternate.origin).end_object();
        }
        json.end_array().end_object();
      }
      console.write(json.end_array().take() + "\n");
      return kExitOk;
    }
    Table table({{"EXCHANGE"},
                 {"TYPE"},
                 {"BINDINGS", Table::Align::kRight},
                 {"KIND"},
                 {"ALTERNATE"},
                 {"ARGUMENTS"}});
    for (const client::ExchangeDescription& exchange : *exchanges) {
      std::string kind = exchange.durable ? "durable" : "transient";
      if (exchange.auto_delete) kind += ", auto-delete";
      if (exchange.internal) kind += ", internal";
      const Alternate alternate = alternate_of(exchange, policies);
      JsonWriter json;
      if (!exchange.arguments.empty()) write_table(json, exchange.arguments);
      table.add({exchange.name.empty() ? "(default)" : exchange.name, exchange.type,
                 grouped(exchange.bindings), kind,
                 alternate.name.empty() ? "" : alternate.name + " (" + alternate.origin + ")",
                 json.take()});
    }
    console.write(table.text());
    return kExitOk;
  }

 private:
  bool names_ = false;
  bool json_ = false;
};

class ExchangeDelete final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_,
                       {"NAME", "the exchange's name", true, OptionTable::Names::kExchanges});
    options.flag(if_unused_, {"if-unused", 0, "", "only without bindings"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto present = connection.admin().find_exchange(name_);
    if (!present && present.error().code == client::ErrorCode::kNotFound) {
      console.write("exchange " + printable(name_) + " is not there\n");
      return kExitOk;
    }
    const auto status = connection.admin().delete_exchange(name_, if_unused_);
    if (!status) return report(console, "delete exchange '" + name_ + "'", status.error());
    console.write("exchange " + printable(name_) + " deleted\n");
    return kExitOk;
  }

 private:
  std::string name_;
  bool if_unused_ = false;
};

}  // namespace

CommandEntry exchange_declare_command() {
  return {
      "exchange declare", "make an exchange",
      "A message goes to the queues of the bindings that match it:\n"
      "  direct             the binding key is the message's routing key\n"
      "  fanout             always\n"
      "  topic              the binding key is a pattern of words: `*` one word, `#` any number\n"
      "  headers            the binding's arguments are among the message's headers\n"
      "  x-consistent-hash  one queue for each routing key, in proportion to the binding keys,\n"
      "                     which are weights; with the arguments hash-header or hash-property\n"
      "                     one for each value of that header or property\n"
      "\n"
      "Declaring an exchange that exists with the same settings changes nothing and succeeds;\n"
      "with other settings it fails and says which differ.\n\n"
      "Examples:\n  segue exchange declare events --type topic\n"
      "  segue exchange declare logs --type fanout --auto-delete\n"
      "  segue exchange declare orders --type direct --alternate unrouted\n"
      "  segue exchange declare work --type x-consistent-hash --argument hash-header=customer\n",
      [] { return std::make_unique<ExchangeDeclare>(); }};
}

CommandEntry exchange_list_command() {
  return {"exchange list", "list the exchanges",
          "ALTERNATE is the alternate exchange that is in force, and where it comes from: the\n"
          "exchange's own argument, or a policy.\n\nExample:\n  segue exchange list --json\n",
          [] { return std::make_unique<ExchangeList>(); }};
}

CommandEntry exchange_delete_command() {
  return {"exchange delete", "delete an exchange and its bindings",
          "An exchange that is not there is told and is no failure.\n\n"
          "Example:\n  segue exchange delete events --if-unused\n",
          [] { return std::make_unique<ExchangeDelete>(); }};
}

}  // namespace segue::cli
