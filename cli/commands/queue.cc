#include <chrono>
#include <set>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/durability_option.h"
#include "cli/exit_codes.h"
#include "cli/field_values.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

constexpr const char* kDeclareHelp =
    "Declaring a queue that exists with the same attributes changes nothing and succeeds; with\n"
    "other attributes it fails and says which differ. With --update, arguments that can be "
    "changed\n"
    "become those given here, and those left out are taken away; messages and consumers stay.\n"
    "\n"
    "Examples:\n"
    "  segue queue declare orders\n"
    "  segue queue declare scratch --transient --auto-delete\n"
    "  segue queue declare metrics --durability 50     # confirmed when written, synced each 50 "
    "ms\n"
    "  segue queue declare orders -a x-dead-letter-exchange=dead -a x-delivery-limit=5\n"
    "  segue queue declare quotes -a x-message-ttl=60000   # each message for a minute at most\n"
    "  segue queue declare jobs -a x-max-priority=5    # what arguments there are: "
    "docs/semantics.md\n"
    "  segue queue declare orders --update -a x-consumer-timeout=60000   # change it in place\n"
    "  segue queue declare                             # the server makes a name, and it is "
    "printed\n";

void write_queue(JsonWriter& json, const client::QueueDescription& queue) {
  json.begin_object().field("name", queue.name).field("id", queue.id);
  json.field("shard", queue.shard).field("node", queue.node).field("durable", queue.durable);
  json.field("exclusive", queue.exclusive).field("auto_delete", queue.auto_delete);
  json.key("arguments");
  write_table(json, queue.arguments);
  json.field("available", queue.available);
  if (queue.available) {
    json.field("ready", queue.ready).field("unacked", queue.unacked);
    json.field("consumers", queue.consumers).field("bytes", queue.bytes);
    json.field("disk_bytes", queue.disk_bytes).field("memory_bytes", queue.memory_bytes);
    json.field("enqueued_total", queue.enqueued_total);
    json.field("delivered_total", queue.delivered_total);
    json.field("settled_total", queue.settled_total);
    json.field("dead_lettering", queue.dead_lettering);
    json.field("dead_letter_dropped", queue.dead_letter_dropped);
    json.field("expired_total", queue.expired_total);
    json.field("dropped_total", queue.dropped_total);
    json.field("deduplicated_total", queue.deduplicated_total);
    json.field("dedupe_entries", queue.dedupe_entries);
    json.field("dedupe_bytes", queue.dedupe_bytes);
    json.field("groups", queue.groups);
    json.key("effective").begin_array();
    for (const client::EffectiveSetting& setting : queue.effective) {
      json.begin_object().field("name", setting.name).key("value");
      write_value(json, setting.value);
      json.field("origin", setting.origin).end_object();
    }
    json.end_array();
    json.field("delayed", queue.delayed);
  }
  json.end_object();
}

std::string kind_of(const client::QueueDescription& queue) {
  std::string kind = queue.durable ? "durable" : "transient";
  if (queue.exclusive) kind += ", exclusive";
  if (queue.auto_delete) kind += ", auto-delete";
  return kind;
}

/// "x-message-ttl 60000 (policy short)", one for each, with `between` in between.
std::string in_force(const client::QueueDescription& queue, const char* between) {
  std::string text;
  for (const client::EffectiveSetting& setting : queue.effective) {
    JsonWriter value;
    write_value(value, setting.value);
    text += (text.empty() ? "" : between) + setting.name + " " + value.take() + " (" +
            setting.origin + ")";
  }
  return text;
}

/// The policies of which something is in force.
std::string policies_of(const client::QueueDescription& queue) {
  constexpr std::string_view kPolicy = "policy ";
  std::set<std::string> names;
  for (const client::EffectiveSetting& setting : queue.effective) {
    if (setting.origin.starts_with(kPolicy)) names.insert(setting.origin.substr(kPolicy.size()));
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

class QueueDeclare final : public SessionCommand {
 public:
  Status check(const OptionTable& options) override {
    if (!name_.empty() || !options.argument_given("NAME")) return Status::ok();
    // An unset variable of a script, more likely than the wish for a name of the server's.
    return Status(Code::kInvalidConfig,
                  "the queue's name is empty; leave NAME out, and the server makes a name");
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"NAME", "the queue's name; without one the server makes it", false});
    options.flag(transient_, {"transient", 0, "", "in memory only; gone when its node restarts"});
    options.flag(exclusive_, {"exclusive", 0, "",
                              "for this session only, so deleted when this command ends: of use "
                              "for trying out"});
    options.flag(auto_delete_, {"auto-delete", 0, "", "delete it when its last consumer goes"});
    options.custom({"durability", 0, kDurabilityValue,
                    "confirm after the sync, or after the write with a sync each MS (1 to 60000) "
                    "milliseconds (the cluster's)"},
                   [this](std::string_view value) {
                     Result<client::Value> parsed = parse_durability(value);
                     if (parsed) settings_.arguments["x-durability"] = std::move(*parsed);
                     return parsed.status();
                   });
    options.custom(
        {"argument", 'a', "NAME=VALUE",
         "another argument; VALUE is a whole number, true, false, or else text (in double quotes "
         "always); may be given "
         "again"},
        [this](std::string_view value) { return add_assignment(settings_.arguments, value); });
    options.repeatable("argument");
    options.flag(update_, {"update", 0, "",
                           "change the arguments of a queue that exists to these, without losing "
                           "anything (those that can be changed; see below)"});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    settings_.update = update_;
    settings_.durable = !transient_;
    settings_.exclusive = exclusive_;
    settings_.auto_delete = auto_delete_;
    const auto queue = connection.admin().declare_queue(name_, settings_);
    if (!queue) return report(console, "declare queue '" + name_ + "'", queue.error());
    if (json_) {
      JsonWriter json;
      json.begin_object().field("name", queue->name).field("created", queue->created);
      json.field("updated", queue->updated);
      json.field("ready", queue->ready).field("consumers", queue->consumers);
      json.field("shard", queue->shard).field("node", queue->node).end_object();
      console.write(json.take() + "\n");
    } else {
      console.write("queue " + printable(queue->name) +
                    (queue->created   ? " created"
                     : queue->updated ? " changed"
                                      : " was there already") +
                    ", shard " + std::to_string(queue->shard) + " on node " +
                    printable(queue->node) + ", " + grouped(queue->ready) + " ready\n");
    }
    return kExitOk;
  }

 private:
  std::string name_;
  client::QueueOptions settings_;
  bool transient_ = false;
  bool exclusive_ = false;
  bool auto_delete_ = false;
  bool update_ = false;
  bool json_ = false;
};

class QueueList final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(prefix_, {"PREFIX", "only queues whose names begin so", false});
    options.flag(names_, {"names", 0, "", "names only, one on a line (see below); asks no node"});
    options.flag(json_, {"json", 0, "", "print a JSON array"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    client::Admin::ListOptions page_options;
    page_options.names_only = names_;
    std::vector<client::QueueDescription> queues;
    for (bool more = true; more;) {
      auto page = connection.admin().list_queues(page_options);
      if (!page) return report(console, "list the queues", page.error());
      more = page->more && !page->queues.empty();
      if (more) page_options.after = page->queues.back().name;
      for (client::QueueDescription& queue : page->queues) {
        if (queue.name.starts_with(prefix_)) queues.push_back(std::move(queue));
      }
      console.progress(counted(queues.size(), "queue"));
      if (console.stop_requested()) return kExitInterrupted;
    }
    console.end_progress();
    print(console, queues);
    return kExitOk;
  }

 private:
  void print(Console& console, const std::vector<client::QueueDescription>& queues) const {
    if (json_) {
      JsonWriter json;
      json.begin_array();
      for (const client::QueueDescription& queue : queues) {
        if (names_)
          json.value(queue.name);
        else
          write_queue(json, queue);
      }
      json.end_array();
      console.write(json.take() + "\n");
      return;
    }
    if (names_) {
      for (const client::QueueDescription& queue : queues) {
        console.write(name_line(queue.name) + "\n");
      }
      return;
    }
    constexpr auto kRight = Table::Align::kRight;
    Table table({{"QUEUE"},
                 {"READY", kRight},
                 {"UNACKED", kRight},
                 {"DELAYED", kRight},
                 {"DEAD", kRight},
                 {"CONSUMERS", kRight},
                 {"BYTES", kRight},
                 {"DISK", kRight},
                 {"SHARD", kRight},
                 {"NODE"},
                 {"KIND"},
                 {"POLICIES"}});
    for (const client::QueueDescription& queue : queues) {
      const auto count = [&](std::uint64_t number) {
        return queue.available ? grouped(number) : std::string("?");
      };
      table.add({queue.name, count(queue.ready), count(queue.unacked), count(queue.delayed),
                 count(queue.dead_lettering), count(queue.consumers),
                 queue.available ? human_bytes(queue.bytes) : "?",
                 queue.available ? human_bytes(queue.disk_bytes) : "?", std::to_string(queue.shard),
                 queue.node, kind_of(queue), policies_of(queue)});
    }
    console.write(table.text());
  }

  std::string prefix_;
  bool names_ = false;
  bool json_ = false;
};

class QueueShow final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"NAME", "the queue's name", true, OptionTable::Names::kQueues});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    const auto queue = connection.admin().queue_status(name_);
    if (!queue) return report(console, "show queue '" + name_ + "'", queue.error());
    JsonWriter json;
    if (json_) {
      write_queue(json, *queue);
      console.write(json.take() + "\n");
      return kExitOk;
    }
    write_table(json, queue->arguments);
    Table table({{"queue"}, {printable(queue->name)}});
    table.add({"kind", kind_of(*queue)});
    table.add({"arguments", queue->arguments.empty() ? "none" : json.take()});
    if (queue->available) {
      table.add({"in force", queue->effective.empty() ? "no arguments" : in_force(*queue, ", ")});
    }
    table.add({"id", std::to_string(queue->id)});
    table.add({"shard", std::to_string(queue->shard) + " on node " + queue->node});
    if (queue->available) {
      table.add({"ready", grouped(queue->ready)});
      table.add({"unacked", grouped(queue->unacked)});
      table.add({"delayed", grouped(queue->delayed)});
      table.add({"dead-lettering", grouped(queue->dead_lettering)});
      table.add({"consumers", grouped(queue->consumers)});
      table.add({"bodies", human_bytes(queue->bytes)});
      table.add({"disk", human_bytes(queue->disk_bytes)});
      table.add({"memory", human_bytes(queue->memory_bytes)});
      table.add({"enqueued", grouped(queue->enqueued_total)});
      table.add({"delivered", grouped(queue->delivered_total)});
      table.add({"settled", grouped(queue->settled_total)});
      table.add({"expired", grouped(queue->expired_total)});
      table.add({"dropped", grouped(queue->dropped_total)});
      table.add({"dead letters dropped", grouped(queue->dead_letter_dropped)});
      table.add({"deduplicated", grouped(queue->deduplicated_total)});
      table.add({"in the dedupe window", grouped(queue->dedupe_entries)});
      table.add({"groups at consumers", grouped(queue->groups)});
    } else {
      table.add({"counts", "unknown: node " + queue->node + " does not answer"});
    }
    console.write(table.text());
    return kExitOk;
  }

 private:
  std::string name_;
  bool json_ = false;
};

class QueueDelete final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(names_, {"NAME", "the queues' names", true, OptionTable::Names::kQueues});
    options.flag(settings_.if_unused, {"if-unused", 0, "", "only without consumers"});
    options.flag(settings_.if_empty, {"if-empty", 0, "", "only without messages"});
  }

  int run_with(Console& console, client::Connection& connection) override {
    int code = kExitOk;
    for (const std::string& name : names_) {
      const auto present = connection.admin().find_queue(name);
      if (!present && present.error().code == client::ErrorCode::kNotFound) {
        console.write("queue " + printable(name) + " is not there\n");
        continue;
      }
      const auto messages = connection.admin().delete_queue(name, settings_);
      if (!messages) {
        code = report(console, "delete queue '" + name + "'", messages.error());
        continue;
      }
      console.write("queue " + printable(name) + " deleted with " + counted(*messages, "message") +
                    "\n");
    }
    return code;
  }

 private:
  std::vector<std::string> names_;
  client::Admin::DeleteQueueOptions settings_;
};

class Purge final : public SessionCommand {
 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"QUEUE", "the queue's name", true, OptionTable::Names::kQueues});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }

  std::string queue() const override { return name_; }

  int run_with(Console& console, client::Connection& connection) override {
    look_at_queue(connection);
    const auto messages = connection.admin().purge_queue(name_);
    if (!messages) return report(console, "purge queue '" + name_ + "'", messages.error());
    if (json_) {
      JsonWriter json;
      json.begin_object().field("queue", name_).field("messages", *messages).end_object();
      console.write(json.take() + "\n");
      return kExitOk;
    }
    console.write(counted(*messages, "message") + " purged from " + printable(name_) + "\n");
    return kExitOk;
  }

 private:
  std::string name_;
  bool json_ = false;
};

}  // namespace

CommandEntry queue_declare_command() {
  return {"queue declare", "make a queue", kDeclareHelp,
          [] { return std::make_unique<QueueDeclare>(); }};
}

CommandEntry queue_list_command() {
  return {"queue list", "list the queues with their counts",
          "Counts of queues whose node is down are not known and shown as ?.\n\n"
          "--names prints names as they are, but for characters that do not show, such as a\n"
          "newline: each of their bytes is \\x and two hexadecimal digits, and \\\\ a backslash.\n"
          "A script's `printf %b` makes the name of it.\n\n"
          "Examples:\n  segue queue list\n  segue queue list bench- --names\n"
          "  segue queue list --json | jq 'map(.ready) | add'\n",
          [] { return std::make_unique<QueueList>(); }};
}

CommandEntry queue_show_command() {
  return {"queue show", "show all about one queue", "Example:\n  segue queue show orders --json\n",
          [] { return std::make_unique<QueueShow>(); }};
}

CommandEntry queue_delete_command() {
  return {"queue delete", "delete queues and their messages",
          "A queue that is not there is told and is no failure.\n\nExamples:\n"
          "  segue queue delete orders\n  segue queue delete old-1 old-2 --if-empty\n",
          [] { return std::make_unique<QueueDelete>(); }};
}

CommandEntry purge_command(std::string path) {
  const bool alias = path == "queue purge";
  return {std::move(path), alias ? "the same as purge" : "remove the ready messages of a queue",
          "Messages that a consumer holds and has not settled stay.\n\nExample:\n"
          "  segue purge orders\n",
          [] { return std::make_unique<Purge>(); }};
}

}  // namespace segue::cli
