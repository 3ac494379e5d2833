#include "cli/wait_notes.h"

#include <algorithm>
#include <utility>

#include "cli/table_output.h"

namespace segue::cli {

void WaitNotes::begin(Wait& wait, std::string line, TimePoint now) {
  if (!wait.since) wait.since = now;
  wait.waiting = std::move(line);
  wait.over.clear();
}

void WaitNotes::end(Wait& wait, std::string line) {
  if (!wait.since) return;
  wait.since.reset();
  wait.waiting.clear();
  wait.over = std::move(line);
}

void WaitNotes::take(Wait& wait, TimePoint now, std::vector<std::string>& lines) {
  if (wait.since && now - *wait.since >= kWorthTelling && wait.told != wait.waiting) {
    wait.told = wait.waiting;
    lines.push_back("segue: waiting: " + wait.waiting);
  }
  if (!wait.over.empty()) {
    if (!wait.told.empty()) lines.push_back("segue: going on: " + wait.over);
    wait.over.clear();
    wait.told.clear();
  }
}

void WaitNotes::on_attempt_failed(const std::string& router, const std::string& why,
                                  TimePoint now) {
  const std::lock_guard lock(mutex_);
  failed_[router] = why;
  if (failed_.size() < routers_.size()) return;
  std::string all;
  for (const std::string& one : routers_) all += (all.empty() ? "" : ", ") + one;
  // One line however the reason varies.
  if (router_.waiting.empty()) {
    begin(router_,
          "no router answers at " + printable(all) + " (" + printable(why) + "), trying again",
          now);
  }
}

std::string WaitNotes::why_none_answers() {
  const std::lock_guard lock(mutex_);
  if (failed_.empty()) return {};
  const std::string& first = failed_.begin()->second;
  const auto other = [&](const auto& failure) { return failure.second != first; };
  if (std::none_of(failed_.begin(), failed_.end(), other)) return first;
  std::string text;
  for (const auto& [router, why] : failed_) {
    text += (text.empty() ? "" : "; ") + router + ": " + why;
  }
  return text;
}

void WaitNotes::on_connected() {
  const std::lock_guard lock(mutex_);
  failed_.clear();
  end(router_, "a router answers");
}

void WaitNotes::on_lost() {
  const std::lock_guard lock(mutex_);
  failed_.clear();
  // What was blocked is told anew by the next router.
  end(blocked_, "the connection is made anew");
}

void WaitNotes::on_blocked(const client::BlockedState& blocked, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!blocked.blocked) return end(blocked_, "publishes are taken again");
  std::string line = printable(blocked.reason);
  std::string where;
  if (!blocked.shards.empty()) {
    where = (blocked.shards.size() == 1 ? "shard " : "shards ") + ranges(blocked.shards);
  }
  if (!queue_.empty()) where += (where.empty() ? "" : ", ") + ("queue " + printable(queue_));
  if (!where.empty()) line += " (" + where + ")";
  line += "; publishes are kept until it takes them";
  if (blocked.timeout.count() > 0) {
    line += ", at most " + human_duration(static_cast<std::uint64_t>(blocked.timeout.count()));
  }
  begin(blocked_, std::move(line), now);
}

void WaitNotes::on_queue(const client::QueueDescription& queue, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (queue.available) return end(away_, "node " + printable(queue.node) + " is back");
  begin(away_,
        "node " + printable(queue.node) + " is down (shard " + std::to_string(queue.shard) +
            ", queue " + printable(queue.name) + "); its messages are there again when it is back",
        now);
}

std::vector<std::string> WaitNotes::take(TimePoint now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  take(router_, now, lines);
  take(blocked_, now, lines);
  take(away_, now, lines);
  return lines;
}

}  // namespace segue::cli
