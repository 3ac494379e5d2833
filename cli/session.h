#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/endpoint.h"
#include "cli/wait_notes.h"
#include "segue/client.h"

namespace segue::cli {

/// The options that every command has which talks to a cluster.
struct SessionOptions {
  std::vector<std::string> routers;
  std::optional<std::string> vhost;
  std::chrono::milliseconds timeout{std::chrono::seconds(10)};

  /// What --timeout limits is the command's: a half sentence.
  void declare(OptionTable& options,
               const std::string& limits = "for a router, and for each of its answers");
};

/// Connects as the options, the environment and the configuration file say. Nothing when that
/// failed, which was told on the console; `exit_code` then says how. `notes` are told what the
/// connection waits for, and outlive it.
std::optional<client::Connection> open_session(Console& console, const SessionOptions& options,
                                               int& exit_code, client::ConnectionOptions base,
                                               WaitNotes& notes);

/// Lets the connection tell `notes`, which outlive it, what it waits for.
void watch(client::ConnectionOptions& options, WaitNotes& notes);
/// "connect to ENDPOINTS (from --router)", for report().
std::string connecting_to(const Endpoint& endpoint);
/// The error of a connection that was not made, with the reason that `notes` know in place of the
/// library's list, which names the routers again.
client::Error without_repetition(client::Error error, WaitNotes& notes);

/// Tells the error in a sentence with a hint: the exit code that goes with it.
int report(Console& console, const client::Error& error);
/// `what` was being done, e.g. "declare queue 'a'".
int report(Console& console, const std::string& what, const client::Error& error);

/// A command that works with one connection.
class SessionCommand : public Command {
 public:
  void declare(OptionTable& options) final;
  int run(Console& console) override;

 protected:
  virtual void declare_own(OptionTable& options) = 0;
  virtual int run_with(Console& console, client::Connection& connection) = 0;
  /// How the connection behaves, beside what the options say.
  virtual client::ConnectionOptions connection_options() const { return {}; }
  /// What --timeout limits, as help says it: "how long to wait ...".
  virtual std::string timeout_limits() const { return "for a router, and for each of its answers"; }
  /// The queue that the command is about, for the lines that say what it waits for.
  virtual std::string queue() const { return {}; }
  /// Looks whether the queue's node is there, so that it can be told if not.
  void look_at_queue(client::Connection& connection);

  SessionOptions session_options_;
  WaitNotes notes_;
};

}  // namespace segue::cli
