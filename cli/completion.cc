#include "cli/completion.h"

#include <map>

namespace segue::cli {

namespace {

struct Described {
  const CommandEntry* entry;
  std::vector<OptionTable::Completion> options;
  std::vector<OptionTable::PositionalCompletion> arguments;

  bool two_words() const { return entry->path.find(' ') != std::string::npos; }
};

std::vector<Described> describe(const std::vector<CommandEntry>& table) {
  std::vector<Described> all;
  for (const CommandEntry& entry : table) {
    const std::unique_ptr<Command> command = entry.make();
    OptionTable options;
    command->declare(options);
    all.push_back({&entry, options.completions(), options.positional_completions()});
  }
  return all;
}

// First words, and for each the second words (none for commands of one word).
std::map<std::string, std::string> words_of(const std::vector<CommandEntry>& table) {
  std::map<std::string, std::string> words;
  for (const CommandEntry& entry : table) {
    const std::size_t space = entry.path.find(' ');
    std::string& second = words[entry.path.substr(0, space)];
    if (space != std::string::npos)
      second += (second.empty() ? "" : " ") + entry.path.substr(space + 1);
  }
  return words;
}

std::string option_words(const Described& command) {
  std::string words = "--help";
  for (const OptionTable::Completion& option : command.options) {
    words += " --" + option.name;
    if (option.letter != 0) words += std::string(" -") + option.letter;
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// What completes a value, an option's or an argument's, in bash; empty: nothing of ours.
std::string bash_offer(OptionTable::Names names, const std::vector<std::string>& words) {
  if (names == OptionTable::Names::kQueues) return "_segue_queues \"$current\"";
  if (names == OptionTable::Names::kExchanges) return "_segue_exchanges \"$current\"";
  if (words.empty()) return {};
  return "mapfile -t COMPREPLY < <(compgen -W '" + joined(words) + "' -- \"$current\")";
}

// The same for fish: an argument of `complete -a`.
std::string fish_offer(OptionTable::Names names, const std::vector<std::string>& words) {
  if (names == OptionTable::Names::kNone) return joined(words);
  return std::string("(segue ") + (names == OptionTable::Names::kQueues ? "queue" : "exchange") +
         " list --names --timeout 1s 2>/dev/null)";
}

// `text` in single quotes for fish.
std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// A condition that holds when the command line so far names this command.
std::string fish_condition(const std::string& path) {
  const std::size_t space = path.find(' ');
  std::string condition = "__fish_seen_subcommand_from " + path.substr(0, space);
  if (space != std::string::npos) {
    condition += "; and __fish_seen_subcommand_from " + path.substr(space + 1);
  }
  return condition;
}

constexpr const char* kBashHead =
    R"(# Completion of `segue` for bash. Load it with:  source <(segue completion bash)
# Names may have any characters: they are quoted as the word that is typed is, and never expanded.
# _segue_names WORD COMMAND...: what the command prints as `segue queue list --names` does.
_segue_names() {
  local typed=$1 quote='' name
  shift
  case $typed in
    \'* | \"*) quote=${typed:0:1} typed=${typed:1} ;;
    *) typed=${typed//\\/} ;;
  esac
  while IFS= read -r name; do
    printf -v name %b "$name"
    [[ $name == "$typed"* ]] || continue
    if [[ -z $quote ]]; then printf -v name %q "$name"; fi
    COMPREPLY+=("$name")
  done < <("$@" --names --timeout 1s 2>/dev/null)
}
_segue_queues() { _segue_names "$1" segue queue list; }
_segue_exchanges() { _segue_names "$1" segue exchange list; }
_segue() {
  local current=${COMP_WORDS[COMP_CWORD]}
  local first=${COMP_WORDS[1]:-} second=${COMP_WORDS[2]:-}
  COMPREPLY=()
)";

// Between the table of commands and that of their arguments: which argument is typed.
constexpr const char* kBashCount = R"(
  local position=1 index
  for ((index = start; index < COMP_CWORD; index++)); do
    if [[ ${COMP_WORDS[index]} != -?* ]]; then
      ((position++))
    elif [[ $valued == *" ${COMP_WORDS[index]} "* ]]; then
      if [[ ${COMP_WORDS[index + 1]:-} == = ]]; then ((index++)); fi
      ((index++))
    fi
  done
)";

constexpr const char* kBashTail = R"(
  # Without a match the shell completes file names.
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _segue segue
)";

std::string valued_options(const Described& command) {
  std::string words = " ";
  for (const OptionTable::Completion& option : command.options) {
    if (!option.takes_value) continue;
    words += "--" + option.name + " ";
    if (option.letter != 0) words += std::string("-") + option.letter + " ";
  }
  return words;
}

// The cases of `"$command $position"` that have something to offer.
std::string bash_arguments(const Described& command) {
  std::string out;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const OptionTable::PositionalCompletion& argument = command.arguments[i];
    const std::string offer = bash_offer(argument.names, argument.words);
    if (offer.empty()) continue;
    out += "      '" + command.entry->path + " " +
           (argument.rest ? "'*" : std::to_string(i + 1) + "'") + ")\n        " + offer +
           "\n        return\n        ;;\n";
  }
  return out;
}

// Arguments of a command for fish, which counts an option's value as an argument too: the last
// argument is offered from its place on.
std::string fish_arguments(const Described& command) {
  std::string out;
  const std::size_t before = command.two_words() ? 3 : 2;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const OptionTable::PositionalCompletion& argument = command.arguments[i];
    const std::string offer = fish_offer(argument.names, argument.words);
    if (offer.empty()) continue;
    const bool last = i + 1 == command.arguments.size();
    out += "complete -c segue -n '" + fish_condition(command.entry->path) +
           "; and test (__segue_words) " + (last ? "-ge " : "-eq ") + std::to_string(before + i) +
           "' -f -a " + fish_quoted(offer) + "\n";
  }
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<CommandEntry>& table) {
  const auto words = words_of(table);
  std::string first;
  std::string second;
  for (const auto& [word, following] : words) {
    first += " " + word;
    if (!following.empty()) {
      second += "      " + word + ") words='" + following + "' ;;\n";
    }
  }
  std::string out = kBashHead;
  out +=
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n    mapfile -t COMPREPLY < <(compgen -W 'help "
      "--help --version" +
      first + "' -- \"$current\")\n    return\n  fi\n";
  out += "  if [[ $COMP_CWORD -eq 2 ]]; then\n    local words=''\n    case $first in\n" + second +
         "    esac\n    if [[ -n $words ]]; then\n"
         "      mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "      return\n    fi\n  fi\n";
  std::string options;
  std::string values;
  std::string arguments;
  for (const Described& command : describe(table)) {
    const std::string& path = command.entry->path;
    const bool two = command.two_words();
    options += "    '" + path + (two ? "'" : " '*") + ")\n      command='" + path +
               "' start=" + (two ? "3" : "2") + " words='" + option_words(command) +
               "'\n      valued='" + valued_options(command) + "'\n      ;;\n";
    arguments += bash_arguments(command);
    for (const OptionTable::Completion& option : command.options) {
      const std::string offer = bash_offer(option.names, option.words);
      if (offer.empty()) continue;
      const std::string before = "'" + path + (two ? "" : " ") + "'*' ";
      values += "    " + before + "--" + option.name + "'";
      if (option.letter != 0) values += " | " + before + "-" + option.letter + "'";
      values += ")\n      " + offer + "\n      return\n      ;;\n";
    }
  }
  if (!values.empty()) {
    out +=
        "  local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  case \"$first $second $previous\" in\n" +
        values + "  esac\n";
  }
  out += "  local words='' command='' valued='' start=2\n  case \"$first $second\" in\n" + options +
         "  esac\n";
  if (!arguments.empty()) {
    out += kBashCount;
    out += "  if [[ $current != -* ]]; then\n    case \"$command $position\" in\n" + arguments +
           "    esac\n  fi\n";
  }
  return out + kBashTail;
}

std::string zsh_completion(const std::vector<CommandEntry>& table) {
  return "# Completion of `segue` for zsh. Load it with:  source <(segue completion zsh)\n"
         "autoload -U +X compinit && compinit -u\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_completion(table);
}

std::string fish_completion(const std::vector<CommandEntry>& table) {
  std::string out =
      "# Completion of `segue` for fish. Load it with:  segue completion fish | source\n"
      "complete -c segue -e\n"
      "function __segue_words\n"
      "  count (commandline -opc | string match -v -- '-*')\n"
      "end\n"
      "complete -c segue -n __fish_use_subcommand -l help -d 'list the commands'\n"
      "complete -c segue -n __fish_use_subcommand -l version -d 'print the version'\n";
  std::map<std::string, bool> seen;
  for (const Described& command : describe(table)) {
    const std::string& path = command.entry->path;
    const std::size_t space = path.find(' ');
    const std::string first = path.substr(0, space);
    if (!seen[first]) {
      seen[first] = true;
      out += "complete -c segue -n __fish_use_subcommand -f -a " + first;
      if (space == std::string::npos) out += " -d " + fish_quoted(command.entry->summary);
      out += "\n";
    }
    if (space != std::string::npos) {
      out += "complete -c segue -n '__fish_seen_subcommand_from " + first + "' -f -a " +
             path.substr(space + 1) + " -d " + fish_quoted(command.entry->summary) + "\n";
    }
    for (const OptionTable::Completion& option : command.options) {
      out += "complete -c segue -n '" + fish_condition(path) + "' -l " + option.name;
      if (option.letter != 0) out += std::string(" -s ") + option.letter;
      const std::string offer = fish_offer(option.names, option.words);
      if (option.takes_value) out += offer.empty() ? " -r" : " -x -a " + fish_quoted(offer);
      out += " -d " + fish_quoted(option.help) + "\n";
    }
    out += fish_arguments(command);
  }
  return out;
}

}  // namespace segue::cli
