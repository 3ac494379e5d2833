#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/options.h"

namespace segue::cli {

/// One run of one command: declares its options, and does its work with what was given. Made anew
/// for each run.
class Command {
 public:
  virtual ~Command() = default;
  /// Called once, before run().
  virtual void declare(OptionTable& options) = 0;
  /// What the options do not say by themselves: combinations. The message goes to the user.
  virtual Status check(const OptionTable& /*options*/) { return Status::ok(); }
  /// The exit code (exit_codes.h); errors were told on the console.
  virtual int run(Console& console) = 0;
};

/// A command as the table of main() has it.
struct CommandEntry {
  /// "queue declare": one or two words.
  std::string path;
  /// One line for the list of commands.
  std::string summary;
  /// What help says beside the options: paragraphs and examples.
  std::string description;
  std::function<std::unique_ptr<Command>()> make;
};

/// All commands, in the order of help.
const std::vector<CommandEntry>& command_table();

/// Finds the command that `arguments` begin with, and runs it: its exit code. Handles --help and
/// --version, and says what is near when there is no such command.
int run_command(std::span<const std::string> arguments, Console& console,
                const std::vector<CommandEntry>& table);

/// Help texts: of everything, of a group such as "queue", of one command.
/// The exit code when standard output takes no more; says why unless its reader just went away.
int output_failed(Console& console);

std::string overview_help(const std::vector<CommandEntry>& table);
std::string group_help(const std::vector<CommandEntry>& table, std::string_view group);
std::string command_help(const CommandEntry& entry);

}  // namespace segue::cli
