#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/field_values.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

constexpr const char* kCreateHelp =
    "The key's meaning is the exchange's: direct compares it, topic matches words (`*` one word,\n"
    "`#` any number of them), for x-consistent-hash it is a weight (1 to 1000), fanout and "
    "headers\n"
    "ignore it. For headers the arguments count: a header must have that value, or with NAME "
    "alone\n"
    "only be there; all of them, or any with x-match=any. With --to-exchange the messages go on "
    "to\n"
    "another exchange in place of a queue. The same binding again changes nothing.\n"
    "\n"
    "Examples:\n"
    "  segue binding create amq.topic orders --key 'order.*.created'\n"
    "  segue binding create logs archive\n"
    "  segue binding create amq.headers pdfs --argument format=pdf --argument signed\n"
    "  segue binding create orders --to-exchange audit --key 'order.#'\n";

// What creating and deleting have in common: which binding.
class BindingChange : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) final {
    options.positional(binding_.exchange,
                       {"EXCHANGE", "the exchange's name", true, OptionTable::Names::kExchanges});
    options.positional(binding_.queue,
                       {"QUEUE", "the queue's name", false, OptionTable::Names::kQueues});
    options.text(binding_.to_exchange,
                 {"to-exchange", 0, "NAME", "the exchange to lead to, in place of a queue"});
    options.offer("to-exchange", OptionTable::Names::kExchanges);
    options.text(binding_.routing_key, {"key", 'k', "KEY", "the binding key (empty)"});
    options.alias("key", "routing-key");
    options.custom(
        {"argument", 'a', "NAME=VALUE",
         "an argument; VALUE is a whole number, true, false, or else text; NAME alone is the void "
         "value; may be given again"},
        [this](std::string_view value) { return add_assignment(binding_.arguments, value); });
    options.repeatable("argument");
  }

  Status check(const OptionTable& /*options*/) final {
    if (binding_.queue.empty() != binding_.to_exchange.empty()) return Status::ok();
    return Status(Code::kInvalidConfig, binding_.queue.empty()
                                            ? "give a QUEUE, or --to-exchange"
                                            : "give a QUEUE or --to-exchange, not both");
  }

  std::string name() const {
    JsonWriter arguments;
    if (!binding_.arguments.empty()) write_table(arguments, binding_.arguments);
    const std::string with = binding_.arguments.empty() ? "" : " and arguments " + arguments.take();
    return "'" + binding_.exchange + "' to " +
           (binding_.to_exchange.empty() ? "'" + binding_.queue + "'"
                                         : "exchange '" + binding_.to_exchange + "'") +
           " with key '" + binding_.routing_key + "'" + with;
  }

  client::Binding binding_;
};

class BindingCreate final : public BindingChange {
  int run_with(Console& console, client::Connection& connection) override {
    const auto status = connection.admin().bind(binding_);
    if (!status) return report(console, "bind " + name(), status.error());
    console.write("bound " + printable(name()) + "\n");
    return kExitOk;
  }
};

class BindingDelete final : public BindingChange {
  int run_with(Console& console, client::Connection& connection) override {
    const bool present = is_there(connection);
    const auto status = connection.admin().unbind(binding_);
    if (!status) return report(console, "unbind " + name(), status.error());
    console.write(present ? "unbound " + printable(name()) + "\n"
                          : "binding " + printable(name()) + " is not there\n");
    return kExitOk;
  }

  // Taken for there when that cannot be known.
  bool is_there(client::Connection& connection) const {
    const auto bindings = connection.admin().list_all_bindings(binding_.exchange, binding_.queue);
    if (!bindings) return true;
    return std::any_of(bindings->begin(), bindings->end(), [&](const auto& binding) {
      return binding.exchange == binding_.exchange && binding.queue == binding_.queue &&
             binding.to_exchange == binding_.to_exchange &&
             binding.routing_key == binding_.routing_key && binding.arguments == binding_.arguments;
    });
  }
};

class BindingList final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.text(exchange_, {"exchange", 'e', "NAME", "only of this exchange"});
    options.text(queue_, {"queue", 'q', "NAME", "only of this queue"});
    options.offer("exchange", OptionTable::Names::kExchanges);
    options.offer("queue", OptionTable::Names::kQueues);
    options.flag(json_, {"json", 0, "", "print a JSON array"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto bindings = connection.admin().list_all_bindings(exchange_, queue_);
    if (!bindings) return report(console, "list the bindings", bindings.error());
    if (json_) {
      JsonWriter json;
      json.begin_array();
      for (const client::BindingDescription& binding : *bindings) {
        json.begin_object().field("exchange", binding.exchange).field("queue", binding.queue);
        if (!binding.to_exchange.empty()) json.field("to_exchange", binding.to_exchange);
        json.field("routing_key", binding.routing_key).key("arguments");
        write_table(json, binding.arguments);
        json.end_object();
      }
      console.write(json.end_array().take() + "\n");
      return kExitOk;
    }
    Table table({{"EXCHANGE"}, {"KEY"}, {"TO"}, {"ARGUMENTS"}});
    for (const client::BindingDescription& binding : *bindings) {
      JsonWriter json;
      if (!binding.arguments.empty()) write_table(json, binding.arguments);
      table.add({binding.exchange, binding.routing_key,
                 binding.to_exchange.empty() ? binding.queue : "exchange " + binding.to_exchange,
                 json.take()});
    }
    console.write(table.text());
    return kExitOk;
  }

 private:
  std::string exchange_;
  std::string queue_;
  bool json_ = false;
};

}  // namespace

CommandEntry binding_create_command(std::string path) {
  const bool alias = path == "binding declare";
  return {std::move(path),
          alias ? "the same as binding create" : "bind a queue, or an exchange, to an exchange",
          kCreateHelp, [] { return std::make_unique<BindingCreate>(); }};
}

CommandEntry binding_list_command() {
  return {"binding list", "list the bindings",
          "Examples:\n  segue binding list\n  segue binding list --exchange amq.topic --json\n",
          [] { return std::make_unique<BindingList>(); }};
}

CommandEntry binding_delete_command() {
  return {"binding delete", "take a binding away",
          "A binding that is not there is told and is no failure.\n\n"
          "Example:\n  segue binding delete amq.topic orders --key 'order.*.created'\n",
          [] { return std::make_unique<BindingDelete>(); }};
}

}  // namespace segue::cli
