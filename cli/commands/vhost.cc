#include <memory>
#include <optional>
#include <string>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/outcome.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

/// The one of the name; nothing if there is none.
client::Result<std::optional<client::VhostDescription>> find_vhost(client::Connection& connection,
                                                                   const std::string& name) {
  const auto vhosts = connection.admin().list_all_vhosts();
  if (!vhosts) return vhosts.error();
  for (const client::VhostDescription& vhost : *vhosts) {
    if (vhost.name == name) return std::optional(vhost);
  }
  return std::optional<client::VhostDescription>();
}

constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

class VhostCreate final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"NAME", "the virtual host's name"});
    options.number(settings_.max_queues, {"max-queues", 0, "N", "queues that it may have"}, 0,
                   kMost);
    options.number(settings_.max_sessions,
                   {"max-sessions", 0, "N", "sessions that it may have at each router"}, 0, kMost);
    options.number(settings_.max_bytes,
                   {"max-bytes", 0, "N", "bytes of bodies that its queues may have, about"}, 0,
                   kMost);
    options.flag(settings_.update, {"update", 0, "",
                                    "change the limits of one that exists to these; those left "
                                    "out are taken away"});
    options.flag(json_, {"json", 0, "", "print what became of it as a JSON object"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto before = find_vhost(connection, name_);
    if (!before) return report(console, "look for virtual host '" + name_ + "'", before.error());
    const auto status = connection.admin().declare_vhost(name_, settings_);
    if (!status) return report(console, "create virtual host '" + name_ + "'", status.error());
    const bool equal = *before && (*before)->max_queues == settings_.max_queues &&
                       (*before)->max_sessions == settings_.max_sessions &&
                       (*before)->max_bytes == settings_.max_bytes;
    tell_outcome(console, json_, "virtual host", name_,
                 !*before ? "created" : (equal ? "unchanged" : "changed"));
    return kExitOk;
  }

 private:
  bool json_ = false;
  std::string name_;
  client::VhostOptions settings_;
};

class VhostDelete final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"NAME", "the virtual host's name"});
    options.flag(json_, {"json", 0, "", "print what became of it as a JSON object"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto before = find_vhost(connection, name_);
    if (!before) return report(console, "look for virtual host '" + name_ + "'", before.error());
    const auto status = connection.admin().delete_vhost(name_);
    if (!status) return report(console, "delete virtual host '" + name_ + "'", status.error());
    tell_outcome(console, json_, "virtual host", name_, *before ? "deleted" : "absent");
    return kExitOk;
  }

 private:
  bool json_ = false;
  std::string name_;
};

class VhostList final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.flag(json_, {"json", 0, "", "print a JSON array"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto vhosts = connection.admin().list_all_vhosts();
    if (!vhosts) return report(console, "list the virtual hosts", vhosts.error());
    if (json_) {
      JsonWriter json;
      json.begin_array();
      for (const client::VhostDescription& vhost : *vhosts) write(json, vhost);
      console.write(json.end_array().take() + "\n");
      return kExitOk;
    }
    constexpr auto kRight = Table::Align::kRight;
    Table table({{"VHOST"},
                 {"QUEUES", kRight},
                 {"MAX QUEUES", kRight},
                 {"SESSIONS", kRight},
                 {"MAX SESSIONS", kRight},
                 {"BYTES", kRight},
                 {"MAX BYTES", kRight}});
    for (const client::VhostDescription& vhost : *vhosts) {
      table.add({vhost.name, grouped(vhost.queues), limit(vhost.max_queues),
                 grouped(vhost.sessions), limit(vhost.max_sessions), grouped(vhost.bytes),
                 limit(vhost.max_bytes)});
    }
    console.write(table.text());
    return kExitOk;
  }

 private:
  static std::string limit(const std::optional<std::uint64_t>& value) {
    return value ? grouped(*value) : "-";
  }
  static void write(JsonWriter& json, const client::VhostDescription& vhost) {
    json.begin_object().field("name", vhost.name).field("queues", vhost.queues);
    json.field("sessions", vhost.sessions).field("bytes", vhost.bytes);
    if (vhost.max_queues) json.field("max_queues", *vhost.max_queues);
    if (vhost.max_sessions) json.field("max_sessions", *vhost.max_sessions);
    if (vhost.max_bytes) json.field("max_bytes", *vhost.max_bytes);
    json.end_object();
  }

  bool json_ = false;
};

}  // namespace

CommandEntry vhost_create_command() {
  return {"vhost create", "make a virtual host: a space of names of its own",
          "A session is in one virtual host (--vhost, else SEGUE_VHOST, else the configuration\n"
          "file, else '/', which always exists). One that exists with the same limits stays as it\n"
          "is. Whether it was created, changed or is unchanged is told.\n\nExamples:\n  segue "
          "vhost create shop --max-queues 1000 --max-bytes "
          "1000000000\n  segue vhost create shop --update --max-queues 2000\n"
          "  segue queue declare orders --vhost shop\n",
          [] { return std::make_unique<VhostCreate>(); }};
}

CommandEntry vhost_delete_command() {
  return {"vhost delete", "delete a virtual host with all that is in it",
          "Its queues with their messages, exchanges, bindings and policies go, and its sessions\n"
          "are ended. One that is not there is told as absent and is no failure.\n\n"
          "Example:\n  segue vhost delete shop\n",
          [] { return std::make_unique<VhostDelete>(); }};
}

CommandEntry vhost_list_command() {
  return {"vhost list", "list the virtual hosts",
          "Sessions are those at the router that answers.\n\nExample:\n"
          "  segue vhost list --json\n",
          [] { return std::make_unique<VhostList>(); }};
}

}  // namespace segue::cli
