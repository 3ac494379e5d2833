#include "cli/options.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/config_values.h"
#include "common/suggestion.h"

namespace segue::cli {

namespace {

Status wrong(std::string message) {
  return Status(Code::kInvalidConfig, std::move(message));
}

std::string in_quotes(std::string_view text) {
  // A pasted megabyte should not come back as a message.
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  out += text.substr(0, kShown);
  if (text.size() > kShown) out += "...";
  return out + "'";
}

constexpr std::chrono::hours kLongest{10 * 365 * 24};

}  // namespace

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t min, std::uint64_t max) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < min || number > max) {
    return wrong("expected a whole number from " + std::to_string(min) + " to " +
                 std::to_string(max) + ", got " + in_quotes(text));
  }
  return number;
}

void OptionTable::flag(bool& target, Option option) {
  entries_.push_back(
      {.option = std::move(option), .setter = {}, .flag = &target, .words = {}, .alias = {}});
}

void OptionTable::custom(Option option, Setter setter) {
  entries_.push_back(
      {.option = std::move(option), .setter = std::move(setter), .words = {}, .alias = {}});
}

void OptionTable::text(std::string& target, Option option) {
  custom(std::move(option), [&target](std::string_view value) {
    target = value;
    return Status::ok();
  });
}

void OptionTable::text(std::optional<std::string>& target, Option option) {
  custom(std::move(option), [&target](std::string_view value) {
    target = std::string(value);
    return Status::ok();
  });
}

void OptionTable::list(std::vector<std::string>& target, Option option) {
  custom(std::move(option), [&target](std::string_view value) {
    target.emplace_back(value);
    return Status::ok();
  });
  entries_.back().repeatable = true;
}

void OptionTable::number(std::uint64_t& target, Option option, std::uint64_t min,
                         std::uint64_t max) {
  custom(std::move(option), [&target, min, max](std::string_view value) {
    Result<std::uint64_t> number = parse_number(value, min, max);
    if (number) target = *number;
    return number.status();
  });
}

void OptionTable::number(std::optional<std::uint64_t>& target, Option option, std::uint64_t min,
                         std::uint64_t max) {
  custom(std::move(option), [&target, min, max](std::string_view value) {
    Result<std::uint64_t> number = parse_number(value, min, max);
    if (number) target = *number;
    return number.status();
  });
}

void OptionTable::size(std::uint64_t& target, Option option, std::uint64_t min, std::uint64_t max) {
  custom(std::move(option), [&target, min, max](std::string_view value) {
    Result<std::uint64_t> bytes = parse_size(value);
    if (!bytes) return bytes.status();
    if (*bytes < min || *bytes > max) {
      return wrong("expected " + std::to_string(min) + " to " + std::to_string(max) +
                   " bytes, got " + in_quotes(value));
    }
    target = *bytes;
    return Status::ok();
  });
}

void OptionTable::duration(std::chrono::milliseconds& target, Option option) {
  custom(std::move(option), [&target](std::string_view value) {
    const bool bare =
        !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
    Result<std::chrono::milliseconds> duration =
        parse_duration(std::string(value) + (bare ? "s" : ""));
    if (!duration) return duration.status();
    if (*duration > kLongest) {
      return wrong("expected ten years at most, got " + in_quotes(value));
    }
    target = *duration;
    return Status::ok();
  });
}

void OptionTable::choice(std::string& target, Option option, std::vector<std::string> words) {
  custom(std::move(option), [&target, words](std::string_view value) {
    if (std::find(words.begin(), words.end(), value) == words.end()) {
      std::string all;
      for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
      return wrong("expected one of " + all + ", got " + in_quotes(value));
    }
    target = value;
    return Status::ok();
  });
  entries_.back().words = std::move(words);
}

void OptionTable::offer(std::string_view name, std::vector<std::string> words) {
  find(name)->words = std::move(words);
}

void OptionTable::offer(std::string_view name, Names names) {
  find(name)->names = names;
}

void OptionTable::repeatable(std::string_view name) {
  find(name)->repeatable = true;
}

void OptionTable::alias(std::string_view name, std::string other) {
  find(name)->alias = std::move(other);
}

void OptionTable::positional(std::string& target, Positional positional) {
  positionals_.push_back(
      {std::move(positional), [&target](std::string value) { target = std::move(value); }});
}

void OptionTable::positional(std::vector<std::string>& rest, Positional positional) {
  positionals_.push_back({std::move(positional),
                          [&rest](std::string value) { rest.push_back(std::move(value)); }, true});
}

OptionTable::Entry* OptionTable::find(std::string_view name) {
  for (Entry& entry : entries_) {
    if (entry.option.name == name || (!name.empty() && entry.alias == name)) return &entry;
  }
  return nullptr;
}

OptionTable::Entry* OptionTable::find(char letter) {
  for (Entry& entry : entries_) {
    if (entry.option.letter == letter && letter != 0) return &entry;
  }
  return nullptr;
}

bool OptionTable::given(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.option.name == name && entry.given; });
}

Status OptionTable::unknown(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries_) names.push_back(entry.option.name);
  std::string message = "no option " + in_quotes("--" + std::string(name));
  if (const auto nearest = closest_match(name, names)) {
    message += "; did you mean --" + std::string(*nearest) + "?";
  }
  return wrong(std::move(message));
}

Status OptionTable::set(Entry& entry, std::string_view value) {
  if (entry.given && !entry.repeatable) {
    return wrong("option --" + entry.option.name + " is given twice");
  }
  entry.given = true;
  const Status status = entry.setter(value);
  if (status.is_ok()) return status;
  return wrong("option --" + entry.option.name + ": " + status.message());
}

Status OptionTable::parse_long(std::string_view argument, std::span<const std::string> rest,
                               bool& took_next) {
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  Entry* entry = find(name);
  if (entry == nullptr) return unknown(name);
  if (entry->flag != nullptr) {
    if (equals != std::string_view::npos) {
      return wrong("option --" + entry->option.name + " takes no value");
    }
    *entry->flag = true;
    entry->given = true;
    return Status::ok();
  }
  if (equals != std::string_view::npos) return set(*entry, argument.substr(equals + 1));
  if (rest.empty()) {
    return wrong("option --" + entry->option.name + " needs a value: " + entry->option.value);
  }
  took_next = true;
  return set(*entry, rest.front());
}

Status OptionTable::parse_short(std::string_view argument, std::span<const std::string> rest,
                                bool& took_next) {
  for (std::size_t i = 0; i < argument.size(); ++i) {
    Entry* entry = find(argument[i]);
    if (entry == nullptr) return wrong("no option " + in_quotes("-" + std::string(1, argument[i])));
    if (entry->flag != nullptr) {
      *entry->flag = true;
      entry->given = true;
      continue;
    }
    if (i + 1 < argument.size()) return set(*entry, argument.substr(i + 1));
    if (rest.empty()) {
      return wrong("option -" + std::string(1, argument[i]) +
                   " needs a value: " + entry->option.value);
    }
    took_next = true;
    return set(*entry, rest.front());
  }
  return Status::ok();
}

Status OptionTable::take_positional(const std::string& argument) {
  if (next_positional_ >= positionals_.size()) {
    return wrong("unexpected argument " + in_quotes(argument));
  }
  PositionalEntry& entry = positionals_[next_positional_];
  entry.setter(argument);
  entry.given = true;
  if (!entry.rest) ++next_positional_;
  return Status::ok();
}

Status OptionTable::parse(std::span<const std::string> arguments) {
  bool options_over = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    bool took_next = false;
    Status status;
    if (!options_over && argument == "--") {
      options_over = true;
    } else if (!options_over && argument.starts_with("--")) {
      status =
          parse_long(std::string_view(argument).substr(2), arguments.subspan(i + 1), took_next);
    } else if (!options_over && argument.size() > 1 && argument[0] == '-') {
      status =
          parse_short(std::string_view(argument).substr(1), arguments.subspan(i + 1), took_next);
    } else {
      status = take_positional(argument);
    }
    SEGUE_RETURN_IF_ERROR(status);
    if (took_next) ++i;
  }
  for (const PositionalEntry& entry : positionals_) {
    if (entry.positional.required && !entry.given) {
      return wrong("argument " + entry.positional.name + " is missing (" + entry.positional.help +
                   ")");
    }
  }
  return Status::ok();
}

bool OptionTable::argument_given(std::string_view name) const {
  return std::any_of(positionals_.begin(), positionals_.end(), [&](const PositionalEntry& entry) {
    return entry.given && entry.positional.name == name;
  });
}

std::vector<OptionTable::PositionalCompletion> OptionTable::positional_completions() const {
  std::vector<PositionalCompletion> all;
  for (const PositionalEntry& entry : positionals_) {
    all.push_back({entry.rest, entry.positional.words, entry.positional.names});
  }
  return all;
}

std::vector<OptionTable::Completion> OptionTable::completions() const {
  std::vector<Completion> all;
  for (const Entry& entry : entries_) {
    all.push_back({entry.option.name, entry.option.letter, entry.flag == nullptr, entry.words,
                   entry.names, entry.option.help});
  }
  return all;
}

}  // namespace segue::cli
