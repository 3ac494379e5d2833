#include "cli/command.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "cli/exit_codes.h"
#include "cli/version.h"
#include "common/suggestion.h"

namespace segue::cli {

int output_failed(Console& console) {
  if (console.output_error() == EPIPE) return kExitOutputClosed;
  console.note("segue: cannot write to standard output: " +
               std::generic_category().message(console.output_error()));
  return kExitInputOutput;
}

namespace {

constexpr std::string_view kGlobalHelp =
    "\n"
    "Every command: --help for its options and examples.\n"
    "The endpoint: --router, else SEGUE_ROUTER, else ~/.config/segue/config.json (or the file "
    "that\n"
    "SEGUE_CONFIG names), else tcp://127.0.0.1:5680.\n"
    "Exit codes: 0 done, 1 refused or failed, 3 nothing there, 64 wrong arguments, 69 no router,\n"
    "70 internal, 74 file or output, 75 no answer in time, 130 interrupted, 141 reader gone.\n";

bool is_help(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help";
}

bool asks_help(std::span<const std::string> arguments) {
  for (const std::string& word : arguments) {
    if (word == "--") return false;
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

std::string_view group_of(const CommandEntry& entry) {
  const std::size_t space = entry.path.find(' ');
  return space == std::string::npos ? std::string_view()
                                    : std::string_view(entry.path).substr(0, space);
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

int fail_usage(Console& console, const std::string& sentence, const std::string& hint) {
  console.note("segue: " + sentence);
  if (!hint.empty()) console.note("  " + hint);
  return kExitUsage;
}

int print(Console& console, const std::string& text) {
  console.write(text);
  return console.flush() ? kExitOk : output_failed(console);
}

int unknown_command(Console& console, const std::vector<CommandEntry>& table,
                    const std::string& given) {
  if (given.starts_with('-')) {
    return fail_usage(console, "no command '" + given.substr(0, 80) + "'",
                      "options follow the command: segue COMMAND [OPTIONS]; `segue help` lists the "
                      "commands");
  }
  std::vector<std::string_view> names;
  for (const CommandEntry& entry : table) {
    names.push_back(entry.path);
    if (!group_of(entry).empty()) names.push_back(group_of(entry));
  }
  const auto nearest = closest_match(given, names);
  return fail_usage(
      console, "no command '" + given.substr(0, 80) + "'",
      nearest ? "did you mean: segue " + std::string(*nearest) : "`segue help` lists the commands");
}

int run_entry(const CommandEntry& entry, std::span<const std::string> arguments, Console& console) {
  if (asks_help(arguments)) return print(console, command_help(entry));
  const std::unique_ptr<Command> command = entry.make();
  OptionTable options;
  command->declare(options);
  Status status = options.parse(arguments);
  if (status.is_ok()) status = command->check(options);
  if (!status.is_ok()) {
    return fail_usage(console, status.message(), "segue " + entry.path + " --help");
  }
  const int code = command->run(console);
  console.flush();
  if (console.output_closed() && code == kExitOk) return output_failed(console);
  return code;
}

}  // namespace

std::string overview_help(const std::vector<CommandEntry>& table) {
  std::string out =
      "segue: a durable message broker's command line\n\nUsage: segue COMMAND [OPTIONS]\n\n"
      "Commands:\n";
  for (const CommandEntry& entry : table) {
    out += "  " + padded(entry.path, 22) + entry.summary + "\n";
  }
  out += kGlobalHelp;
  return out;
}

std::string group_help(const std::vector<CommandEntry>& table, std::string_view group) {
  std::string out = "Usage: segue " + std::string(group) + " COMMAND [OPTIONS]\n\nCommands:\n";
  for (const CommandEntry& entry : table) {
    if (group_of(entry) == group) out += "  " + padded(entry.path, 22) + entry.summary + "\n";
  }
  out += kGlobalHelp;
  return out;
}

std::string command_help(const CommandEntry& entry) {
  const std::unique_ptr<Command> command = entry.make();
  OptionTable options;
  command->declare(options);
  std::string out = "Usage: segue " + entry.path + options.usage() + "\n\n" + entry.summary + "\n";
  const std::string help = options.help();
  if (!help.empty()) out += "\n" + help;
  if (!entry.description.empty()) out += "\n" + entry.description;
  return out;
}

int run_command(std::span<const std::string> arguments, Console& console,
                const std::vector<CommandEntry>& table) {
  if (arguments.empty()) {
    console.note(overview_help(table));
    return kExitUsage;
  }
  const std::string& first = arguments[0];
  if (first == "--version" || first == "version") {
    return print(console, "segue " + std::string(kVersion) + "\n");
  }
  if (is_help(first)) {
    // `segue help queue declare` is `segue queue declare --help`.
    if (arguments.size() == 1) return print(console, overview_help(table));
    std::vector<std::string> turned(arguments.begin() + 1, arguments.end());
    turned.emplace_back("--help");
    return run_command(turned, console, table);
  }
  bool is_group = false;
  for (const CommandEntry& entry : table) {
    if (entry.path == first) return run_entry(entry, arguments.subspan(1), console);
    if (group_of(entry) != first) continue;
    is_group = true;
    if (arguments.size() > 1 && entry.path == first + " " + arguments[1]) {
      return run_entry(entry, arguments.subspan(2), console);
    }
  }
  if (!is_group) return unknown_command(console, table, first);
  if (arguments.size() > 1 && is_help(arguments[1])) {
    return print(console, group_help(table, first));
  }
  if (arguments.size() == 1) {
    console.note(group_help(table, first));
    return kExitUsage;
  }
  return unknown_command(console, table, first + " " + arguments[1]);
}

}  // namespace segue::cli
