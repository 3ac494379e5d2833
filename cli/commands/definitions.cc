#include <deque>
#include <functional>
#include <future>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/definitions.h"
#include "cli/exit_codes.h"
#include "cli/input_file.h"
#include "cli/session.h"
#include "cli/table_output.h"

namespace segue::cli {

namespace {

constexpr const char* kDocument =
    "The document is JSON: exchanges, queues and bindings, but not what a cluster has by itself\n"
    "(the default exchange, amq.*), nor queues of single sessions, nor messages.\n";

/// Declares that may be on their way at a time.
constexpr std::size_t kWindow = 500;

/// What the cluster has, as a document has it.
client::Result<Definitions> definitions_of(client::Connection& connection) {
  Definitions definitions;
  auto exchanges = connection.admin().list_all_exchanges();
  if (!exchanges) return exchanges.error();
  for (client::ExchangeDescription& exchange : *exchanges) {
    if (exchange.name.empty() || exchange.name.starts_with("amq.")) continue;
    client::ExchangeOptions& options = definitions.exchanges[exchange.name];
    options.type = exchange.type;
    options.durable = exchange.durable;
    options.auto_delete = exchange.auto_delete;
    options.internal = exchange.internal;
    options.arguments = std::move(exchange.arguments);
  }
  auto queues = connection.admin().list_all_queues(true);
  if (!queues) return queues.error();
  for (client::QueueDescription& queue : *queues) {
    if (queue.exclusive || queue.name.starts_with("amq.")) continue;
    client::QueueOptions& options = definitions.queues[queue.name];
    options.durable = queue.durable;
    options.auto_delete = queue.auto_delete;
    options.arguments = std::move(queue.arguments);
  }
  auto bindings = connection.admin().list_all_bindings();
  if (!bindings) return bindings.error();
  for (client::BindingDescription& binding : *bindings) {
    if (binding.exchange.empty()) continue;
    const bool kept = !binding.to_exchange.empty() || definitions.queues.contains(binding.queue);
    if (!kept) continue;
    definitions.bindings.push_back({binding.exchange, binding.queue, binding.routing_key,
                                    std::move(binding.arguments), binding.to_exchange});
  }
  return definitions;
}

class DefinitionsExport final : public SessionCommand {
 protected:
  void declare_own(OptionTable& /*options*/) override {}
  int run_with(Console& console, client::Connection& connection) override {
    const auto definitions = definitions_of(connection);
    if (!definitions) return report(console, "export the definitions", definitions.error());
    console.write(definitions_json(*definitions));
    return kExitOk;
  }
};

/// What reads a document has in common.
class WithDocument : public SessionCommand {
 protected:
  void declare_document(OptionTable& options) {
    options.positional(path_, {"FILE", "the document (standard input)", false});
    options.text(vhost_, {"from-vhost", 0, "NAME",
                          "of a document of RabbitMQ: the virtual host whose objects to take (/)"});
  }
  /// Nothing, and the exit code, when it cannot be read.
  std::optional<ReadDefinitions> read(Console& console, int& exit_code) {
    const std::string name = path_.empty() || path_ == "-" ? "standard input" : path_;
    std::string text;
    auto input = InputFile::open(console, path_);
    Status status = input ? Status() : input.status();
    for (std::string block; status;) {
      status = input->read(block);
      if (block.empty()) break;
      text += block;
    }
    if (!status) {
      exit_code = fail(console, status.message(), kExitInputOutput);
      return std::nullopt;
    }
    auto read = read_definitions(text, vhost_);
    if (!read) {
      exit_code = fail(console, name + ": " + read.status().message(), kExitUsage);
      return std::nullopt;
    }
    return std::move(*read);
  }
  static int fail(Console& console, const std::string& message, int code) {
    console.note("segue: " + message);
    return code;
  }
  /// What a document of another broker has that was not taken as it is.
  static std::size_t tell(Console& console, const ReadDefinitions& read) {
    std::size_t left_out = 0;
    for (const DefinitionNote& note : read.notes) {
      left_out += note.left_out ? 1 : 0;
      console.write((note.left_out ? "left out  " : "adapted   ") + note.object + ": " + note.text +
                    "\n");
    }
    return left_out;
  }

 private:
  std::string path_;
  std::string vhost_ = "/";
};

class DefinitionsImport final : public WithDocument {
 protected:
  void declare_own(OptionTable& options) override {
    declare_document(options);
    options.flag(update_, {"update", 0, "",
                           "change arguments of queues that exist, as `queue declare --update` "
                           "does"});
    options.flag(dry_run_, {"dry-run", 0, "", "only say what is missing and what is different"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    int exit_code = kExitOk;
    const auto document = read(console, exit_code);
    if (!document) return exit_code;
    const std::size_t left_out = tell(console, *document);
    const auto before = definitions_of(connection);
    if (!before) return report(console, "look at what there is", before.error());
    const DefinitionDifferences differences = compare_definitions(document->definitions, *before);
    if (dry_run_) {
      for (const std::string& line : differences.missing) console.write("+ " + line + "\n");
      for (const std::string& line : differences.different) console.write("~ " + line + "\n");
      return kExitOk;
    }
    if (!declare_all(console, connection, document->definitions)) return kExitInterrupted;
    const auto after = definitions_of(connection);
    if (!after) return report(console, "look at what there is now", after.error());
    const std::size_t still = compare_definitions(document->definitions, *after).different.size();
    console.write(counted(done_, "object") + " there: " + grouped(differences.missing.size()) +
                  " were missing, " + grouped(differences.different.size()) + " were different (" +
                  grouped(still) + " still are); " + grouped(refused_) + " refused, " +
                  grouped(left_out) + " left out\n");
    return refused_ > 0 ? kExitRefused : kExitOk;
  }

 private:
  /// False when it was interrupted.
  bool declare_all(Console& console, client::Connection& connection, const Definitions& wanted) {
    client::Admin& admin = connection.admin();
    for (const auto& [name, options] : wanted.exchanges) {
      add(console, "exchange '" + printable(name) + "'", [&admin, name = name, options = options] {
        return admin.declare_exchange_async(name, options);
      });
    }
    for (const auto& [name, wanted_options] : wanted.queues) {
      client::QueueOptions options = wanted_options;
      options.update = update_;
      add_queue(console, admin, name, options);
    }
    // What is bound must be there.
    while (!waiting_.empty()) finish_one(console);
    for (const client::Binding& binding : wanted.bindings) {
      if (console.stop_requested()) return false;
      add(console, binding_text(binding), [&] { return admin.bind_async(binding); });
    }
    while (!waiting_.empty()) finish_one(console);
    return !console.stop_requested();
  }
  void add(Console& console, std::string object,
           const std::function<std::future<client::Status>()>& ask) {
    while (waiting_.size() >= kWindow) finish_one(console);
    auto answer = std::make_shared<std::future<client::Status>>(ask());
    waiting_.push_back({std::move(object), [answer] { return answer->get(); }});
  }
  void add_queue(Console& console, client::Admin& admin, const std::string& name,
                 const client::QueueOptions& options) {
    while (waiting_.size() >= kWindow) finish_one(console);
    auto answer = std::make_shared<std::future<client::Result<client::DeclaredQueue>>>(
        admin.declare_queue_async(name, options));
    waiting_.push_back({"queue '" + printable(name) + "'", [answer]() -> client::Status {
                          const auto declared = answer->get();
                          if (!declared) return declared.error();
                          return {};
                        }});
  }
  void finish_one(Console& console) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    const client::Status status = next.wait();
    if (status) {
      ++done_;
    } else {
      ++refused_;
      console.write("refused   " + next.object + ": " + printable(status.error().text) + "\n");
    }
  }

  struct Waiting {
    std::string object;
    std::function<client::Status()> wait;
  };
  std::deque<Waiting> waiting_;
  std::size_t done_ = 0;
  std::size_t refused_ = 0;
  bool update_ = false;
  bool dry_run_ = false;
};

class DefinitionsDiff final : public WithDocument {
 protected:
  void declare_own(OptionTable& options) override { declare_document(options); }

  int run_with(Console& console, client::Connection& connection) override {
    int exit_code = kExitOk;
    const auto document = read(console, exit_code);
    if (!document) return exit_code;
    tell(console, *document);
    const auto current = definitions_of(connection);
    if (!current) return report(console, "look at what there is", current.error());
    const DefinitionDifferences differences = compare_definitions(document->definitions, *current);
    for (const std::string& line : differences.missing) console.write("+ " + line + "\n");
    for (const std::string& line : differences.surplus) console.write("- " + line + "\n");
    for (const std::string& line : differences.different) console.write("~ " + line + "\n");
    return differences.none() ? kExitOk : kExitRefused;
  }
};

}  // namespace

CommandEntry definitions_export_command() {
  return {"definitions export", "write down the exchanges, queues and bindings",
          std::string(kDocument) + "\nExample:\n  segue definitions export > definitions.json\n",
          [] { return std::make_unique<DefinitionsExport>(); }};
}

CommandEntry definitions_import_command() {
  return {
      "definitions import", "declare what a document of definitions has",
      std::string(kDocument) +
          "What is there already with equal settings stays as it is, so importing twice does no\n"
          "harm; what is there with others is refused (but see --update), and nothing is ever\n"
          "deleted. A document that RabbitMQ exported (rabbitmqctl export_definitions, or its\n"
          "management page) can be imported too: what was adapted and what was left out is\n"
          "told. Users, permissions and policies are left out.\n"
          "\n"
          "Exit codes beside the usual ones: 1 something was refused; 64 the document is wrong.\n"
          "\n"
          "Examples:\n"
          "  segue definitions import definitions.json\n"
          "  segue definitions import --dry-run < definitions.json\n"
          "  segue definitions import rabbit.json --from-vhost shop\n",
      [] { return std::make_unique<DefinitionsImport>(); }};
}

CommandEntry definitions_diff_command() {
  return {
      "definitions diff", "compare a document of definitions with the cluster",
      std::string(kDocument) +
          "`+` is in the document only, `-` in the cluster only, `~` in both and different.\n"
          "\n"
          "Exit codes beside the usual ones: 0 no difference, 1 some; 64 the document is wrong.\n"
          "\n"
          "Example:\n  segue definitions diff definitions.json\n",
      [] { return std::make_unique<DefinitionsDiff>(); }};
}

}  // namespace segue::cli
