#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/definitions.h"
#include "cli/exit_codes.h"
#include "cli/input_file.h"
#include "cli/json_output.h"
#include "cli/session.h"
#include "cli/table_output.h"

namespace segue::cli {

namespace {

constexpr const char* kDocument =
    "The document is JSON or YAML: exchanges, queues, bindings and policies, but not what a "
    "cluster\n"
    "has by "
    "itself\n"
    "(the default exchange, amq.*), nor queues of single sessions or with names that a server has\n"
    "made, nor messages.\n";

/// Declares that may be on their way at a time.
constexpr std::size_t kWindow = 500;

/// What the cluster has, as a document has it. `unnamed` gets the names of queues that cannot be in
/// one: nobody but a server can give them.
client::Result<Definitions> definitions_of(client::Connection& connection,
                                           std::vector<std::string>* unnamed = nullptr) {
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
    if (queue.exclusive) continue;
    if (queue.name.starts_with("amq.")) {
      if (unnamed != nullptr) unnamed->push_back(queue.name);
      continue;
    }
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
  auto policies = connection.admin().list_all_policies();
  if (!policies) return policies.error();
  for (client::PolicyDescription& policy : *policies) {
    definitions.policies[policy.name] = std::move(policy);
  }
  return definitions;
}

class DefinitionsExport final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.choice(format_, {"format", 0, "FORMAT", "json or yaml (json)"}, {"json", "yaml"});
  }
  int run_with(Console& console, client::Connection& connection) override {
    std::vector<std::string> unnamed;
    const auto definitions = definitions_of(connection, &unnamed);
    if (!definitions) return report(console, "export the definitions", definitions.error());
    for (const std::string& name : unnamed) {
      console.note("segue: left out queue '" + printable(name) +
                   "' and its bindings: a server made its name, and no other can be given it");
    }
    console.write(format_ == "yaml" ? definitions_yaml(*definitions)
                                    : definitions_json(*definitions));
    return kExitOk;
  }

 private:
  std::string format_ = "json";
};

/// What reads a document has in common.
class WithDocument : public SessionCommand {
 protected:
  void declare_document(OptionTable& options) {
    options.positional(path_, {"FILE", "the document (standard input)", false});
    options.text(vhost_, {"from-vhost", 0, "NAME",
                          "of a document of RabbitMQ: the virtual host whose objects to take (/)"});
    options.flag(json_, {"json", 0, "", "report as JSON"});
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
  std::size_t tell(Console& console, const ReadDefinitions& read) const {
    std::size_t left_out = 0;
    for (const DefinitionNote& note : read.notes) {
      left_out += note.left_out ? 1 : 0;
      if (json_) continue;
      console.write((note.left_out ? "left out  " : "adapted   ") + note.object + ": " + note.text +
                    "\n");
    }
    return left_out;
  }
  bool json() const { return json_; }
  static void write_notes(JsonWriter& json, const ReadDefinitions& read) {
    json.key("notes").begin_array();
    for (const DefinitionNote& note : read.notes) {
      json.begin_object().field("object", note.object).field("text", note.text);
      json.field("left_out", note.left_out).end_object();
    }
    json.end_array();
  }
  static void write_lines(JsonWriter& json, const char* name,
                          const std::vector<std::string>& lines) {
    json.key(name).begin_array();
    for (const std::string& line : lines) json.value(line);
    json.end_array();
  }

 private:
  std::string path_;
  std::string vhost_ = "/";
  bool json_ = false;
};

class DefinitionsImport final : public WithDocument {
 protected:
  void declare_own(OptionTable& options) override {
    declare_document(options);
    options.flag(update_, {"update", 0, "",
                           "change arguments of queues that exist, as `queue declare --update` "
                           "does"});
    options.flag(dry_run_, {"dry-run", 0, "", "only say what is missing and what is different"});
    options.duration(
        wait_, {"wait", 'w', "TIME", "wait so long for a cluster that is starting, e.g. 60s (0s)"});
  }
  Status check(const OptionTable& /*options*/) override {
    session_options_.timeout = std::max(session_options_.timeout, wait_);
    return Status::ok();
  }

  int run_with(Console& console, client::Connection& connection) override {
    int exit_code = kExitOk;
    const auto document = read(console, exit_code);
    if (!document) return exit_code;
    if (!wait_until_up(console, connection)) return kExitInterrupted;
    const std::size_t left_out = tell(console, *document);
    const auto before = definitions_of(connection);
    if (!before) return report(console, "look at what there is", before.error());
    const DefinitionDifferences differences = compare_definitions(document->definitions, *before);
    const std::size_t all = size_of(document->definitions);
    const std::size_t equal = all - differences.missing.size() - differences.different.size();
    if (dry_run_ && json()) {
      JsonWriter json;
      json.begin_object().field("dry_run", true);
      write_lines(json, "missing", differences.missing);
      write_lines(json, "different", differences.different);
      json.field("equal", std::uint64_t{equal}).field("left_out", std::uint64_t{left_out});
      write_notes(json, *document);
      console.write(json.end_object().take() + "\n");
      return kExitOk;
    }
    if (dry_run_) {
      for (const std::string& line : differences.missing) console.write("+ " + line + "\n");
      for (const std::string& line : differences.different) console.write("~ " + line + "\n");
      console.write(grouped(differences.missing.size()) + " missing, " +
                    grouped(differences.different.size()) + " different, " + grouped(equal) +
                    " equal, " + grouped(left_out) +
                    " left out; whether the cluster takes what is " +
                    "missing or different shows when it is imported\n");
      return kExitOk;
    }
    declare_all(connection, document->definitions, *before);
    finish_all(console);
    if (json()) {
      write_report(console, *document, equal, left_out);
    } else {
      console.write(grouped(made_) + " made, " + grouped(changed_) + " changed, " + grouped(equal) +
                    " equal, " + grouped(refused_) + " refused, " + grouped(left_out) +
                    " left out\n");
    }
    if (failed_) return report(console, "import the definitions", *failed_);
    if (console.stop_requested()) return kExitInterrupted;
    return refused_ > 0 ? kExitRefused : kExitOk;
  }

 private:
  /// Until declares can succeed: the catalog has its leader. False: interrupted.
  bool wait_until_up(Console& console, client::Connection& connection) const {
    const auto end = std::chrono::steady_clock::now() + wait_;
    while (std::chrono::steady_clock::now() < end) {
      const auto status = connection.admin().cluster_status();
      if (status && status->catalog_available) return true;
      if (console.stop_requested()) return false;
      console.wait_readable(-1, 100);
    }
    return true;
  }
  void write_report(Console& console, const ReadDefinitions& document, std::size_t equal,
                    std::size_t left_out) const {
    JsonWriter json;
    json.begin_object().field("dry_run", false);
    json.field("made", std::uint64_t{made_}).field("changed", std::uint64_t{changed_});
    json.field("equal", std::uint64_t{equal}).field("refused", std::uint64_t{refused_});
    json.field("left_out", std::uint64_t{left_out});
    json.key("refusals").begin_array();
    for (const auto& [object, text] : refusals_) {
      json.begin_object().field("object", object).field("text", text).end_object();
    }
    json.end_array();
    write_notes(json, document);
    console.write(json.end_object().take() + "\n");
  }
  static std::size_t size_of(const Definitions& definitions) {
    Definitions nothing;
    return compare_definitions(definitions, nothing).missing.size();
  }

  struct Job {
    std::string object;
    bool exists = false;
    bool binding = false;
    std::function<std::function<client::Status()>()> ask;  // gives what waits for the answer
  };

  /// Only what is not equal already.
  void declare_all(client::Connection& connection, const Definitions& wanted,
                   const Definitions& current) {
    client::Admin& admin = connection.admin();
    for (const auto& [name, options] : wanted.exchanges) {
      const auto found = current.exchanges.find(name);
      const bool exists = found != current.exchanges.end();
      if (exists && equal_options(options, found->second)) continue;
      add({"exchange '" + printable(name) + "'", exists, false,
           [&admin, name = name, options = options] {
             return waiting_for(admin.declare_exchange_async(name, options));
           }});
    }
    for (const auto& [name, wanted_options] : wanted.queues) {
      const auto found = current.queues.find(name);
      const bool exists = found != current.queues.end();
      if (exists && equal_options(wanted_options, found->second)) continue;
      client::QueueOptions options = wanted_options;
      options.update = update_;
      add({"queue '" + printable(name) + "'", exists, false, [&admin, name = name, options] {
             return waiting_for(admin.declare_queue_async(name, options));
           }});
    }
    add_policies(admin, wanted, current);
    for (const client::Binding& binding : missing_bindings(wanted, current)) {
      add({binding_text(binding), false, true,
           [&admin, binding] { return waiting_for(admin.bind_async(binding)); }});
    }
  }
  /// Also those that are there with others: that is what setting a policy is.
  void add_policies(client::Admin& admin, const Definitions& wanted, const Definitions& current) {
    for (const auto& [name, policy] : wanted.policies) {
      const auto found = current.policies.find(name);
      const bool exists = found != current.policies.end();
      if (exists && equal_options(policy, found->second)) continue;
      add({"policy '" + printable(name) + "'", exists, false,
           [&admin, policy = policy] { return waiting_for(admin.set_policy_async(policy)); }});
    }
  }
  template <typename Options>
  static bool equal_options(const Options& wanted, const Options& current) {
    Definitions one;
    Definitions other;
    put(one, wanted);
    put(other, current);
    return compare_definitions(one, other).none();
  }
  static void put(Definitions& to, const client::ExchangeOptions& options) {
    to.exchanges["e"] = options;
  }
  static void put(Definitions& to, const client::QueueOptions& options) {
    to.queues["q"] = options;
  }
  static void put(Definitions& to, const client::PolicyDescription& policy) {
    to.policies["p"] = policy;
  }
  template <typename Answer>
  static std::function<client::Status()> waiting_for(std::future<Answer> future) {
    auto answer = std::make_shared<std::future<Answer>>(std::move(future));
    return [answer]() -> client::Status {
      const Answer got = answer->get();
      if (!got) return got.error();
      return {};
    };
  }
  void add(Job job) { jobs_.push_back(std::move(job)); }

  /// Some at a time; bindings when what they bind is there.
  void finish_all(Console& console) {
    std::deque<std::pair<const Job*, std::function<client::Status()>>> waiting;
    const auto finish_one = [&] {
      const auto [job, wait] = std::move(waiting.front());
      waiting.pop_front();
      finished(console, *job, wait());
    };
    bool binding = false;
    for (const Job& job : jobs_) {
      if (failed_ || console.stop_requested()) break;
      if (job.binding != std::exchange(binding, job.binding)) {
        while (!waiting.empty()) finish_one();
      }
      if (waiting.size() >= kWindow) finish_one();
      waiting.emplace_back(&job, job.ask());
    }
    while (!waiting.empty()) finish_one();
  }
  void finished(Console& console, const Job& job, const client::Status& status) {
    if (status) {
      ++(job.exists ? changed_ : made_);
    } else if (status.error().code == client::ErrorCode::kPreconditionFailed ||
               status.error().code == client::ErrorCode::kNotFound ||
               status.error().code == client::ErrorCode::kAccessRefused ||
               status.error().code == client::ErrorCode::kResourceLocked) {
      ++refused_;
      refusals_.emplace_back(job.object, status.error().text);
      if (!json())
        console.write("refused   " + job.object + ": " + printable(status.error().text) + "\n");
    } else if (!failed_) {
      failed_ = status.error();  // nothing else can be done either
    }
  }

  std::chrono::milliseconds wait_{0};
  std::vector<Job> jobs_;
  std::vector<std::pair<std::string, std::string>> refusals_;
  std::size_t made_ = 0;
  std::size_t changed_ = 0;
  std::size_t refused_ = 0;
  std::optional<client::Error> failed_;
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
    if (json()) {
      JsonWriter json;
      json.begin_object();
      write_lines(json, "missing", differences.missing);
      write_lines(json, "surplus", differences.surplus);
      write_lines(json, "different", differences.different);
      write_notes(json, *document);
      console.write(json.end_object().take() + "\n");
      return differences.none() ? kExitOk : kExitRefused;
    }
    for (const std::string& line : differences.missing) console.write("+ " + line + "\n");
    for (const std::string& line : differences.surplus) console.write("- " + line + "\n");
    for (const std::string& line : differences.different) console.write("~ " + line + "\n");
    return differences.none() ? kExitOk : kExitRefused;
  }
};

}  // namespace

CommandEntry definitions_export_command() {
  return {"definitions export", "write down the exchanges, queues, bindings and policies",
          std::string(kDocument) +
              "\nExample:\n  segue definitions export > definitions.json\n"
              "  segue definitions export --format yaml > definitions.yaml\n",
          [] { return std::make_unique<DefinitionsExport>(); }};
}

CommandEntry definitions_import_command() {
  return {
      "definitions import", "declare what a document of definitions has",
      std::string(kDocument) +
          "What is there already with equal settings stays as it is, so importing twice does no\n"
          "harm: with --wait it can be a step of starting a cluster. What is there with others is\n"
          "refused (but see --update), a policy is replaced, and nothing is ever deleted.\n"
          "A document that RabbitMQ exported (rabbitmqctl export_definitions, or its\n"
          "management page) can be imported too: what was adapted and what was left out is\n"
          "told. Users and permissions are left out.\n"
          "\n"
          "Exit codes beside the usual ones: 1 something was refused; 64 the document is wrong.\n"
          "\n"
          "Examples:\n"
          "  segue definitions import definitions.json\n"
          "  segue definitions import --dry-run < definitions.json\n"
          "  segue definitions import --wait 60s definitions.yaml\n"
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
