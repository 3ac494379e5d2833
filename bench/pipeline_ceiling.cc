// What this machine gives to a client, a router and a node in a row that do nothing but what no
// broker can do without: carry the bytes, read and rebuild the header, write and sync, confirm.
// The broker's figures are put beside these. bench/README.md says how.

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "bench/ceiling/load_client.h"
#include "bench/ceiling/stages.h"
#include "bench/ceiling/sync_file.h"
#include "cli/options.h"
#include "common/json_output.h"

namespace segue::bench {
namespace {

struct Settings {
  Load load;
  std::string transport = "tcp";
  std::string directory = ".";
  std::uint64_t file_bytes = 256u << 20;
  bool buffered = false;
  bool json = false;
  bool help = false;
};

void declare(cli::OptionTable& options, Settings& settings) {
  options.size(settings.load.size, {"size", 's', "BYTES", "bytes of a body (1024)"}, 0, 1u << 20);
  options.number(settings.load.batch, {"batch", 'b', "N", "messages in a frame (64)"}, 1, 65536);
  options.number(settings.load.window, {"window", 'w', "N", "unconfirmed messages (1000)"}, 1,
                 1u << 20);
  options.number(settings.load.count, {"count", 'n', "N", "messages; 0: until --seconds (0)"}, 0,
                 UINT64_MAX);
  options.number(settings.load.rate,
                 {"rate", 'r', "N", "messages per second, one in a frame; 0: no limit (0)"}, 0,
                 1'000'000);
  options.duration(settings.load.duration, {"seconds", 0, "TIME", "how long (5s)"});
  options.choice(settings.transport, {"transport", 't', "KIND", "tcp or ipc (tcp)"},
                 {"tcp", "ipc"});
  options.text(settings.directory,
               {"dir", 'd', "PATH", "where the file is written; the disk to measure (.)"});
  options.size(settings.file_bytes, {"file-size", 0, "BYTES", "size of the file (256MiB)"},
               1u << 20, 1ull << 34);
  options.flag(settings.buffered, {"buffered", 0, "", "through the page cache, not O_DIRECT"});
  options.flag(settings.json, {"json", 0, "", "print JSON only"});
  options.flag(settings.help, {"help", 'h', "", "this text"});
}

/// A forked stage of the pipeline.
struct Stage {
  pid_t pid = -1;
  std::string endpoint;
};

// The child dies with this process, whatever happens to it.
Result<Stage> start_stage(const std::function<int(const Listening&)>& run) {
  int ends[2];
  if (::pipe(ends) != 0) return Status(Code::kIoError, "cannot make a pipe");
  const pid_t pid = ::fork();
  if (pid < 0) return Status(Code::kIoError, "cannot fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    const int code = run([&](const std::string& endpoint) {
      if (::write(ends[1], endpoint.data(), endpoint.size()) < 0) std::_Exit(1);
      ::close(ends[1]);
    });
    std::_Exit(code);
  }
  ::close(ends[1]);
  Stage stage{pid, {}};
  char text[512];
  ssize_t size = 0;
  while ((size = ::read(ends[0], text, sizeof text)) > 0) {
    stage.endpoint.append(text, static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  if (stage.endpoint.empty())
    return Status(Code::kIoError, "a stage of the pipeline did not start");
  return stage;
}

double cpu_of(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double wait_for(pid_t pid) {
  rusage usage{};
  int status = 0;
  ::wait4(pid, &status, 0, &usage);
  return cpu_of(usage);
}

double own_cpu() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return cpu_of(usage);
}

struct Cpu {
  double client, router, node;
};

void print(const Settings& settings, const LoadResult& result, const Cpu& cpu) {
  const double per_s = static_cast<double>(result.confirmed) / result.seconds;
  const auto us = [&](double quantile) {
    return static_cast<double>(result.latency_ns.quantile(quantile)) / 1e3;
  };
  JsonWriter json;
  json.begin_object()
      .field("size", settings.load.size)
      .field("batch", settings.load.rate > 0 ? std::uint64_t{1} : settings.load.batch)
      .field("window", settings.load.window)
      .field("rate", settings.load.rate)
      .field("transport", settings.transport)
      .field("direct", !settings.buffered)
      .field("confirmed", result.confirmed)
      .field("seconds", result.seconds)
      .field("publish_per_s", per_s);
  json.key("confirm_latency_us").begin_object();
  json.field("p50", us(0.5)).field("p99", us(0.99)).field("p999", us(0.999));
  json.field("max", static_cast<double>(result.latency_ns.max()) / 1e3).end_object();
  json.key("cpu_seconds").begin_object();
  json.field("client", cpu.client).field("router", cpu.router).field("node", cpu.node).end_object();
  json.end_object();
  if (!settings.json) {
    std::printf("%.0f msg/s of %llu B (%.0f MB/s), confirm p50 %.0f us, p99 %.0f us, max %.0f us\n",
                per_s, static_cast<unsigned long long>(settings.load.size),
                per_s * static_cast<double>(settings.load.size) / 1e6, us(0.5), us(0.99),
                static_cast<double>(result.latency_ns.max()) / 1e3);
  }
  std::printf("%s\n", json.take().c_str());
}

Result<LoadResult> measure(const Settings& settings, Cpu& cpu) {
  const std::string name = settings.directory + "/segue-ceiling." + std::to_string(::getpid());
  Result<SyncFile> file =
      SyncFile::create(name + ".wal", settings.file_bytes,
                       settings.buffered ? SyncFile::Mode::kBuffered : SyncFile::Mode::kDirect);
  if (!file) return file.status();
  const auto listen = [&](const char* stage) {
    if (settings.transport == "tcp") return std::string("tcp://127.0.0.1:*");
    return "ipc:///tmp/segue-ceiling." + std::to_string(::getpid()) + "." + stage;
  };
  Result<Stage> node = start_stage([&](const Listening& listening) {
    return run_node(listen("node"), std::move(*file), listening);
  });
  if (!node) return node.status();
  Result<Stage> router = start_stage([&](const Listening& listening) {
    return run_router(listen("router"), node->endpoint, listening);
  });
  if (!router) {
    ::kill(node->pid, SIGTERM);
    return router.status();
  }
  const double before = own_cpu();
  Result<LoadResult> result = run_load(router->endpoint, settings.load);
  cpu.client = own_cpu() - before;
  if (!result) {
    ::kill(router->pid, SIGTERM);
    ::kill(node->pid, SIGTERM);
  }
  cpu.router = wait_for(router->pid);
  cpu.node = wait_for(node->pid);
  return result;
}

int run(std::span<const std::string> arguments) {
  Settings settings;
  cli::OptionTable options;
  declare(options, settings);
  const Status parsed = options.parse(arguments);
  if (!parsed.is_ok()) {
    std::fprintf(stderr, "pipeline_ceiling: %s\n", parsed.message().c_str());
    return 64;
  }
  if (settings.help) {
    std::printf("Usage: pipeline_ceiling%s\n\n%s", options.usage().c_str(), options.help().c_str());
    return 0;
  }
  if (settings.load.rate > 0) settings.load.batch = 1;
  Cpu cpu{};
  const Result<LoadResult> result = measure(settings, cpu);
  if (!result) {
    std::fprintf(stderr, "pipeline_ceiling: %s\n", result.status().to_string().c_str());
    return 1;
  }
  print(settings, *result, cpu);
  return 0;
}

}  // namespace
}  // namespace segue::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return segue::bench::run(arguments);
}
