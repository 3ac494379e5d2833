#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>

#include "common/config.h"
#include "common/descriptor_limit.h"
#include "common/logging.h"
#include "common/memory_trim.h"
#include "common/program_error.h"
#include "common/protobuf_setup.h"
#include "common/zmq_socket.h"
#include "router/router_process.h"

namespace {

using segue::ClusterConfig;
using segue::Logger;
using segue::Status;

// The program's exit codes (docs/operations.md); the numbers are those of sysexits.h.
constexpr int kOk = 0;
constexpr int kUsage = 64;
constexpr int kUnavailable = 69;
constexpr int kConfig = 78;

// Files and sockets that are no clients, with room to spare.
constexpr std::uint64_t kOwnDescriptors = 128;

constexpr const char* kFooter =
    "The configuration describes the whole cluster; the router finds itself in it by its id. It "
    "keeps\n"
    "nothing on disk. SIGTERM or SIGINT stops it cleanly: what is on its way to nodes is still\n"
    "confirmed, then clients are told to go elsewhere. A second signal stops it at once.\n"
    "\n"
    "Exit codes:\n"
    "   0  stopped by a signal, or the configuration is valid (--check)\n"
    "  64  wrong arguments\n"
    "  69  cannot listen on its endpoint\n"
    "  78  the configuration is wrong\n"
    "\n"
    "Example:\n"
    "  segue-router --config cluster.yaml --id r1\n";

struct Arguments {
  std::string config;
  std::string id;
  std::string log_level;
  bool check = false;
};

void complain(const std::string& text) {
  segue::tell_program_error("segue-router", text);
}

/// An exit code when there is nothing to run.
std::optional<int> parse(int argc, char** argv, Arguments& arguments) {
  CLI::App app(
      "segue-router: a router of a Segue cluster. Takes clients' connections and passes their work "
      "to the nodes.");
  app.footer(kFooter);
  app.add_option("-c,--config", arguments.config, "The cluster's YAML file")
      ->required()
      ->type_name("FILE");
  app.add_option("-i,--id", arguments.id, "Which of the file's routers this is")->type_name("ID");
  app.add_option("--log-level", arguments.log_level,
                 "trace, debug, info, warn, error or off; goes before the file's logging.level")
      ->type_name("LEVEL");
  app.add_flag("--check", arguments.check,
               "Only check the configuration: prints what is wrong and where");
  app.set_version_flag("--version", "segue-router " SEGUE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    complain(std::string(error.what()) + "; --help tells more");
    return kUsage;
  }
  if (arguments.id.empty() && !arguments.check) {
    complain("--id is required: which of the configuration's routers is this?");
    return kUsage;
  }
  if (!arguments.log_level.empty() && !segue::log_level_from_name(arguments.log_level)) {
    complain("--log-level is '" + arguments.log_level +
             "'; it must be trace, debug, info, warn, error or off");
    return kUsage;
  }
  return std::nullopt;
}

/// The configuration, or nothing after it was said what is wrong.
std::optional<ClusterConfig> load(const Arguments& arguments) {
  segue::Result<ClusterConfig> config =
      segue::load_cluster_config(arguments.config, segue::process_environment());
  if (!config.is_ok()) {
    complain(config.status().message());
    return std::nullopt;
  }
  if (!arguments.id.empty() && config->find_router(arguments.id) == nullptr) {
    complain(arguments.config + ": there is no router '" + arguments.id + "'; there are " +
             config->router_ids());
    return std::nullopt;
  }
  return std::move(config).value();
}

int run(const ClusterConfig& config, const Arguments& arguments) {
  segue::ShutdownSignals signals;
  const segue::SystemClock clock;
  Logger::Options log_options;
  const std::string& level =
      arguments.log_level.empty() ? config.logging.level : arguments.log_level;
  log_options.level = segue::log_level_from_name(level).value_or(segue::LogLevel::kInfo);
  Logger log(segue::stderr_log_sink(config.logging.format == "json" ? segue::LogFormat::kJson
                                                                    : segue::LogFormat::kText),
             clock, log_options);
  const std::uint64_t descriptors = segue::raise_descriptor_limit();
  if (descriptors < config.limits.max_sessions + kOwnDescriptors) {
    log.warn("few_descriptors", {{"limit", descriptors},
                                 {"max_sessions", config.limits.max_sessions},
                                 {"advice",
                                  "raise the hard limit (ulimit -Hn, LimitNOFILE) or "
                                  "lower limits.max_sessions"}});
  }
  segue::configure_allocator(config.limits.router_delivery_bytes);
  segue::router::RouterProcess process(config, arguments.id, log);
  if (const Status started = process.start(); !started.is_ok()) {
    log.error("router_not_started", {{"router", arguments.id}, {"reason", started}});
    log.flush();
    return kUnavailable;
  }
  process.run(signals);
  log.info("router_stopped", {{"router", arguments.id}});
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
    std::printf("%s is valid: %s\n", arguments.config.c_str(), config->summary().c_str());
    return kOk;
  }
  return run(*config, arguments);
}
