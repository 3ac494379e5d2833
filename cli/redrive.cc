#include "cli/redrive.h"

#include "cli/table_output.h"

namespace segue::cli {

namespace {

const std::string* text_in(const client::Table& table, const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second.as<std::string>();
}

// An entry of x-death, the latest or the first death; null if there is none.
const client::Table* death(const client::Properties& properties, bool first) {
  const auto found = properties.headers.find("x-death");
  const auto* entries =
      found == properties.headers.end() ? nullptr : found->second.as<client::Array>();
  if (entries == nullptr || entries->empty()) return nullptr;
  return (first ? entries->back() : entries->front()).as<client::Table>();
}

const std::string* first_routing_key(const client::Properties& properties) {
  const client::Table* entry = death(properties, true);
  if (entry == nullptr) return nullptr;
  const auto found = entry->find("routing-keys");
  const auto* keys = found == entry->end() ? nullptr : found->second.as<client::Array>();
  return keys == nullptr || keys->empty() ? nullptr : keys->front().as<std::string>();
}

void strip_deaths(client::Table& headers) {
  std::erase_if(headers, [](const auto& header) {
    return header.first == "x-death" || header.first.starts_with("x-first-death-") ||
           header.first.starts_with("x-last-death-");
  });
}

}  // namespace

std::optional<std::string> death_queue(const client::Properties& properties, bool first) {
  const std::string* queue =
      text_in(properties.headers, first ? "x-first-death-queue" : "x-last-death-queue");
  if (queue == nullptr) {
    const client::Table* entry = death(properties, first);
    if (entry != nullptr) queue = text_in(*entry, "queue");
  }
  if (queue == nullptr || queue->empty()) return std::nullopt;
  return *queue;
}

std::optional<client::MessageHeader> redriven(const RedrivePlan& plan,
                                              const client::MessageHeader& header) {
  client::MessageHeader to = header;
  to.mandatory = true;
  to.exchange.clear();
  // It has waited for its time already.
  to.properties.delay = {};
  to.properties.deliver_at.reset();
  if (plan.to_exchange) {
    to.exchange = *plan.to_exchange;
    const std::string* key = first_routing_key(header.properties);
    if (plan.routing_key) {
      to.routing_key = *plan.routing_key;
    } else if (key != nullptr) {
      to.routing_key = *key;
    }
  } else if (plan.to_queue) {
    to.routing_key = *plan.to_queue;
  } else {
    std::optional<std::string> queue = death_queue(header.properties, plan.back_to_first);
    if (!queue) return std::nullopt;
    to.routing_key = *std::move(queue);
  }
  if (!plan.keep_headers && !plan.to_exchange && !plan.to_queue) {
    strip_deaths(to.properties.headers);
  }
  // It is no repeat. A window that remembers the id would swallow the message and confirm it, and
  // then it would be gone.
  to.properties.headers.erase("x-deduplication-id");
  return to;
}

std::string destination_name(const client::MessageHeader& header) {
  if (header.exchange.empty()) return "queue '" + printable(header.routing_key) + "'";
  return "exchange '" + printable(header.exchange) + "'";
}

}  // namespace segue::cli
