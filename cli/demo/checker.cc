#include "cli/demo/checker.h"

#include <algorithm>

#include "cli/demo/topic_key.h"

namespace segue::cli::demo {

namespace {

constexpr std::size_t kMostExamples = 5;

std::string in_queue(const std::string& queue) {
  return " in queue '" + queue + "'";
}

}  // namespace

std::string_view check_text(Check check) {
  switch (check) {
    case Check::kPlacement:
      return "the queues sit on different nodes";
    case Check::kProcesses:
      return "processes died and came back as planned, and no other way";
    case Check::kConfirmed:
      return "every message was confirmed, once";
    case Check::kNoneLost:
      return "every confirmed message was consumed from every queue that matches its key";
    case Check::kRouting:
      return "no message reached a queue that does not match its key";
    case Check::kContent:
      return "every body is a record of the file, byte for byte, under its key";
    case Check::kOrder:
      return "each producer's messages came in publish order, apart from redelivered ones";
    case Check::kDuplicates:
      return "no message came twice without the redelivered flag";
    case Check::kLeftOver:
      return "the queues are empty in the end";
  }
  return {};
}

Checker::Checker(const RecordFile& file, const PublishPlan& plan,
                 const std::vector<QueuePlan>& queues)
    : file_(file), plan_(plan), confirmed_marks_(make_marks()), rejected_marks_(make_marks()) {
  for (const QueuePlan& queue_plan : queues) {
    Queue queue;
    queue.plan = queue_plan;
    for (const RecordFile::Record& record : file.records()) {
      queue.takes.push_back(any_topic_matches(queue_plan.patterns, record.key));
      queue.expected += queue.takes.back() ? plan.passes() : 0;
    }
    queue.seen = make_marks();
    queue.highest.resize(plan.producers());
    queues_.push_back(std::move(queue));
  }
  for (std::size_t i = 0; i < kCheckCount; ++i) findings_[i].check = static_cast<Check>(i);
}

Checker::Marks Checker::make_marks() const {
  Marks marks(plan_.producers());
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i].resize(plan_.count(i) + 1);
  return marks;
}

std::string Checker::name(std::size_t producer, std::uint64_t seq) const {
  std::string text =
      "message " + std::to_string(seq) + " of producer " + std::to_string(producer + 1);
  if (is_planned(producer, seq, seq)) {
    const PublishPlan::Item item = plan_.item(producer, seq);
    text += " (record " + std::to_string(item.record + 1) + ", pass " + std::to_string(item.pass) +
            ", key " + file_.records()[item.record].key + ")";
  }
  return text;
}

std::string Checker::range_name(std::size_t producer, std::uint64_t first,
                                std::uint64_t last) const {
  if (first == last) return name(producer, first);
  return "messages " + std::to_string(first) + "-" + std::to_string(last) + " of producer " +
         std::to_string(producer + 1);
}

void Checker::fail_times(std::uint64_t failures, Check check, std::string what) {
  Finding& finding = findings_[static_cast<std::size_t>(check)];
  finding.failures += failures;
  if (finding.examples.size() < kMostExamples) finding.examples.push_back(std::move(what));
}

bool Checker::is_planned(std::size_t producer, std::uint64_t first, std::uint64_t last) const {
  return producer < plan_.producers() && first >= 1 && first <= last &&
         last <= plan_.count(producer);
}

bool Checker::settle(std::size_t producer, std::uint64_t seq, std::string_view how) {
  if (!confirmed_marks_[producer][seq] && !rejected_marks_[producer][seq]) return true;
  fail(Check::kConfirmed, name(producer, seq) + " was " + std::string(how) + " after it was " +
                              (confirmed_marks_[producer][seq] ? "confirmed" : "rejected"));
  return false;
}

void Checker::on_confirmed(std::size_t producer, std::uint64_t first, std::uint64_t last) {
  if (!is_planned(producer, first, last)) {
    return fail(Check::kConfirmed, name(producer, last) + " was confirmed and never published");
  }
  for (std::uint64_t seq = first; seq <= last; ++seq) {
    if (!settle(producer, seq, "confirmed")) continue;
    confirmed_marks_[producer][seq] = true;
    ++confirmed_;
    const std::size_t record = plan_.item(producer, seq).record;
    for (Queue& queue : queues_) {
      if (!queue.takes[record]) continue;
      ++queue.counts.routed;
      queue.awaited += queue.seen[producer][seq] ? 0 : 1;
    }
  }
}

void Checker::on_unroutable(std::size_t producer, std::uint64_t first, std::uint64_t last) {
  if (!is_planned(producer, first, last)) return;
  for (std::uint64_t seq = first; seq <= last; ++seq) {
    const std::size_t record = plan_.item(producer, seq).record;
    if (std::any_of(queues_.begin(), queues_.end(),
                    [&](const Queue& queue) { return queue.takes[record]; })) {
      fail(Check::kNoneLost, name(producer, seq) + " was confirmed as taken by no queue");
    }
  }
}

void Checker::on_rejected(std::size_t producer, std::uint64_t first, std::uint64_t last,
                          std::string_view why) {
  if (!is_planned(producer, first, last)) {
    return fail(Check::kConfirmed, name(producer, last) + " was rejected and never published");
  }
  for (std::uint64_t seq = first; seq <= last; ++seq) {
    if (!settle(producer, seq, "rejected")) continue;
    rejected_marks_[producer][seq] = true;
    ++rejected_;
  }
  fail_times(last - first + 1, Check::kConfirmed,
             range_name(producer, first, last) + " rejected: " + std::string(why));
}

bool Checker::check_content(const Queue& queue, const Arrival& arrival) {
  const auto wrong = [&](const std::string& what) {
    fail(Check::kContent,
         name(arrival.producer, arrival.seq) + in_queue(queue.plan.name) + " " + what);
  };
  if (!is_planned(arrival.producer, arrival.seq, arrival.seq)) {
    wrong("was never published");
    return false;
  }
  const PublishPlan::Item item = plan_.item(arrival.producer, arrival.seq);
  const RecordFile::Record& record = file_.records()[item.record];
  if (arrival.pass != item.pass || arrival.record != item.record) {
    wrong("says that it is record " + std::to_string(arrival.record + 1) + " of pass " +
          std::to_string(arrival.pass));
  } else if (arrival.hash != record.hash) {
    wrong("has another body than the record");
  } else if (arrival.routing_key != record.key) {
    wrong("has the key '" + std::string(arrival.routing_key) + "'");
  }
  return true;
}

void Checker::check_repetition(const Queue& queue, const Arrival& arrival, bool again) {
  if (arrival.redelivered) return;
  if (again) {
    fail(Check::kDuplicates, name(arrival.producer, arrival.seq) + in_queue(queue.plan.name));
  } else if (arrival.seq < queue.highest[arrival.producer]) {
    fail(Check::kOrder, name(arrival.producer, arrival.seq) + in_queue(queue.plan.name) +
                            " came after message " +
                            std::to_string(queue.highest[arrival.producer]));
  }
}

void Checker::on_arrival(std::size_t index, const Arrival& arrival) {
  Queue& queue = queues_[index];
  queue.counts.redelivered += arrival.redelivered ? 1 : 0;
  if (!check_content(queue, arrival)) return;
  auto seen = queue.seen[arrival.producer][arrival.seq];
  const bool again = seen;
  check_repetition(queue, arrival, again);
  queue.highest[arrival.producer] = std::max(queue.highest[arrival.producer], arrival.seq);
  if (again) {
    ++queue.counts.duplicates;
    return;
  }
  seen = true;
  ++queue.counts.consumed;
  if (!queue.takes[plan_.item(arrival.producer, arrival.seq).record]) {
    fail(Check::kRouting, name(arrival.producer, arrival.seq) + in_queue(queue.plan.name));
  } else if (confirmed_marks_[arrival.producer][arrival.seq]) {
    --queue.awaited;
  }
}

bool Checker::complete() const {
  return settled() == plan_.total() &&
         std::all_of(queues_.begin(), queues_.end(),
                     [](const Queue& queue) { return queue.awaited == 0; });
}

QueueCounts Checker::counts(std::size_t queue) const {
  return queues_[queue].counts;
}

void Checker::find_unconfirmed() {
  for (std::size_t producer = 0; producer < plan_.producers(); ++producer) {
    const auto open = [&](std::uint64_t seq) {
      return seq <= plan_.count(producer) && !confirmed_marks_[producer][seq] &&
             !rejected_marks_[producer][seq];
    };
    for (std::uint64_t seq = 1; seq <= plan_.count(producer); ++seq) {
      if (!open(seq)) continue;
      const std::uint64_t first = seq;
      while (open(seq + 1)) ++seq;
      fail_times(seq - first + 1, Check::kConfirmed,
                 range_name(producer, first, seq) + " neither confirmed nor rejected");
    }
  }
}

void Checker::find_lost(const Queue& queue) {
  for (std::size_t producer = 0; producer < plan_.producers(); ++producer) {
    for (std::uint64_t seq = 1; seq <= plan_.count(producer); ++seq) {
      if (!confirmed_marks_[producer][seq] || queue.seen[producer][seq]) continue;
      if (!queue.takes[plan_.item(producer, seq).record]) continue;
      fail(Check::kNoneLost, name(producer, seq) + in_queue(queue.plan.name));
    }
  }
}

std::vector<Finding> Checker::finish() {
  find_unconfirmed();
  for (const Queue& queue : queues_) find_lost(queue);
  return {findings_.begin(), findings_.end()};
}

}  // namespace segue::cli::demo
