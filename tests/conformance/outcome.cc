#include "tests/conformance/outcome.h"

#include <algorithm>

namespace segue::conformance {
namespace {

/// What must be equal.
std::string essence_of(const Seen& seen) {
  std::string text = seen.body + " by '" + seen.exchange + "' key '" + seen.key + "'";
  if (seen.priority != 0) text += " priority " + std::to_string(seen.priority);
  if (seen.expiration) text += " expiration " + std::to_string(*seen.expiration);
  if (seen.delay != 0) text += " delay " + std::to_string(seen.delay);
  if (!seen.group.empty()) text += " group " + seen.group;
  if (!seen.headers.empty()) text += " headers " + to_text(seen.headers);
  for (const Death& death : seen.deaths) {
    text += ", died in " + death.queue + " " + death.reason + " x" + std::to_string(death.count) +
            " from '" + death.exchange + "' key '" + death.key + "'";
    if (!death.original_expiration.empty()) text += " expiration " + death.original_expiration;
  }
  if (!seen.first_death.empty()) text += ", first " + seen.first_death;
  if (!seen.last_death.empty()) text += ", last " + seen.last_death;
  return text;
}

template <typename T>
bool fits(const std::optional<T>& expected, const std::optional<T>& observed) {
  return !expected || !observed || *expected == *observed;
}

}  // namespace

std::string to_text(const Seen& seen) {
  std::string text = essence_of(seen);
  if (seen.redelivered == Flag::kYes) text += ", redelivered";
  if (seen.delivery_count) text += ", count " + std::to_string(*seen.delivery_count);
  if (seen.tag) text += ", tag " + std::to_string(*seen.tag);
  return text;
}

std::string to_text(const Outcome& outcome) {
  std::string text;
  for (const ErrorCode code : outcome.errors) {
    text += (text.empty() ? "error " : " or ") + std::string(client::error_code_name(code));
  }
  if (outcome.errors.empty()) text = "success";
  for (const auto& [name, value] : outcome.facts) text += "; " + name + ": " + value;
  for (const Seen& seen : outcome.messages) text += "\n      " + to_text(seen);
  return text;
}

bool fits(const Seen& expected, const Seen& observed) {
  const bool flag = expected.redelivered == Flag::kMaybe || observed.redelivered == Flag::kMaybe ||
                    expected.redelivered == observed.redelivered;
  return flag && essence_of(expected) == essence_of(observed) &&
         fits(expected.delivery_count, observed.delivery_count) && fits(expected.tag, observed.tag);
}

bool fits(const std::vector<Seen>& expected, const std::vector<Seen>& observed) {
  return std::equal(expected.begin(), expected.end(), observed.begin(), observed.end(),
                    [](const Seen& one, const Seen& other) { return fits(one, other); });
}

bool fits(const Outcome& expected, const Outcome& observed) {
  if (expected.errors.empty() != observed.errors.empty()) return false;
  if (!expected.errors.empty()) return expected.errors.contains(*observed.errors.begin());
  return expected.facts == observed.facts && fits(expected.messages, observed.messages);
}

}  // namespace segue::conformance
