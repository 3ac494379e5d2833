#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace segue::cli {

/// The options and positional arguments of one command: declared once, from which parsing, help and
/// shell completion follow. What is declared points at variables of the caller, which hold the
/// defaults and outlive the table. One thread.
///
///     OptionTable options;
///     options.flag(json, {"json", 0, "", "print JSON instead of a table"});
///     options.number(count, {"count", 'n', "N", "stop after N messages"}, 1, 1'000'000);
///     options.positional(queue, {"QUEUE", "the queue's name"});
///     SEGUE_RETURN_IF_ERROR(options.parse(arguments));
class OptionTable {
 public:
  /// `name` without the dashes; `letter` 0 for none; `value` as help shows it, e.g. "N".
  struct Option {
    std::string name;
    char letter = 0;
    std::string value;
    std::string help;
  };
  /// Of what there are names in the cluster.
  enum class Names { kNone, kQueues, kExchanges };
  struct Positional {
    std::string name;
    std::string help;
    bool required = true;
    /// What completion offers.
    Names names = Names::kNone;
    std::vector<std::string> words{};
  };
  /// Looks at a value and stores it; the error's message says what was expected.
  using Setter = std::function<Status(std::string_view)>;

  void flag(bool& target, Option option);
  void text(std::string& target, Option option);
  void text(std::optional<std::string>& target, Option option);
  /// May be given more than once.
  void list(std::vector<std::string>& target, Option option);
  void number(std::uint64_t& target, Option option, std::uint64_t min, std::uint64_t max);
  void number(std::optional<std::uint64_t>& target, Option option, std::uint64_t min,
              std::uint64_t max);
  /// Bytes: 100, 16KiB, 1MB.
  void size(std::uint64_t& target, Option option, std::uint64_t min, std::uint64_t max);
  /// 500ms, 30s, 5m; a bare number is seconds.
  void duration(std::chrono::milliseconds& target, Option option);
  /// One of `words`, which completion offers.
  void choice(std::string& target, Option option, std::vector<std::string> words);
  /// Any other kind.
  void custom(Option option, Setter setter);
  /// What completion offers as the option's value; it takes others too.
  void offer(std::string_view name, std::vector<std::string> words);
  void offer(std::string_view name, Names names);
  /// The option may be given more than once.
  void repeatable(std::string_view name);
  /// Another name for it, which help does not show.
  void alias(std::string_view name, std::string other);
  /// Where the arguments that are not options go, in this order.
  void positional(std::string& target, Positional positional);
  void positional(std::vector<std::string>& rest, Positional positional);

  /// Reads `--name value`, `--name=value`, `-n value`, `-nvalue`, `-abc` for flags, and `--`, after
  /// which nothing is an option. INVALID_CONFIG names the argument, what was expected and, for a
  /// misspelt option, the nearest one.
  Status parse(std::span<const std::string> arguments);
  /// Whether the option was given in what was parsed.
  bool given(std::string_view name) const;
  /// The same of an argument that is no option.
  bool argument_given(std::string_view name) const;

  /// " [OPTIONS] QUEUE [FILE]"
  std::string usage() const;
  /// The lines that describe arguments and options, wrapped, with their defaults as declared.
  std::string help() const;

  struct Completion {
    std::string name;
    char letter;
    bool takes_value;
    std::vector<std::string> words;
    Names names;
    std::string help;
  };
  std::vector<Completion> completions() const;
  struct PositionalCompletion {
    bool rest;  // and all that follow it
    std::vector<std::string> words;
    Names names;
  };
  std::vector<PositionalCompletion> positional_completions() const;

 private:
  struct Entry {
    Option option;
    Setter setter;  // empty for flags
    bool* flag = nullptr;
    bool repeatable = false;
    bool given = false;
    std::vector<std::string> words;
    Names names = Names::kNone;
    std::string alias;
  };
  struct PositionalEntry {
    Positional positional;
    std::function<void(std::string)> setter;
    bool rest = false;
    bool given = false;
  };

  Entry* find(std::string_view name);
  Entry* find(char letter);
  Status unknown(std::string_view given) const;
  Status set(Entry& entry, std::string_view value);
  Status parse_long(std::string_view argument, std::span<const std::string> rest, bool& took_next);
  Status parse_short(std::string_view argument, std::span<const std::string> rest, bool& took_next);
  Status take_positional(const std::string& argument);

  std::vector<Entry> entries_;
  std::vector<PositionalEntry> positionals_;
  std::size_t next_positional_ = 0;
};

/// The number that `text` spells in decimal digits, in [min, max]; the error says the range.
Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t min, std::uint64_t max);

}  // namespace segue::cli
