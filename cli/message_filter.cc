#include "cli/message_filter.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cli/field_values.h"
#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

constexpr std::array<std::string_view, 13> kFields = {
    "exchange",       "routing-key", "reason",     "content-type", "content-encoding",
    "correlation-id", "reply-to",    "message-id", "group-id",     "type",
    "user-id",        "app-id",      "priority"};

std::string known_fields() {
  std::string names = "header.NAME";
  for (const std::string_view field : kFields) names += ", " + std::string(field);
  return names;
}

std::string text_of(std::string_view field, std::string_view exchange, std::string_view routing_key,
                    const client::Properties& properties) {
  if (field == "exchange") return std::string(exchange);
  if (field == "routing-key") return std::string(routing_key);
  if (field == "content-type") return properties.content_type;
  if (field == "content-encoding") return properties.content_encoding;
  if (field == "correlation-id") return properties.correlation_id;
  if (field == "reply-to") return properties.reply_to;
  if (field == "message-id") return properties.message_id;
  if (field == "group-id") return properties.group_id;
  if (field == "type") return properties.type;
  if (field == "user-id") return properties.user_id;
  if (field == "app-id") return properties.app_id;
  return std::to_string(properties.priority);
}

// A header's value as one would type it.
std::string text_of(const client::Value& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  JsonWriter json;
  write_value(json, value);
  return json.take();
}

}  // namespace

const char* const kFilterHelp =
    "EXPR chooses messages: header.NAME (there is such a header), !header.NAME, "
    "header.NAME=VALUE,\n"
    "header.NAME!=VALUE, and = or != with exchange, routing-key, reason (of the first death),\n"
    "content-type, content-encoding, correlation-id, reply-to, message-id, group-id, type, "
    "user-id,\n"
    "app-id or priority. NAME and VALUE may stand in double quotes; a VALUE in quotes is a text, 3 "
    "also the\n"
    "number. With several --filter all must hold.\n";

/// Reads one expression from left to right.
struct MessageFilter::Parser {
  std::string_view text;
  std::size_t at = 0;

  Status wrong(std::size_t where, const std::string& expected) const {
    return Status(Code::kInvalidConfig, "filter '" + printable(text.substr(0, 200)) +
                                            "', position " + std::to_string(where + 1) +
                                            ": expected " + expected);
  }
  bool take(std::string_view word) {
    if (!text.substr(at).starts_with(word)) return false;
    at += word.size();
    return true;
  }
  Result<std::string> quoted() {
    const std::size_t begin = at++;
    std::string out;
    while (at < text.size() && text[at] != '"') {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      out += text[at++];
    }
    if (at == text.size())
      return wrong(text.size(),
                   "the quote that ends the one at position " + std::to_string(begin + 1));
    ++at;
    return out;
  }
  Result<std::string> header_name() {
    if (at < text.size() && text[at] == '"') return quoted();
    const std::size_t end = std::min(text.find('=', at), text.size());
    std::string name(text.substr(at, end - at));
    if (name.ends_with('!')) name.pop_back();
    if (name.empty()) return wrong(at, "a header's name");
    at += name.size();
    return name;
  }
  Result<std::string> value(bool& text_only) {
    if (at < text.size() && text[at] == '"') {
      text_only = true;
      Result<std::string> out = quoted();
      if (out && at != text.size()) return wrong(at, "the end behind the quotes");
      return out;
    }
    std::string out(text.substr(at));
    at = text.size();
    return out;
  }

  Result<Condition> parse() {
    Condition condition;
    const bool absent = take("!");
    const std::size_t begin = at;
    if (take("header.")) {
      condition.field = "header";
      Result<std::string> name = header_name();
      if (!name) return name.status();
      condition.name = std::move(*name);
    } else {
      const auto* const found = std::find_if(kFields.begin(), kFields.end(), [&](auto field) {
        const std::string_view rest = text.substr(at);
        return rest.starts_with(field) && (rest.size() == field.size() ||
                                           rest[field.size()] == '=' || rest[field.size()] == '!');
      });
      if (found == kFields.end()) return wrong(begin, "one of " + known_fields());
      condition.field = *found;
      at += found->size();
    }
    if (condition.field == "header" && at == text.size()) {
      condition.present = true;
      condition.negated = absent;
      return condition;
    }
    condition.negated = take("!=");
    if (!condition.negated && !take("=")) {
      return wrong(
          at, condition.field == "header" ? "=VALUE, !=VALUE or the end" : "=VALUE or !=VALUE");
    }
    if (absent) return wrong(0, "no '!' before a comparison: write != in it");
    Result<std::string> value_text = value(condition.text_only);
    if (!value_text) return value_text.status();
    condition.value = std::move(*value_text);
    return condition;
  }
};

Status MessageFilter::add(std::string_view expression) {
  Result<Condition> condition = Parser{expression}.parse();
  if (!condition) return condition.status();
  conditions_.push_back(std::move(*condition));
  return Status::ok();
}

bool MessageFilter::holds(const Condition& condition, std::string_view exchange,
                          std::string_view routing_key, const client::Properties& properties) {
  if (condition.field != "header" && condition.field != "reason") {
    const bool same =
        text_of(condition.field, exchange, routing_key, properties) == condition.value;
    return same != condition.negated;
  }
  const auto found = properties.headers.find(condition.field == "reason" ? "x-first-death-reason"
                                                                         : condition.name);
  const bool there = found != properties.headers.end();
  if (condition.present) return there != condition.negated;
  const bool same = there && (!condition.text_only || found->second.as<std::string>() != nullptr) &&
                    text_of(found->second) == condition.value;
  return same != condition.negated;
}

bool MessageFilter::matches(std::string_view exchange, std::string_view routing_key,
                            const client::Properties& properties) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
    return holds(condition, exchange, routing_key, properties);
  });
}

bool MessageFilter::matches(const client::MessageHeader& header) const {
  return matches(header.exchange, header.routing_key, header.properties);
}

}  // namespace segue::cli
