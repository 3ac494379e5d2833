#include "cli/local_cluster.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>

namespace segue::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A process that ran this long was well: the next death counts as the first.
constexpr seconds kWell{30};
constexpr std::uint32_t kMostFailures = 6;

// 0.5 s, 1 s, 2 s, ... 8 s.
Duration pause_after(std::uint32_t failures) {
  return milliseconds(500) * (1u << std::min(failures - 1, 4u));
}

// What the programs' exit codes say: starting again would end the same way.
bool hopeless(const ChildProcess::End& end) {
  return end.signal == 0 && (end.exit_code == 64 || end.exit_code == 73 || end.exit_code == 78 ||
                             end.exit_code == 127);
}

}  // namespace

std::string last_reason(const std::string& log) {
  std::size_t from = std::string::npos;
  for (const std::string_view key : {"reason=\"", "\"reason\":\""}) {
    const std::size_t at = log.rfind(key);
    if (at == std::string::npos) continue;
    if (from == std::string::npos || at + key.size() > from) from = at + key.size();
  }
  if (from == std::string::npos) return {};
  std::string reason;
  for (std::size_t at = from; at < log.size() && log[at] != '"' && log[at] != '\n'; ++at) {
    if (log[at] == '\\' && at + 1 < log.size()) ++at;
    reason += log[at];
  }
  return reason;
}

std::string own_directory() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return ".";
  const std::string text(path, static_cast<std::size_t>(size));
  return text.substr(0, text.rfind('/'));
}

LocalCluster::LocalCluster(const ClusterConfig& config, Options options)
    : options_(std::move(options)) {
  for (const NodeConfig& node : config.nodes) add(node.id, false);
  for (const RouterConfig& router : config.routers) add(router.id, true);
}

LocalCluster::~LocalCluster() {
  stop(milliseconds(0));
}

void LocalCluster::add(const std::string& id, bool is_router) {
  Slot slot;
  slot.member.id = id;
  slot.member.is_router = is_router;
  if (!options_.log_directory.empty()) slot.member.log = options_.log_directory + "/" + id + ".log";
  slot.command.program = options_.binaries + (is_router ? "/segue-router" : "/segue-node");
  slot.command.arguments = {"--config", options_.config_path, "--id", id};
  if (!is_router) {
    slot.command.arguments.insert(slot.command.arguments.end(), options_.node_arguments.begin(),
                                  options_.node_arguments.end());
  }
  slot.command.log = slot.member.log;
  slots_.push_back(std::move(slot));
}

Status LocalCluster::launch(Slot& slot, TimePoint now) {
  slot.process.reset();
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(slot.member.log, error);
  slot.log_start = error ? 0 : static_cast<std::streamoff>(size);
  Result<ChildProcess> process = ChildProcess::start(slot.command);
  if (!process) return process.status();
  slot.process = std::move(*process);
  slot.member.pid = slot.process->pid();
  slot.started = now;
  return Status::ok();
}

Status LocalCluster::start() {
  const TimePoint now = SystemClock().now();
  for (Slot& slot : slots_) {
    const Status status = launch(slot, now);
    if (!status.is_ok()) {
      stop(seconds(1));
      return status;
    }
  }
  return Status::ok();
}

void LocalCluster::on_death(Slot& slot, const ChildProcess::End& end, TimePoint now,
                            std::vector<Event>& events) {
  if (now - slot.started > kWell) slot.failures = 0;
  ++slot.failures;
  slot.process.reset();
  slot.member.pid = -1;
  const std::string kind = slot.member.is_router ? "router " : "node ";
  std::string text = kind + slot.member.id + " ended: " + end.text();
  slot.gave_up = !options_.restart || hopeless(end) || slot.failures >= kMostFailures;
  if (!slot.gave_up) {
    const Duration pause = pause_after(slot.failures);
    slot.restart_at = now + pause;
    text += "; starting it again in " +
            std::to_string(std::chrono::duration_cast<milliseconds>(pause).count()) + " ms";
  } else if (options_.restart && !hopeless(end)) {
    text += "; it ended " + std::to_string(slot.failures) + " times in a row, giving up";
  }
  events.push_back({slot.gave_up ? Event::Kind::kGaveUp : Event::Kind::kDied, slot.member.id,
                    std::move(text), end.signal == 0 ? end.exit_code : -1});
}

std::vector<LocalCluster::Event> LocalCluster::poll(TimePoint now) {
  std::vector<Event> events;
  for (Slot& slot : slots_) {
    if (slot.process) {
      if (const auto end = slot.process->poll()) on_death(slot, *end, now, events);
    } else if (!slot.gave_up && now >= slot.restart_at) {
      ++slot.member.restarts;
      const Status status = launch(slot, now);
      slot.gave_up = !status.is_ok();
      events.push_back(
          {status.is_ok() ? Event::Kind::kRestarted : Event::Kind::kGaveUp, slot.member.id,
           status.is_ok()
               ? slot.member.id + " is started again, pid " + std::to_string(slot.member.pid)
               : status.message()});
    }
  }
  return events;
}

LocalCluster::Slot* LocalCluster::find(const std::string& id) {
  const auto at = std::find_if(slots_.begin(), slots_.end(),
                               [&](const Slot& slot) { return slot.member.id == id; });
  return at == slots_.end() ? nullptr : &*at;
}

Status LocalCluster::end(const std::string& id, int signal, milliseconds timeout) {
  Slot* slot = find(id);
  if (slot == nullptr || !slot->process || slot->process->poll()) {
    return Status(Code::kPreconditionFailed, id + " does not run");
  }
  slot->process->signal(signal);
  if (!slot->process->wait(static_cast<int>(timeout.count()))) {
    return Status(Code::kTimeout, id + " did not end within " + std::to_string(timeout.count()) +
                                      " ms of signal " + std::to_string(signal));
  }
  slot->process.reset();
  slot->member.pid = -1;
  slot->gave_up = true;
  return Status::ok();
}

Status LocalCluster::start_again(const std::string& id) {
  Slot* slot = find(id);
  if (slot == nullptr || slot->process) {
    return Status(Code::kPreconditionFailed, id + " runs already, or there is no such process");
  }
  SEGUE_RETURN_IF_ERROR(launch(*slot, SystemClock().now()));
  ++slot->member.restarts;
  slot->failures = 0;
  slot->gave_up = false;
  return Status::ok();
}

void LocalCluster::signal_all(bool routers, int number) {
  for (Slot& slot : slots_) {
    if (slot.process && slot.member.is_router == routers) slot.process->signal(number);
  }
}

bool LocalCluster::wait_all(bool routers, TimePoint deadline, const std::function<bool()>& hurry) {
  const SystemClock clock;
  for (Slot& slot : slots_) {
    if (slot.member.is_router != routers) continue;
    while (slot.process && !slot.process->wait(50)) {
      if (clock.now() >= deadline || (hurry && hurry())) return false;
    }
    slot.process.reset();
    slot.member.pid = -1;
  }
  return true;
}

bool LocalCluster::stop(milliseconds timeout, const std::function<bool()>& hurry) {
  const TimePoint deadline = SystemClock().now() + timeout;
  bool clean = true;
  // Routers first: they finish what clients still wait for while the nodes are there.
  for (const bool routers : {true, false}) {
    signal_all(routers, SIGTERM);
    if (timeout.count() > 0 && clean) clean = wait_all(routers, deadline, hurry);
  }
  for (Slot& slot : slots_) {
    if (slot.process && slot.process->poll()) slot.process.reset();
    if (slot.process) clean = false;
    slot.process.reset();  // kills and waits
    slot.member.pid = -1;
    slot.gave_up = true;
  }
  return clean;
}

std::vector<LocalCluster::Member> LocalCluster::members() const {
  std::vector<Member> members;
  for (const Slot& slot : slots_) members.push_back(slot.member);
  return members;
}

bool LocalCluster::none_running() const {
  return std::none_of(slots_.begin(), slots_.end(),
                      [](const Slot& slot) { return slot.process.has_value(); });
}

std::string LocalCluster::log_tail(const std::string& id, std::size_t lines) const {
  constexpr std::streamoff kMost = 16 << 10;
  for (const Slot& slot : slots_) {
    if (slot.member.id != id || slot.member.log.empty()) continue;
    std::ifstream file(slot.member.log, std::ios::binary | std::ios::ate);
    if (!file) return {};
    const std::streamoff size = file.tellg();
    file.seekg(std::max(slot.log_start, size - kMost));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::size_t from = text.size();
    for (std::size_t i = 0; i <= lines && from != std::string::npos && from > 0; ++i) {
      from = text.rfind('\n', from - 1);
    }
    return from == std::string::npos ? text : text.substr(from + 1);
  }
  return {};
}

}  // namespace segue::cli
