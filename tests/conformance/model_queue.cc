#include "tests/conformance/model_queue.h"

#include <algorithm>
#include <limits>

namespace segue::conformance {
namespace {

constexpr std::int64_t kTenYears = 315'360'000'000;

struct Numbers {
  std::int64_t least;
  std::int64_t most;
};

const std::map<std::string, Numbers> kNumbers = {
    {"x-expires", {1, kTenYears}},
    {"x-delivery-limit", {0, 1'000'000'000}},
    {"x-message-ttl", {0, kTenYears}},
    {"x-max-length", {0, std::numeric_limits<std::int64_t>::max()}},
    {"x-max-length-bytes", {0, std::numeric_limits<std::int64_t>::max()}},
    {"x-consumer-timeout", {1, kTenYears}},
    {"x-max-priority", {1, 255}},
    {"x-deduplication-window", {1, kTenYears}},
    {"x-deduplication-max", {1, 1'000'000}},
};

bool makes_sense(const std::string& name, const Value& value) {
  const auto* text = value.as<std::string>();
  const auto* number = value.as<std::int64_t>();
  if (const auto found = kNumbers.find(name); found != kNumbers.end()) {
    return number != nullptr && *number >= found->second.least && *number <= found->second.most;
  }
  if (name == "x-durability") {
    return number != nullptr ? *number >= 1 && *number <= 60'000
                             : text != nullptr && *text == "sync";
  }
  if (name == "x-single-active-consumer" || name == "x-message-groups") {
    return value.as<bool>() != nullptr;
  }
  if (name == "x-overflow") {
    return text != nullptr &&
           (*text == "drop-head" || *text == "reject-publish" || *text == "reject-publish-dlx");
  }
  const bool is_name = name == "x-dead-letter-exchange" || name == "x-dead-letter-routing-key";
  return is_name && text != nullptr && text->size() <= 255;
}

std::string about(const std::string& queue, const std::string& reason,
                  const std::string& exchange) {
  return queue + " " + reason + " '" + exchange + "'";
}

}  // namespace

bool make_sense(const Table& queue_arguments) {
  for (const auto& [name, value] : queue_arguments) {
    if (!makes_sense(name, value)) return false;
  }
  const auto groups = queue_arguments.find("x-message-groups");
  const bool has_groups = groups != queue_arguments.end() && groups->second == Value(true);
  if (has_groups && queue_arguments.contains("x-max-priority")) return false;
  if (queue_arguments.contains("x-deduplication-max") &&
      !queue_arguments.contains("x-deduplication-window")) {
    return false;
  }
  return !queue_arguments.contains("x-dead-letter-routing-key") ||
         queue_arguments.contains("x-dead-letter-exchange");
}

bool can_change(const std::string& queue_argument) {
  return queue_argument != "x-durability" && queue_argument != "x-single-active-consumer" &&
         queue_argument != "x-max-priority" && queue_argument != "x-message-groups";
}

std::optional<std::int64_t> ModelQueue::number(const char* argument) const {
  const auto found = in_force.find(argument);
  if (found == in_force.end()) return std::nullopt;
  const auto* number = found->second.as<std::int64_t>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<std::string> ModelQueue::text(const char* argument) const {
  const auto found = in_force.find(argument);
  if (found == in_force.end()) return std::nullopt;
  const auto* text = found->second.as<std::string>();
  return text == nullptr ? std::nullopt : std::optional(*text);
}

bool ModelQueue::flag(const char* argument) const {
  const auto found = in_force.find(argument);
  return found != in_force.end() && found->second == Value(true);
}

std::size_t ModelQueue::ready_bytes() const {
  std::size_t bytes = 0;
  for (const ModelMessage& message : ready) bytes += message.seen.body.size();
  return bytes;
}

std::size_t ModelQueue::letter_count() const {
  std::size_t count = 0;
  for (const auto& [lane, waiting] : letters) count += waiting.size();
  return count;
}

bool ModelQueue::has_room(std::size_t bytes) const {
  const auto most = number("x-max-length");
  const auto most_bytes = number("x-max-length-bytes");
  return (!most || static_cast<std::int64_t>(ready.size()) < *most) &&
         (!most_bytes || static_cast<std::int64_t>(ready_bytes() + bytes) <= *most_bytes);
}

bool ModelQueue::is_over_limit() const {
  const auto most = number("x-max-length");
  const auto most_bytes = number("x-max-length-bytes");
  return (most && static_cast<std::int64_t>(ready.size()) > *most) ||
         (most_bytes && static_cast<std::int64_t>(ready_bytes()) > *most_bytes);
}

bool ModelQueue::expires_at_once(const ModelMessage& message) const {
  return number("x-message-ttl") == 0 || message.seen.expiration == 0;
}

void ModelQueue::put(ModelMessage message) {
  const auto at = std::find_if(ready.begin(), ready.end(), [&](const ModelMessage& other) {
    return other.lane < message.lane || (other.lane == message.lane && other.place > message.place);
  });
  ready.insert(at, std::move(message));
}

void ModelQueue::append(Seen seen) {
  append(arrived(std::move(seen)));
}

void ModelQueue::append(ModelMessage message) {
  message.place = next_place++;
  put(std::move(message));
}

ModelMessage ModelQueue::arrived(Seen seen) const {
  ModelMessage message;
  const auto highest = number("x-max-priority");
  message.lane = highest ? std::min(seen.priority, static_cast<int>(*highest)) : 0;
  message.seen = std::move(seen);
  message.seen.redelivered = Flag::kNo;
  message.seen.delivery_count = 0;
  return message;
}

// Line 7.
bool ModelQueue::remembers(const Table& headers) const {
  const auto stamp = headers.find("x-deduplication-id");
  return stamp != headers.end() &&
         std::find(window.begin(), window.end(), *stamp->second.as<std::string>()) != window.end();
}

void ModelQueue::remember(const Table& headers) {
  const auto stamp = headers.find("x-deduplication-id");
  if (stamp == headers.end() || !number("x-deduplication-window")) return;
  window.push_back(*stamp->second.as<std::string>());
  keep_window();
}

void ModelQueue::keep_window() {
  if (!number("x-deduplication-window")) window.clear();
  const auto most = static_cast<std::size_t>(number("x-deduplication-max").value_or(100'000));
  while (window.size() > most) window.pop_front();
}

bool goes_round(const std::vector<Death>& deaths, const std::string& queue) {
  for (const Death& death : deaths) {
    if (death.reason == "rejected") return false;
    if (death.queue == queue) return true;
  }
  return false;
}

Seen letter_of(const ModelLetter& letter, const ModelQueue& source) {
  Seen seen = letter.message.seen;
  Death death{source.as.name, letter.reason, 1, seen.exchange, seen.key, ""};
  const auto same = std::find_if(seen.deaths.begin(), seen.deaths.end(), [&](const Death& other) {
    return other.queue == death.queue && other.reason == death.reason;
  });
  if (same != seen.deaths.end()) {
    death = *same;
    ++death.count;
    seen.deaths.erase(same);
  }
  if (seen.expiration) death.original_expiration = std::to_string(*seen.expiration);
  seen.expiration.reset();
  seen.delay = 0;
  seen.deaths.insert(seen.deaths.begin(), death);
  seen.last_death = about(source.as.name, letter.reason, seen.exchange);
  if (seen.first_death.empty()) seen.first_death = seen.last_death;
  seen.exchange = source.text("x-dead-letter-exchange").value_or("");
  seen.key = source.text("x-dead-letter-routing-key").value_or(seen.key);
  return seen;
}

}  // namespace segue::conformance
