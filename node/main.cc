#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "common/config.h"
#include "common/descriptor_limit.h"
#include "common/logging.h"
#include "common/protobuf_setup.h"
#include "common/zmq_socket.h"
#include "node/memory_trim.h"
#include "node/node.h"
#include "storage/posix_file_system.h"

namespace {

using segue::ClusterConfig;
using segue::Logger;
using segue::Status;

// The program's exit codes (docs/operations.md); the numbers are those of sysexits.h.
constexpr int kOk = 0;
constexpr int kUsage = 64;
constexpr int kUnavailable = 69;
constexpr int kStorage = 71;
constexpr int kDataDirectory = 73;
constexpr int kConfig = 78;

constexpr const char* kFooter =
    "The configuration describes the whole cluster; the node finds itself in it by its id and "
    "keeps\n"
    "its data in the directory that stands there. SIGTERM or SIGINT stops it cleanly,\n"
    "a second signal at once; nothing confirmed is lost by that either.\n"
    "\n"
    "Exit codes:\n"
    "   0  stopped by a signal, or the configuration is valid (--check)\n"
    "  64  wrong arguments\n"
    "  69  cannot listen on its endpoint\n"
    "  71  the disk fails, is full, or what is on it is damaged\n"
    "  73  the data directory is in use, or another node's or cluster's\n"
    "  78  the configuration is wrong\n"
    "\n"
    "Example:\n"
    "  segue-node --config cluster.yaml --id n1\n";

struct Arguments {
  std::string config;
  std::string id;
  std::string log_level;
  bool check = false;
};

/// An exit code when there is nothing to run.
std::optional<int> parse(int argc, char** argv, Arguments& arguments) {
  CLI::App app(
      "segue-node: a node of a Segue cluster. Holds shards: queues, their messages, and "
      "a copy of the catalog.");
  app.footer(kFooter);
  app.add_option("-c,--config", arguments.config, "The cluster's YAML file")
      ->required()
      ->type_name("FILE");
  app.add_option("-i,--id", arguments.id, "Which of the file's nodes this is")->type_name("ID");
  app.add_option("--log-level", arguments.log_level,
                 "trace, debug, info, warn, error or off; goes before the file's logging.level")
      ->type_name("LEVEL");
  app.add_flag("--check", arguments.check,
               "Only check the configuration: prints what is wrong and where");
  app.set_version_flag("--version", "segue-node " SEGUE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  if (arguments.id.empty() && !arguments.check) {
    std::fprintf(stderr, "--id is required: which of the configuration's nodes is this?\n");
    return kUsage;
  }
  if (!arguments.log_level.empty() && !segue::log_level_from_name(arguments.log_level)) {
    std::fprintf(stderr, "--log-level is '%s'; it must be trace, debug, info, warn, error or off\n",
                 arguments.log_level.c_str());
    return kUsage;
  }
  return std::nullopt;
}

constexpr std::string_view kDamageAdvice =
    "restore the node's data directory from a backup, or give up the messages on this node and "
    "start it on an empty directory; docs/operations.md, section 'A damaged data directory'";

/// The configuration, or nothing after it was said what is wrong.
std::optional<ClusterConfig> load(const Arguments& arguments) {
  segue::Result<ClusterConfig> config =
      segue::load_cluster_config(arguments.config, segue::process_environment());
  if (!config.is_ok()) {
    std::fprintf(stderr, "%s\n", config.status().message().c_str());
    return std::nullopt;
  }
  if (!arguments.id.empty() && config->find_node(arguments.id) == nullptr) {
    std::fprintf(stderr, "%s: there is no node '%s'; there are %s\n", arguments.config.c_str(),
                 arguments.id.c_str(), config->node_ids().c_str());
    return std::nullopt;
  }
  return std::move(config).value();
}

int run(const ClusterConfig& config, const Arguments& arguments) {
  segue::node::configure_allocator();
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
  segue::node::Node node({config, arguments.id, context, files, signals, clock, random, log});

  segue::node::StartFailure failure{};
  if (const Status started = node.start(failure); !started.is_ok()) {
    log.error("node_not_started", {{"node", arguments.id}, {"reason", started}});
    if (started.code() == segue::Code::kCorruption) {
      log.error("what_to_do", {{"node", arguments.id}, {"advice", kDamageAdvice}});
    }
    log.flush();
    switch (failure) {
      case segue::node::StartFailure::kDataDirectory:
        return kDataDirectory;
      case segue::node::StartFailure::kStorage:
        return kStorage;
      case segue::node::StartFailure::kListen:
        return kUnavailable;
    }
  }
  node.run();
  log.info("node_stopped", {{"node", arguments.id}});
  log.flush();
  return kOk;
}

}  // namespace

int main(int argc, char** argv) {
  segue::silence_protobuf();
  Arguments arguments;
  if (const std::optional<int> code = parse(argc, argv, arguments)) return *code;
  const std::optional<ClusterConfig> config = load(arguments);
  if (!config.has_value()) return kConfig;
  if (arguments.check) {
    std::printf("%s is valid: cluster '%s', %zu routers, %zu nodes, %u shards\n",
                arguments.config.c_str(), config->cluster.c_str(), config->routers.size(),
                config->nodes.size(), config->shards);
    return kOk;
  }
  return run(*config, arguments);
}
