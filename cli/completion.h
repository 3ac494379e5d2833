#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace segue::cli {

/// Shell scripts that complete `segue`'s commands, options and fixed words, made from the table of
/// commands.
std::string bash_completion(const std::vector<CommandEntry>& table);
std::string zsh_completion(const std::vector<CommandEntry>& table);
std::string fish_completion(const std::vector<CommandEntry>& table);

}  // namespace segue::cli
