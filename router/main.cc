#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "common/config.h"
#include "common/logging.h"
#include "common/zmq_socket.h"
#include "router/router_process.h"
#include "router/version.h"

namespace {

// As sysexits.h has them, and as segue-node uses them.
constexpr int kUsage = 64;
constexpr int kSystem = 71;
constexpr int kConfig = 78;

int run(const segue::ClusterConfig& config, const std::string& router_id,
        segue::ShutdownSignals& signals) {
  using segue::LogFormat;
  segue::SystemClock clock;
  segue::Logger::Options options;
  options.level = segue::log_level_from_name(config.logging.level).value_or(options.level);
  const auto format = config.logging.format == "json" ? LogFormat::kJson : LogFormat::kText;
  segue::Logger log(segue::stderr_log_sink(format), clock, options);
  segue::router::RouterProcess process(config, router_id, log);
  const segue::Status started = process.start();
  if (!started) {
    log.error("router_failed", {{"router", router_id}, {"reason", started.message()}});
    return kSystem;
  }
  process.run(signals);
  log.flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "segue-router: takes clients' connections and passes their work to the cluster's nodes.\n"
      "Exit codes: 0 stopped by a signal, 64 wrong arguments, 71 the system refused something\n"
      "(such as the endpoint), 78 the configuration is wrong.",
      "segue-router");
  std::string config_path;
  std::string router_id;
  bool check_only = false;
  app.add_option("-c,--config", config_path, "the cluster's YAML file")->required();
  app.add_option("-i,--id", router_id, "which of the file's routers this one is")->required();
  app.add_flag("--check", check_only, "look at the configuration only, and exit");
  app.set_version_flag("--version", std::string(segue::router::kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }

  const auto config = segue::load_cluster_config(config_path, segue::process_environment());
  if (!config) {
    std::fprintf(stderr, "segue-router: %s\n", config.status().message().c_str());
    return kConfig;
  }
  if (config->find_router(router_id) == nullptr) {
    std::fprintf(stderr, "segue-router: there is no router '%s' in %s; there are: %s\n",
                 router_id.c_str(), config_path.c_str(), config->router_ids().c_str());
    return kConfig;
  }
  if (check_only) {
    std::printf("%s: valid; router %s listens on %s\n", config_path.c_str(), router_id.c_str(),
                config->find_router(router_id)->listen.c_str());
    return 0;
  }
  segue::ShutdownSignals signals;
  return run(config.value(), router_id, signals);
}
