#include "tests/conformance/names.h"

namespace segue::conformance {
namespace {

std::string text_in(const Table& table, const std::string& name) {
  const auto found = table.find(name);
  if (found == table.end()) return "";
  const auto* text = found->second.as<std::string>();
  return text == nullptr ? "(not a text)" : *text;
}

bool tells_of_deaths(const std::string& header) {
  return header == "x-death" || header.starts_with("x-first-death-") ||
         header.starts_with("x-last-death-");
}

}  // namespace

std::string Names::there(const std::string& name) const {
  return is_queue_name(name) || is_exchange_name(name) ? prefix_ + name : name;
}

std::string Names::here(const std::string& name) const {
  return name.starts_with(prefix_) ? name.substr(prefix_.size()) : name;
}

std::string Names::pattern_there(const std::string& pattern) const {
  return "^" + prefix_ + "(?:" + pattern + ")";
}

std::string Names::pattern_here(const std::string& pattern) const {
  const std::size_t around = pattern_there("").size();
  const std::string here =
      pattern.size() < around ? pattern : pattern.substr(around - 1, pattern.size() - around);
  return pattern_there(here) == pattern ? here : pattern;
}

Table Names::there(const Table& table) const {
  Table changed = table;
  for (auto& [name, value] : changed) {
    if (const auto* text = value.as<std::string>()) value = there(*text);
  }
  return changed;
}

Table Names::here(const Table& table) const {
  Table changed = table;
  for (auto& [name, value] : changed) {
    if (const auto* text = value.as<std::string>()) value = here(*text);
  }
  return changed;
}

std::vector<Death> Names::deaths_in(const Table& headers) const {
  std::vector<Death> deaths;
  const auto found = headers.find("x-death");
  if (found == headers.end()) return deaths;
  const auto* entries = found->second.as<client::Array>();
  if (entries == nullptr) return {{"(not an array)", "", 0, "", ""}};
  for (const Value& entry : *entries) {
    const auto* table = entry.as<Table>();
    if (table == nullptr || !table->contains("time")) return {{"(an odd entry)", "", 0, "", ""}};
    Death death;
    death.queue = here(text_in(*table, "queue"));
    death.reason = text_in(*table, "reason");
    death.exchange = here(text_in(*table, "exchange"));
    death.original_expiration = text_in(*table, "original-expiration");
    const auto count = table->find("count");
    const auto* number = count == table->end() ? nullptr : count->second.as<std::int64_t>();
    death.count = number == nullptr ? -1 : static_cast<int>(*number);
    const auto keys = table->find("routing-keys");
    const auto* array = keys == table->end() ? nullptr : keys->second.as<client::Array>();
    const auto* key =
        array == nullptr || array->size() != 1 ? nullptr : array->front().as<std::string>();
    death.key = key == nullptr ? "(not one)" : here(*key);
    deaths.push_back(death);
  }
  return deaths;
}

std::string Names::death_in(const Table& headers, const std::string& which) const {
  const std::string name = "x-" + which + "-death-";
  if (!headers.contains(name + "queue")) return "";
  return here(text_in(headers, name + "queue")) + " " + text_in(headers, name + "reason") + " '" +
         here(text_in(headers, name + "exchange")) + "'";
}

Seen Names::seen(const client::MessageHeader& header, std::string_view body) const {
  Seen seen;
  seen.body = std::string(body);
  seen.exchange = here(header.exchange);
  seen.key = here(header.routing_key);
  seen.priority = static_cast<int>(header.properties.priority);
  if (header.properties.expiration) seen.expiration = header.properties.expiration->count();
  seen.delay = static_cast<int>(header.properties.delay.count());
  seen.group = header.properties.group_id;
  seen.headers = header.properties.headers;
  seen.deaths = deaths_in(seen.headers);
  seen.first_death = death_in(seen.headers, "first");
  seen.last_death = death_in(seen.headers, "last");
  std::erase_if(seen.headers, [](const auto& entry) { return tells_of_deaths(entry.first); });
  return seen;
}

Seen Names::seen(const client::Delivery& delivery) const {
  client::MessageHeader header;
  header.exchange = std::string(delivery.exchange());
  header.routing_key = std::string(delivery.routing_key());
  header.properties = delivery.properties();
  Seen seen = this->seen(header, delivery.body());
  seen.redelivered = delivery.redelivered() ? Flag::kYes : Flag::kNo;
  seen.delivery_count = delivery.delivery_count();
  seen.tag = delivery.tag();
  return seen;
}

}  // namespace segue::conformance
