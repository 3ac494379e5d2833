#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_codes.h"
#include "cli/session.h"
#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

using PlaceRange = client::Admin::PlaceRange;

/// More go in another request.
constexpr std::size_t kRangesAtOnce = 10'000;

Result<PlaceRange> parse_places(const std::string& text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::size_t dots = text.find("..");
  const Result<std::uint64_t> first = parse_number(text.substr(0, dots), 1, kMost);
  if (!first) return first.status();
  if (dots == std::string::npos) return PlaceRange{*first, *first};
  const Result<std::uint64_t> last = parse_number(text.substr(dots + 2), 1, kMost);
  if (!last) return last.status();
  if (*last < *first) {
    return Status(Code::kInvalidConfig, "'" + text + "': the first place is above the last");
  }
  return PlaceRange{*first, *last};
}

class CancelDelayed final : public SessionCommand {
 public:
  Status check(const OptionTable& /*options*/) override {
    if (all_ == !texts_.empty()) {
      return Status(Code::kInvalidConfig, "say which: places, or --all");
    }
    if (all_) places_.push_back({1, std::numeric_limits<std::int64_t>::max()});
    for (const std::string& text : texts_) {
      const Result<PlaceRange> range = parse_places(text);
      if (!range) return range.status();
      places_.push_back(*range);
    }
    return Status::ok();
  }

 protected:
  void declare_own(OptionTable& options) override {
    options.positional(name_, {"QUEUE", "the queue's name", true, OptionTable::Names::kQueues});
    options.positional(texts_, {"PLACE", "which of its delayed messages: a number, or FIRST..LAST",
                                false, OptionTable::Names::kNone});
    options.flag(all_, {"all", 0, "", "all that are delayed"});
    options.flag(json_, {"json", 0, "", "print JSON"});
  }

  std::string queue() const override { return name_; }

  int run_with(Console& console, client::Connection& connection) override {
    std::uint64_t cancelled = 0;
    for (std::size_t at = 0; at < places_.size(); at += kRangesAtOnce) {
      const std::size_t end = std::min(places_.size(), at + kRangesAtOnce);
      const auto count = connection.admin().cancel_delayed(
          name_, {places_.begin() + static_cast<std::ptrdiff_t>(at),
                  places_.begin() + static_cast<std::ptrdiff_t>(end)});
      if (!count) {
        return report(console, "cancel delayed messages of '" + name_ + "'", count.error());
      }
      cancelled += *count;
    }
    if (json_) {
      JsonWriter json;
      json.begin_object().field("queue", name_).field("cancelled", cancelled).end_object();
      console.write(json.take() + "\n");
    } else {
      console.write(counted(cancelled, "delayed message") + " of " + printable(name_) +
                    " cancelled\n");
    }
    return kExitOk;
  }

 private:
  std::string name_;
  std::vector<std::string> texts_;
  std::vector<PlaceRange> places_;
  bool all_ = false;
  bool json_ = false;
};

}  // namespace

CommandEntry cancel_delayed_command() {
  return {"queue cancel-delayed", "remove messages whose time to be delivered has not come",
          "PLACE is the number that `segue browse --delayed` shows. Messages that are not delayed\n"
          "any more stay, and are no failure; how many went is told.\n\nExamples:\n"
          "  segue queue cancel-delayed reminders 17 20..25\n"
          "  segue queue cancel-delayed reminders --all\n",
          [] { return std::make_unique<CancelDelayed>(); }};
}

}  // namespace segue::cli
