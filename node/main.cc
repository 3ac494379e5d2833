#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config.h"
#include "common/descriptor_limit.h"
#include "common/logging.h"
#include "common/memory_trim.h"
#include "common/program_error.h"
#include "common/protobuf_setup.h"
#include "common/zmq_socket.h"
#include "node/backup_run.h"
#include "node/data_check_run.h"
#include "node/data_repair_run.h"
#include "node/exit_codes.h"
#include "node/node.h"
#include "storage/posix_file_system.h"

namespace {

using segue::ClusterConfig;
using segue::Logger;
using segue::Status;
using segue::node::DefinitionsDocument;
using segue::node::StartFailure;

using segue::node::kExitConfig;
using segue::node::kExitDataDirectory;
using segue::node::kExitOk;
using segue::node::kExitStorage;
using segue::node::kExitUnavailable;
using segue::node::kExitUsage;

constexpr const char* kFooter =
    "The configuration describes the whole cluster; the node finds itself in it by its id and "
    "keeps\n"
    "its data in the directory that stands there. SIGTERM or SIGINT stops it cleanly,\n"
    "a second signal at once; nothing confirmed is lost by that either.\n"
    "\n"
    "Exit codes:\n"
    "   0  stopped by a signal, the configuration is valid (--check), or the data is\n"
    "      whole (--check-data)\n"
    "   1  --check-data has found problems, --repair could not repair all, or the backup is\n"
    "      damaged (--restore)\n"
    "   2  --repair has repaired something, and no message is lost\n"
    "   4  --repair: the node starts, but messages are lost, or may be, or are damaged\n"
    "  64  wrong arguments\n"
    "  69  cannot listen on its endpoint\n"
    "  66  --check-data, --back-up, --restore: what is to be read is not there\n"
    "  71  the disk fails, is full, or what is on it is damaged\n"
    "  73  the data directory is in use, or another node's or cluster's\n"
    "  78  the configuration is wrong, or a document of definitions that it names, or the data\n"
    "      directory that it names cannot be made\n"
    "\n"
    "Example:\n"
    "  segue-node --config cluster.yaml --id n1\n"
    "  segue-node --check-data /var/lib/segue/n1\n"
    "  segue-node --check-data /var/lib/segue/n1 --repair --dry-run\n"
    "  segue-node --back-up /var/lib/segue/n1 --to /backup/n1\n";

struct Arguments {
  std::string config;
  std::string id;
  std::string log_level;
  std::vector<std::string> definitions;
  bool check = false;
  std::string check_data;
  bool repair = false;
  bool dry_run = false;
  std::string back_up;
  std::string restore;
  std::string to;
  bool json = false;
};

void complain(const std::string& text) {
  segue::tell_program_error("segue-node", text);
}

/// What the options do not say by themselves.
std::optional<int> check(const Arguments& arguments) {
  if (arguments.dry_run && !arguments.repair) {
    complain("--dry-run goes with --repair only");
    return kExitUsage;
  }
  if (!arguments.back_up.empty() || !arguments.restore.empty()) {
    if (!arguments.to.empty()) return std::nullopt;
    complain("--back-up and --restore need --to: the directory to write to");
    return kExitUsage;
  }
  if (!arguments.check_data.empty()) return std::nullopt;
  if (arguments.repair) {
    complain("--repair goes with --check-data only");
    return kExitUsage;
  }
  if (arguments.config.empty()) {
    complain("--config is required; --help tells more");
    return kExitUsage;
  }
  if (arguments.json) {
    complain("--json goes with --check-data, --back-up and --restore only");
    return kExitUsage;
  }
  if (arguments.id.empty() && !arguments.check) {
    complain("--id is required: which of the configuration's nodes is this?");
    return kExitUsage;
  }
  if (!arguments.log_level.empty() && !segue::log_level_from_name(arguments.log_level)) {
    complain("--log-level is '" + arguments.log_level +
             "'; it must be trace, debug, info, warn, error or off");
    return kExitUsage;
  }
  return std::nullopt;
}

/// An exit code when there is nothing to run.
std::optional<int> parse(int argc, char** argv, Arguments& arguments) {
  CLI::App app(
      "segue-node: a node of a Segue cluster. Holds shards: queues, their messages, and "
      "a copy of the catalog.");
  app.footer(kFooter);
  app.add_option("-c,--config", arguments.config, "The cluster's YAML file")->type_name("FILE");
  app.add_option("-i,--id", arguments.id, "Which of the file's nodes this is")->type_name("ID");
  app.add_option("--log-level", arguments.log_level,
                 "trace, debug, info, warn, error or off; goes before the file's logging.level")
      ->type_name("LEVEL");
  app.add_option(
         "--definitions", arguments.definitions,
         "One more document, beside those of the file's key definitions; may be given again")
      ->type_name("FILE");
  app.add_flag("--check", arguments.check,
               "Only check the configuration, and the definitions that it names: prints what is "
               "wrong and where");
  app.add_option(
         "--check-data", arguments.check_data,
         "Only verify the data directory of a node that does not run, or of all nodes right "
         "below: prints what is damaged, and changes nothing. Needs no configuration")
      ->type_name("DIR");
  app.add_flag("--repair", arguments.repair,
               "With --check-data: makes a directory that the node refuses to start on one that it "
               "starts on, and keeps what it replaces in a folder of it");
  app.add_flag("--dry-run", arguments.dry_run,
               "With --repair: only tells what it would do, and changes nothing");
  app.add_option("--back-up", arguments.back_up,
                 "Only copy the data directory of a node that does not run to the directory --to, "
                 "with a manifest")
      ->type_name("DIR");
  app.add_option("--restore", arguments.restore,
                 "Only make a data directory, --to, out of such a copy")
      ->type_name("BACKUP");
  app.add_option("--to", arguments.to, "With --back-up and --restore: empty, or not there yet")
      ->type_name("DIR");
  app.add_flag("--json", arguments.json, "With --check-data, --back-up, --restore: print JSON");
  app.set_version_flag("--version", "segue-node " SEGUE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    complain(std::string(error.what()) + "; --help tells more");
    return kExitUsage;
  }
  return check(arguments);
}

constexpr std::string_view kDamageAdvice =
    " tells everything that is damaged. Restore the node's data directory from a backup, or let "
    "segue check --repair make of this one what the node starts on (--dry-run: tell only); "
    "docs/operations.md, section 'A damaged data directory'";

constexpr std::string_view kUnmadeAdvice =
    "the data directory cannot be made: point storage.data_dir, or the node's own data_dir, to a "
    "place where this user may write";

/// The configuration, or nothing after it was said what is wrong.
std::optional<ClusterConfig> load(const Arguments& arguments) {
  segue::Result<ClusterConfig> config =
      segue::load_cluster_config(arguments.config, segue::process_environment());
  if (!config.is_ok()) {
    complain(config.status().message());
    return std::nullopt;
  }
  if (!arguments.id.empty() && config->find_node(arguments.id) == nullptr) {
    complain(arguments.config + ": there is no node '" + arguments.id + "'; there are " +
             config->node_ids());
    return std::nullopt;
  }
  return std::move(config).value();
}

/// Tells why the node did not start: the exit code.
int refuse(const Status& reason, StartFailure failure, const std::string& data_dir,
           const std::string& id, Logger& log) {
  std::error_code ignored;
  const bool unmade =
      failure == StartFailure::kStorage && !std::filesystem::is_directory(data_dir, ignored);
  log.error("node_not_started", {{"node", id}, {"reason", reason}});
  if (reason.code() == segue::Code::kCorruption) {
    log.error("what_to_do",
              {{"node", id}, {"advice", "segue check " + data_dir + std::string(kDamageAdvice)}});
  }
  if (unmade) log.error("what_to_do", {{"node", id}, {"advice", kUnmadeAdvice}});
  log.flush();
  if (unmade) return kExitConfig;
  switch (failure) {
    case StartFailure::kDataDirectory:
      return kExitDataDirectory;
    case StartFailure::kStorage:
      return kExitStorage;
    case StartFailure::kListen:
      return kExitUnavailable;
  }
  return kExitStorage;
}

/// The documents that the node makes, or nothing after it was said what is wrong with one.
std::optional<std::vector<DefinitionsDocument>> load_definitions(const ClusterConfig& config,
                                                                 const Arguments& arguments) {
  // Other nodes need not have them.
  if (!arguments.id.empty() && arguments.id != config.catalog_leader) {
    return std::vector<DefinitionsDocument>();
  }
  std::vector<std::string> paths = config.definitions;
  paths.insert(paths.end(), arguments.definitions.begin(), arguments.definitions.end());
  auto documents = segue::node::load_definitions_documents(paths);
  if (documents) return std::move(documents).value();
  complain(documents.status().message());
  return std::nullopt;
}

int run(const ClusterConfig& config, std::vector<DefinitionsDocument> definitions,
        const Arguments& arguments) {
  segue::configure_allocator(config.find_node(arguments.id)->memory_limit);
  segue::raise_descriptor_limit();
  segue::ShutdownSignals signals;
  const segue::SystemClock clock;
  segue::SystemRandom random;
  Logger::Options log_options;
  const std::string& level =
      arguments.log_level.empty() ? config.logging.level : arguments.log_level;
  log_options.level = segue::log_level_from_name(level).value_or(segue::LogLevel::kInfo);
  Logger log(segue::stderr_log_sink(config.logging.format == "json" ? segue::LogFormat::kJson
                                                                    : segue::LogFormat::kText),
             clock, log_options);
  segue::ZmqContext context;
  segue::storage::PosixFileSystem files;
  segue::node::Node node(
      {config, arguments.id, std::move(definitions), context, files, signals, clock, random, log});

  StartFailure failure{};
  if (const Status started = node.start(failure); !started.is_ok()) {
    return refuse(started, failure, config.find_node(arguments.id)->data_dir, arguments.id, log);
  }
  node.run();
  log.info("node_stopped", {{"node", arguments.id}});
  log.flush();
  return kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  segue::silence_protobuf();
  Arguments arguments;
  if (const std::optional<int> code = parse(argc, argv, arguments)) return *code;
  if (arguments.repair) {
    return segue::node::run_data_repair(arguments.check_data, arguments.dry_run, arguments.json);
  }
  if (!arguments.check_data.empty()) {
    return segue::node::run_data_check(arguments.check_data, arguments.json);
  }
  if (!arguments.back_up.empty()) {
    return segue::node::run_backup(arguments.back_up, arguments.to, arguments.json);
  }
  if (!arguments.restore.empty()) {
    return segue::node::run_restore(arguments.restore, arguments.to, arguments.json);
  }
  const std::optional<ClusterConfig> config = load(arguments);
  if (!config.has_value()) return kExitConfig;
  auto definitions = load_definitions(*config, arguments);
  if (!definitions.has_value()) return kExitConfig;
  if (arguments.check) {
    std::printf("%s is valid: %s\n", arguments.config.c_str(), config->summary().c_str());
    return kExitOk;
  }
  return run(*config, std::move(*definitions), arguments);
}
