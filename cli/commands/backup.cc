#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/node_program.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

using client::BackupAction;
using client::BackupDescription;

constexpr const char* kBackupHelp =
    "Copies a node's data: queues, messages, its copy of the catalog. The copy has a manifest "
    "with\n"
    "the checksums of its files, is what `segue restore` takes, and can be verified by `segue "
    "check`.\n"
    "\n"
    "  segue backup NODE_DATA_DIR TARGET    of a node that does not run\n"
    "  segue backup --online TARGET         of all nodes, while they run: TARGET/n1, TARGET/n2, "
    "...\n"
    "  segue backup --online TARGET --node n1   of one: TARGET\n"
    "  segue backup --status [--node n1]    of all nodes, or one: what it is copying, or copied "
    "last\n"
    "  segue backup --cancel [--node n1]    ends the copying; nothing of it is left in TARGET\n"
    "\n"
    "TARGET must be empty, or not there yet.\n"
    "\n"
    "Without --online the copy is made on this machine, by the segue-node that lies beside this\n"
    "program; it is refused while the node runs.\n"
    "\n"
    "With --online the nodes go on: publishing and consuming are not held up. Each node writes to\n"
    "TARGET on its own machine (a network disk that is mounted everywhere makes it one place); a\n"
    "relative TARGET is taken from the directory that this command runs in. Configurations may "
    "name\n"
    "the only directory below which nodes write (storage.backup_directory). The nodes are copied "
    "one\n"
    "after the other, the one that leads the catalog last; messages' files no faster than\n"
    "gc.bytes_per_second. The copy of a node has every message that was confirmed before it began "
    "and\n"
    "is not acknowledged, and of each queue's later messages a beginning without holes.\n"
    "\n"
    "If it fails or is interrupted (Ctrl-C), nothing of the node that was being copied is left in\n"
    "TARGET; what was finished of other nodes stays. A node that is killed meanwhile leaves files\n"
    "without a manifest: remove them. If this command is killed, the node finishes its copy: "
    "--status\n"
    "tells, --cancel ends it.\n"
    "\n"
    "Exit codes: 0 done, 1 refused or failed; without --online 66 there is no such directory, or "
    "it\n"
    "may not be read, 71 the disk fails or is full, 73 a node runs on the directory, it is no "
    "data\n"
    "directory, or TARGET is not empty.\n"
    "\n"
    "Examples:\n"
    "  segue backup --online /backup/monday\n"
    "  segue backup --status\n"
    "  segue backup /var/lib/segue/n1 /backup/n1\n";

constexpr const char* kRestoreHelp =
    "Makes a node's data directory out of a backup. Every file is compared with the manifest's\n"
    "checksum; DATA_DIR must be empty, or not there, and is empty again if anything is wrong. "
    "Then\n"
    "start the node with this directory: its name, the cluster's and the number of shards must be\n"
    "those of the backup. Restore all nodes of a cluster from one backup. It needs no cluster: "
    "the\n"
    "work is done by the segue-node that lies beside this program.\n"
    "\n"
    "Exit codes: 0 done, 1 the backup is damaged, 66 BACKUP is not there, or may not be read, 71 "
    "the\n"
    "disk fails or is full, 73 DATA_DIR is not empty or in use, or BACKUP is no backup.\n"
    "\n"
    "Example:\n"
    "  segue restore /backup/monday/n1 /var/lib/segue/n1\n";

constexpr int kPollMs = 100;

class BackupCommand final : public SessionCommand {
 public:
  Status check(const OptionTable& /*options*/) override {
    if (status_ || cancel_) return check_question();
    if (first_.empty()) {
      return Status(Code::kInvalidConfig, "give NODE_DATA_DIR and TARGET, or --online and TARGET");
    }
    if (online_ && second_.empty()) return Status::ok();
    if (online_) {
      return Status(Code::kInvalidConfig,
                    "with --online there is one directory, TARGET, and no NODE_DATA_DIR");
    }
    if (!node_.empty()) {
      return Status(Code::kInvalidConfig, "--node goes with --online, --status or --cancel");
    }
    if (!second_.empty()) return Status::ok();
    return Status(Code::kInvalidConfig,
                  "TARGET is missing: give NODE_DATA_DIR and TARGET, or --online and TARGET");
  }

  int run(Console& console) override {
    if (online_ || status_ || cancel_) return SessionCommand::run(console);
    std::vector<std::string> arguments{"--back-up=" + first_, "--to=" + second_};
    if (json_) arguments.emplace_back("--json");
    return run_node_program(console, std::move(arguments));
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(first_,
                       {"NODE_DATA_DIR", "the node's data directory; TARGET with --online", false});
    options.positional(second_, {"TARGET", "the directory to write to", false});
    options.flag(online_, {"online", 0, "", "let the nodes do it, while they run"});
    options.flag(status_, {"status", 0, "", "tell what the nodes are copying, or copied last"});
    options.flag(cancel_, {"cancel", 0, "", "end what the nodes are copying"});
    options.text(node_, {"node", 0, "ID", "with --online, --status, --cancel: only this node"});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto cluster = connection.admin().cluster_status();
    if (!cluster) return report(console, "look at the cluster", cluster.error());
    std::vector<std::string> nodes;
    for (const auto& node : cluster->nodes) {
      if (node.id != cluster->catalog_leader) nodes.push_back(node.id);
    }
    // A node's catalog must not be newer than the leader's.
    nodes.push_back(cluster->catalog_leader);
    if (!node_.empty()) nodes = {node_};
    if (status_ || cancel_) return ask(console, connection, nodes);
    std::error_code unknown;
    const auto whole = std::filesystem::absolute(first_, unknown);
    if (unknown) {
      console.note("segue: cannot tell where '" + printable(first_) + "' is: " + unknown.message() +
                   "; give the whole path");
      return kExitUsage;
    }
    std::string target = whole.lexically_normal().string();
    while (target.size() > 1 && target.back() == '/') target.pop_back();
    JsonWriter json;
    json.begin_array();
    for (const std::string& node : nodes) {
      const std::string place = node_.empty() ? target + "/" + node : target;
      BackupDescription made;
      const int code = back_up(console, connection, node, place, made);
      if (code != kExitOk) return code;
      if (json_) {
        json.begin_object().field("node", node).field("directory", place);
        json.field("files", made.files).field("bytes", made.copied_bytes).end_object();
      } else {
        console.write("backup of node " + printable(node) + ": " + counted(made.files, "file") +
                      ", " + human_bytes(made.copied_bytes) + ", in " + printable(place) + "\n");
        console.flush();
      }
    }
    if (json_) console.write(json.end_array().take() + "\n");
    return kExitOk;
  }

 private:
  Status check_question() const {
    if (status_ && cancel_) {
      return Status(Code::kInvalidConfig, "give --status or --cancel, not both");
    }
    if (online_ || !first_.empty()) {
      return Status(Code::kInvalidConfig,
                    std::string(status_ ? "--status" : "--cancel") +
                        " goes without --online and directories: it asks the running nodes");
    }
    return Status::ok();
  }

  /// Of each node, also if it is not reached.
  int ask(Console& console, client::Connection& connection,
          const std::vector<std::string>& nodes) const {
    int code = kExitOk;
    JsonWriter json;
    json.begin_array();
    for (const std::string& node : nodes) {
      const auto told = connection.admin().node_backup(
          cancel_ ? BackupAction::kCancel : BackupAction::kStatus, node);
      if (!told) {
        code = report(console, "ask node " + node, told.error());
        continue;
      }
      if (!json_) {
        console.write("node " + printable(node) + ": " + text_of(*told) + "\n");
        continue;
      }
      json.begin_object().field("node", node).field("state", name_of(told->state));
      if (told->state != BackupDescription::State::kNone) {
        json.field("directory", told->target).field("files", told->files);
        json.field("bytes", told->copied_bytes).field("total_bytes", told->total_bytes);
      }
      if (told->failure) json.field("failure", told->failure->text);
      json.end_object();
    }
    if (json_) console.write(json.end_array().take() + "\n");
    return code;
  }

  static const char* name_of(BackupDescription::State state) {
    switch (state) {
      case BackupDescription::State::kRunning:
        return "running";
      case BackupDescription::State::kDone:
        return "done";
      case BackupDescription::State::kFailed:
        return "failed";
      case BackupDescription::State::kNone:
        break;
    }
    return "none";
  }

  std::string text_of(const BackupDescription& told) const {
    const std::string where = printable(told.target);
    switch (told.state) {
      case BackupDescription::State::kRunning:
        return (cancel_ ? "ends, cancelled; was copying to " : "copies to ") + where + ", " +
               human_bytes(told.copied_bytes) + " of " + human_bytes(told.total_bytes);
      case BackupDescription::State::kDone:
        return "finished its backup in " + where + ": " + counted(told.files, "file") + ", " +
               human_bytes(told.copied_bytes);
      case BackupDescription::State::kFailed:
        return "did not finish its backup in " + where +
               (told.failure ? ": " + printable(told.failure->text) : "");
      case BackupDescription::State::kNone:
        break;
    }
    return "no backup since its start";
  }

  static int back_up(Console& console, client::Connection& connection, const std::string& node,
                     const std::string& target, BackupDescription& made) {
    const std::string what = "back up node " + node;
    auto now = connection.admin().node_backup(BackupAction::kStart, node, target);
    if (!now) return report(console, what, now.error());
    bool cancelled = false;
    while (now->state == BackupDescription::State::kRunning) {
      console.progress(node + ": " + human_bytes(now->copied_bytes) + " of " +
                       human_bytes(now->total_bytes));
      console.wait_readable(-1, kPollMs);
      const bool cancel =
          !std::exchange(cancelled, cancelled || console.stop_requested()) && cancelled;
      if (cancelled && console.stop_again()) return kExitInterrupted;
      now = connection.admin().node_backup(cancel ? BackupAction::kCancel : BackupAction::kStatus,
                                           node);
      if (!now) {
        console.end_progress();
        return report(console, what, now.error());
      }
    }
    console.end_progress();
    made = *now;
    if (now->state == BackupDescription::State::kDone && now->target == target) return kExitOk;
    if (cancelled) {
      console.note("segue: interrupted; nothing was left in " + target);
      return kExitInterrupted;
    }
    if (now->failure && now->target == target) {
      if (now->failure->code != client::ErrorCode::kConnectionForced) {
        return report(console, what, *now->failure);
      }
      console.note("segue: cannot " + what + ": " + printable(now->failure->text) +
                   " by somebody else; nothing was left in " + printable(target));
      return kExitRefused;
    }
    console.note("segue: cannot " + what + ": the node has restarted meanwhile; what it left in " +
                 printable(target) + " is no backup: remove it");
    return kExitRefused;
  }

  std::string first_;
  std::string second_;
  std::string node_;
  bool online_ = false;
  bool status_ = false;
  bool cancel_ = false;
  bool json_ = false;
};

class RestoreCommand final : public Command {
 public:
  void declare(OptionTable& options) override {
    options.positional(backup_, {"BACKUP", "the backup's directory, with its manifest"});
    options.positional(directory_, {"DATA_DIR", "the data directory to make"});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }

  int run(Console& console) override {
    std::vector<std::string> arguments{"--restore=" + backup_, "--to=" + directory_};
    if (json_) arguments.emplace_back("--json");
    return run_node_program(console, std::move(arguments));
  }

 private:
  std::string backup_;
  std::string directory_;
  bool json_ = false;
};

}  // namespace

CommandEntry backup_command() {
  return {"backup", "copy a node's data, also while it runs", kBackupHelp,
          [] { return std::make_unique<BackupCommand>(); }};
}

CommandEntry restore_command() {
  return {"restore", "make a node's data directory out of a backup", kRestoreHelp,
          [] { return std::make_unique<RestoreCommand>(); }};
}

}  // namespace segue::cli
