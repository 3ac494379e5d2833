#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/cluster_definitions.h"
#include "cli/commands/commands.h"
#include "cli/definitions_import.h"
#include "cli/exit_codes.h"
#include "cli/input_file.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/definitions.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

constexpr const char* kDocument =
    "The document is JSON or YAML: exchanges, queues, bindings and policies of one virtual host,\n"
    "or of several with their limits, but not what a cluster has by itself (the default exchange,\n"
    "amq.*), nor queues of single sessions or with names that a server has made, nor messages.\n";

class DefinitionsExport final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.choice(format_, {"format", 0, "FORMAT", "json or yaml (json)"}, {"json", "yaml"});
    options.flag(all_vhosts_, {"all-vhosts", 0, "",
                               "all virtual hosts with their limits, and not only the session's"});
  }
  int run_with(Console& console, client::Connection& connection) override {
    VhostSessions sessions(console, session_options_, connection, notes_);
    Definitions definitions;
    std::set<std::string> vhosts{sessions.home()};
    if (all_vhosts_) {
      const auto listed = add_vhosts(connection, definitions);
      if (!listed) return report(console, "list the virtual hosts", listed.error());
      for (const auto& [name, vhost] : definitions.vhosts) vhosts.insert(name);
    }
    for (const std::string& vhost : vhosts) {
      int exit_code = kExitOk;
      client::Connection* const in = sessions.in(vhost, exit_code);
      if (in == nullptr) return exit_code;
      std::vector<std::string> unnamed;
      const auto added = add_definitions(*in, vhost, definitions, &unnamed);
      if (!added) return report(console, "export the definitions", added.error());
      for (const std::string& name : unnamed) {
        console.note("segue: left out queue '" + printable(name) +
                     "' and its bindings: a server made its name, and no other can be given it");
      }
    }
    console.write(format_ == "yaml" ? definitions_yaml(definitions)
                                    : definitions_json(definitions));
    return kExitOk;
  }

 private:
  std::string format_ = "json";
  bool all_vhosts_ = false;
};

/// What reads a document has in common.
class WithDocument : public SessionCommand {
 protected:
  void declare_document(OptionTable& options) {
    options.positional(path_, {"FILE", "the document (standard input)", false});
    options.text(from_vhost_,
                 {"from-vhost", 0, "NAME",
                  "of a document of RabbitMQ: the virtual host whose objects to take (/)"});
    options.flag(all_vhosts_, {"all-vhosts", 0, "",
                               "of a document of RabbitMQ: all virtual hosts, each to the one of "
                               "its name"});
    options.flag(json_, {"json", 0, "", "report as JSON"});
  }
  static Status check_document(const OptionTable& options) {
    if (!options.given("from-vhost") || !options.given("all-vhosts")) return Status::ok();
    return Status(Code::kInvalidConfig, "--from-vhost and --all-vhosts exclude each other");
  }
  /// Nothing, and the exit code, when it cannot be read.
  std::optional<ReadDefinitions> read(Console& console, const std::string& home, int& exit_code) {
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
    ReadDefinitionsOptions options;
    options.vhost = home;
    options.name = path_.empty() || path_ == "-" ? "standard input" : path_;
    if (!all_vhosts_) options.from_vhost = from_vhost_;
    auto read = read_definitions(text, options);
    if (!read) {
      exit_code = fail(console, read.status().message(), kExitUsage);
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
  std::string from_vhost_ = "/";
  bool all_vhosts_ = false;
  bool json_ = false;
};

class ImportCommand final : public WithDocument {
 protected:
  void declare_own(OptionTable& options) override {
    declare_document(options);
    options.flag(update_, {"update", 0, "",
                           "change arguments of queues that exist, as `queue declare --update` "
                           "does, replace policies, and change limits of virtual hosts"});
    options.flag(dry_run_, {"dry-run", 0, "", "only say what is missing and what is different"});
    options.duration(
        wait_, {"wait", 'w', "TIME", "wait so long for a cluster that is starting, e.g. 60s (0s)"});
  }
  Status check(const OptionTable& options) override {
    session_options_.timeout = std::max(session_options_.timeout, wait_);
    return check_document(options);
  }

  int run_with(Console& console, client::Connection& connection) override {
    int exit_code = kExitOk;
    VhostSessions sessions(console, session_options_, connection, notes_);
    const auto document = read(console, sessions.home(), exit_code);
    if (!document) return exit_code;
    if (!wait_until_up(console, connection)) return kExitInterrupted;
    const std::size_t left_out = tell(console, *document);
    const Definitions& wanted = document->definitions;
    const auto before =
        current_definitions(console, sessions, vhosts_of(wanted, sessions.home()), exit_code);
    if (!before) return exit_code;
    if (dry_run_) {
      tell_differences(console, *document, compare_definitions(wanted, *before, sessions.home()),
                       objects_of(wanted, sessions.home()).size(), left_out);
      return kExitOk;
    }
    DefinitionsImport importing(console, sessions, {update_});
    importing.plan(wanted, *before);
    importing.run([&](const std::string& object, const std::string& why) {
      if (!json()) console.write("refused   " + object + ": " + printable(why) + "\n");
    });
    write_report(console, *document, importing, left_out);
    if (importing.exit_code()) return *importing.exit_code();
    if (importing.failure()) return report(console, "import the definitions", *importing.failure());
    if (console.stop_requested()) return kExitInterrupted;
    return importing.refusals().empty() ? kExitOk : kExitRefused;
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
  void tell_differences(Console& console, const ReadDefinitions& document,
                        const DefinitionDifferences& differences, std::size_t all,
                        std::size_t left_out) const {
    const std::size_t equal = all - differences.missing.size() - differences.different.size();
    if (json()) {
      JsonWriter json;
      json.begin_object().field("dry_run", true);
      write_lines(json, "missing", differences.missing);
      write_lines(json, "different", differences.different);
      json.field("equal", std::uint64_t{equal}).field("left_out", std::uint64_t{left_out});
      write_notes(json, document);
      console.write(json.end_object().take() + "\n");
      return;
    }
    for (const std::string& line : differences.missing) console.write("+ " + line + "\n");
    for (const std::string& line : differences.different) console.write("~ " + line + "\n");
    console.write(grouped(differences.missing.size()) + " missing, " +
                  grouped(differences.different.size()) + " different, " + grouped(equal) +
                  " equal, " + grouped(left_out) + " left out; whether the cluster takes what is " +
                  "missing or different shows when it is imported\n");
  }
  void write_report(Console& console, const ReadDefinitions& document,
                    const DefinitionsImport& importing, std::size_t left_out) const {
    if (!json()) {
      console.write(
          grouped(importing.made()) + " made, " + grouped(importing.changed()) + " changed, " +
          grouped(importing.equal()) + " equal, " + grouped(importing.refusals().size()) +
          " refused, " + grouped(left_out) + " left out" +
          (importing.not_done() > 0 ? ", " + grouped(importing.not_done()) + " not done" : "") +
          "\n");
      return;
    }
    JsonWriter json;
    json.begin_object().field("dry_run", false);
    json.field("made", std::uint64_t{importing.made()});
    json.field("changed", std::uint64_t{importing.changed()});
    json.field("equal", std::uint64_t{importing.equal()});
    json.field("refused", std::uint64_t{importing.refusals().size()});
    json.field("left_out", std::uint64_t{left_out});
    json.field("not_done", std::uint64_t{importing.not_done()});
    json.key("refusals").begin_array();
    for (const auto& [object, text] : importing.refusals()) {
      json.begin_object().field("object", object).field("text", text).end_object();
    }
    json.end_array();
    write_notes(json, document);
    console.write(json.end_object().take() + "\n");
  }

  std::chrono::milliseconds wait_{0};
  bool update_ = false;
  bool dry_run_ = false;
};  // namespace

class DefinitionsDiff final : public WithDocument {
 protected:
  void declare_own(OptionTable& options) override { declare_document(options); }
  Status check(const OptionTable& options) override { return check_document(options); }

  int run_with(Console& console, client::Connection& connection) override {
    int exit_code = kExitOk;
    VhostSessions sessions(console, session_options_, connection, notes_);
    const auto document = read(console, sessions.home(), exit_code);
    if (!document) return exit_code;
    tell(console, *document);
    const Definitions& wanted = document->definitions;
    const auto current =
        current_definitions(console, sessions, vhosts_of(wanted, sessions.home()), exit_code);
    if (!current) return exit_code;
    const DefinitionDifferences differences =
        compare_definitions(wanted, *current, sessions.home());
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
    if (differences.none()) console.write("no difference\n");
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
              "  segue definitions export --format yaml > definitions.yaml\n"
              "  segue definitions export --all-vhosts > definitions.json\n",
          [] { return std::make_unique<DefinitionsExport>(); }};
}

CommandEntry definitions_import_command() {
  return {
      "definitions import", "declare what a document of definitions has",
      std::string(kDocument) +
          "Virtual hosts of the document are made first; what says no virtual host goes to that "
          "of\n"
          "the session (--vhost).\n"
          "What is there already with equal settings stays as it is, so importing twice does no\n"
          "harm. What is there with others is refused (but see --update), and\n"
          "nothing is ever deleted. What is refused is told, and the rest goes on. A cluster "
          "makes\n"
          "documents by itself when it starts, if its configuration names them (the key\n"
          "definitions).\n"
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
          "  segue definitions import rabbit.json --from-vhost shop\n"
          "  segue definitions import rabbit.json --all-vhosts\n",
      [] { return std::make_unique<ImportCommand>(); }};
}

CommandEntry definitions_diff_command() {
  return {
      "definitions diff", "compare a document of definitions with the cluster",
      std::string(kDocument) +
          "`+` is in the document only, `-` in the cluster only, `~` in both and different. The\n"
          "virtual hosts that the document has are compared, else that of the session.\n"
          "\n"
          "Exit codes beside the usual ones: 0 no difference, 1 some; 64 the document is wrong.\n"
          "\n"
          "Example:\n  segue definitions diff definitions.json\n",
      [] { return std::make_unique<DefinitionsDiff>(); }};
}

}  // namespace segue::cli
