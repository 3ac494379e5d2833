#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "segue/error.h"
#include "tests/conformance/program.h"

namespace segue::conformance {

using client::ErrorCode;

/// An entry of x-death, but for its time.
struct Death {
  std::string queue;
  std::string reason;
  int count = 1;
  std::string exchange;
  std::string key;
  std::string original_expiration{};

  bool operator==(const Death&) const = default;
};

/// `kMaybe` for what the semantics leave open.
enum class Flag { kNo, kYes, kMaybe };

/// A message, as a client sees it.
struct Seen {
  std::string body;
  std::string exchange;
  std::string key;
  int priority = 0;
  std::optional<std::int64_t> expiration{};
  int delay = 0;
  std::string group{};
  /// Without those that tell of deaths.
  Table headers{};
  std::vector<Death> deaths{};
  /// "queue reason exchange"; empty: none.
  std::string first_death{};
  std::string last_death{};
  Flag redelivered = Flag::kMaybe;
  /// Not set: not shown, or left open.
  std::optional<std::uint32_t> delivery_count{};
  /// Of a consumer's deliveries.
  std::optional<std::uint64_t> tag{};
};

/// What an operation gave.
struct Outcome {
  /// Empty: it succeeded. Of an expected outcome: any of these.
  std::set<ErrorCode> errors{};
  std::map<std::string, std::string> facts{};
  std::vector<Seen> messages{};
};

std::string to_text(const Seen& seen);
std::string to_text(const Outcome& outcome);

/// Whether what was observed is what was expected.
bool fits(const Seen& expected, const Seen& observed);
bool fits(const std::vector<Seen>& expected, const std::vector<Seen>& observed);
bool fits(const Outcome& expected, const Outcome& observed);

}  // namespace segue::conformance
