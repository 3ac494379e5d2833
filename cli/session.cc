#include "cli/session.h"

#include <unistd.h>

#include "cli/endpoint.h"
#include "cli/exit_codes.h"
#include "cli/table_output.h"
#include "cli/wait_teller.h"

namespace segue::cli {

namespace {

using std::chrono::steady_clock;

// A router gives up as well, after as long by default, and can say which node is down.
constexpr std::chrono::milliseconds kRouterFirst{2000};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

int exit_code_of(client::ErrorCode code) {
  switch (code) {
    case client::ErrorCode::kTimeout:
      return kExitTimeout;
    case client::ErrorCode::kDisconnected:
    case client::ErrorCode::kConnectionForced:
      return kExitUnavailable;
    case client::ErrorCode::kInvalidArgument:
      return kExitUsage;
    case client::ErrorCode::kInternalError:
      return kExitInternal;
    default:
      return kExitRefused;
  }
}

// What one can do about it; empty when the sentence says it all.
std::string_view hint_of(const client::Error& error) {
  const auto names = [&](const char* what) { return error.text.find(what) != std::string::npos; };
  switch (error.code) {
    case client::ErrorCode::kTimeout:
      return "whether it was done is not known; `segue status` shows what is up";
    case client::ErrorCode::kDisconnected:
      return "is the router up? `segue up` starts a local cluster";
    case client::ErrorCode::kShardUnavailable:
    case client::ErrorCode::kCatalogUnavailable:
      return "a node is down: `segue status` shows which";
    case client::ErrorCode::kShardBlocked:
      return "the node is short of memory or disk: consume, or give it more; see `segue status`";
    case client::ErrorCode::kNotFound:
      // A node may be what is not there.
      if (!names("queue") && !names("exchange")) return {};
      return "`segue queue list` and `segue exchange list` show what there is";
    case client::ErrorCode::kResourceLocked:
      return "the queue is exclusive to another session";
    default:
      return {};
  }
}

}  // namespace

void SessionOptions::declare(OptionTable& options, const std::string& limits) {
  options.list(routers, {"router", 'r', "ENDPOINT",
                         "a router: tcp://host:port, host:port or ipc://path; may be given again "
                         "(SEGUE_ROUTER, else the configuration file, else "
                         "tcp://127.0.0.1:5680)"});
  options.text(vhost, {"vhost", 0, "NAME",
                       "the virtual host (SEGUE_VHOST, else the configuration file, else '/')"});
  options.duration(
      timeout, {"timeout", 0, "TIME",
                "how long to wait " + limits + ": 500ms, 30s, 2m, or a number of seconds (10s)"});
}

int report(Console& console, const client::Error& error) {
  std::string line = "segue: " + printable(error.text.empty() ? error.to_string() : error.text);
  line += " (" + std::string(error.name()) + ")";
  console.note(line);
  const std::string_view hint = hint_of(error);
  if (!hint.empty()) console.note("  " + std::string(hint));
  return exit_code_of(error.code);
}

int report(Console& console, const std::string& what, const client::Error& error) {
  client::Error told = error;
  told.text = "cannot " + what + ": " + (error.text.empty() ? error.to_string() : error.text);
  return report(console, told);
}

void watch(client::ConnectionOptions& options, WaitNotes& notes) {
  options.on_attempt_failed = [&notes](const std::string& router, const client::Error& why) {
    notes.on_attempt_failed(router, why.text, steady_clock::now());
  };
  options.on_state = [&notes](client::ConnectionState state, const auto&) {
    if (state == client::ConnectionState::kConnected) notes.on_connected();
    if (state == client::ConnectionState::kConnecting) notes.on_lost();
  };
  options.on_blocked = [&notes](const client::BlockedState& blocked) {
    notes.on_blocked(blocked, steady_clock::now());
  };
}

std::string connecting_to(const Endpoint& endpoint) {
  return "connect to " + joined(endpoint.routers) + " (from " + endpoint.source + ")";
}

client::Error without_repetition(client::Error error, WaitNotes& notes) {
  if (std::string why = notes.why_none_answers(); !why.empty()) error.text = std::move(why);
  return error;
}

std::optional<client::Connection> open_session(Console& console, const SessionOptions& options,
                                               int& exit_code, client::ConnectionOptions base,
                                               WaitNotes& notes) {
  const Result<Endpoint> endpoint = choose_endpoint(options.routers, system_lookup());
  if (!endpoint) {
    console.note("segue: " + endpoint.status().message());
    exit_code = endpoint.status().code() == Code::kIoError ? kExitInputOutput : kExitUsage;
    return std::nullopt;
  }
  base.routers = endpoint->routers;
  base.vhost = options.vhost.value_or(endpoint->vhost);
  base.client_name = "segue " + std::to_string(::getpid());
  base.connect_timeout = options.timeout;
  base.request_timeout = options.timeout + kRouterFirst;
  notes.set_routers(base.routers);
  watch(base, notes);
  client::Result<client::Connection> connection = client::Connection::open(std::move(base));
  if (connection) return std::move(connection).value();
  const client::Error error = without_repetition(connection.error(), notes);
  if (error.code == client::ErrorCode::kNotFound) {
    console.note("segue: cannot use the cluster at " + joined(endpoint->routers) + ": " +
                 printable(error.text));
    console.note("  `segue vhost list --vhost /` shows those that there are");
    exit_code = kExitRefused;
    return std::nullopt;
  }
  exit_code = report(console, connecting_to(*endpoint), error);
  return std::nullopt;
}

void SessionCommand::declare(OptionTable& options) {
  declare_own(options);
  session_options_.declare(options, timeout_limits());
}

int SessionCommand::run(Console& console) {
  int exit_code = kExitOk;
  notes_.set_queue(queue());
  std::optional<WaitTeller> teller(std::in_place, console, notes_);
  std::optional<client::Connection> connection =
      open_session(console, session_options_, exit_code, connection_options(), notes_);
  if (!connection) return exit_code;
  exit_code = run_with(console, *connection);
  // What the end of the connection waits for is nobody's business.
  teller.reset();
  return exit_code;
}

void SessionCommand::look_at_queue(client::Connection& connection) {
  if (const auto status = connection.admin().queue_status(queue())) {
    notes_.on_queue(*status, steady_clock::now() - WaitNotes::kWorthTelling);
  }
}

}  // namespace segue::cli
