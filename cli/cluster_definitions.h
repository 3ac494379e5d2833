#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/session.h"
#include "common/definitions.h"

namespace segue::cli {

/// A command's sessions in virtual hosts: the one that it has, and others as they are needed. One
/// thread.
class VhostSessions {
 public:
  /// The references outlive this object; `own` is in the virtual host that the options say.
  VhostSessions(Console& console, const SessionOptions& options, client::Connection& own,
                WaitNotes& notes);

  const std::string& home() const { return home_; }
  client::Connection& own() { return own_; }
  /// Null when it could not be opened, which was told on the console; `exit_code` then says how.
  client::Connection* in(const std::string& vhost, int& exit_code);

 private:
  Console& console_;
  SessionOptions options_;
  client::Connection& own_;
  WaitNotes& notes_;
  std::string home_;
  std::map<std::string, client::Connection> others_;
};

/// Adds what the session's virtual host has, as a document has it, but not queues of single
/// sessions. `unnamed` gets the names of queues that cannot be in a document: nobody but a server
/// can give them.
client::Status add_definitions(client::Connection& connection, const std::string& vhost,
                               Definitions& to, std::vector<std::string>* unnamed = nullptr);
v1::PolicyDefinition policy_definition(const client::PolicyDescription& policy,
                                       const std::string& vhost);
/// Adds the virtual hosts themselves.
client::Status add_vhosts(client::Connection& connection, Definitions& to);

/// The virtual hosts that a document is about; `home` is that of a document that names none.
std::set<std::string> vhosts_of(const Definitions& definitions, const std::string& home);

/// What the cluster has in these virtual hosts; those that are not there have nothing. Nothing, and
/// the exit code, when that failed, which was told.
std::optional<Definitions> current_definitions(Console& console, VhostSessions& sessions,
                                               const std::set<std::string>& vhosts, int& exit_code);

}  // namespace segue::cli
