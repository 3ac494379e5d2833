#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/demo/publish_plan.h"
#include "cli/demo/queue_plan.h"
#include "cli/demo/record_file.h"

namespace segue::cli::demo {

/// What the demo checks.
enum class Check {
  kPlacement,   // the queues sit on several nodes
  kProcesses,   // processes died and came back as planned, and no other way
  kConfirmed,   // every message is confirmed, once
  kNoneLost,    // every confirmed message reached every queue whose pattern matches its key
  kRouting,     // and no other queue
  kContent,     // bodies and keys are those of the file's records
  kOrder,       // per producer and queue in publish order, apart from redelivered ones
  kDuplicates,  // a message came again only flagged redelivered
  kLeftOver,    // the queues are empty in the end
};
inline constexpr std::size_t kCheckCount = 9;

/// The check as a sentence.
std::string_view check_text(Check check);

/// What one check found.
struct Finding {
  Check check;
  std::uint64_t failures = 0;
  std::vector<std::string> examples;  // of the failures, the first few
};

/// Who a delivered message says it is, and what came.
struct Arrival {
  std::uint64_t producer = 0;  // from 0
  std::uint64_t seq = 0;       // from 1
  std::uint64_t pass = 0;      // from 1
  std::uint64_t record = 0;    // from 0
  std::string_view routing_key;
  std::uint64_t hash = 0;  // body_hash() of the body
  bool redelivered = false;
};

/// What one queue had.
struct QueueCounts {
  std::uint64_t routed = 0;       // confirmed messages that belong into it
  std::uint64_t consumed = 0;     // different messages that came
  std::uint64_t redelivered = 0;  // deliveries with the flag
  std::uint64_t duplicates = 0;   // deliveries of what had come before
  bool operator==(const QueueCounts&) const = default;
};

/// Keeps the books of a run: is told what was confirmed and what came, knows from file and plan
/// what should be, and says at the end what was wrong. No I/O, no clock. One thread.
class Checker {
 public:
  /// `file` outlives the checker. `queues` in the order of the indexes that are used below.
  Checker(const RecordFile& file, const PublishPlan& plan, const std::vector<QueuePlan>& queues);

  /// The broker confirmed the producer's messages first..last.
  void on_confirmed(std::size_t producer, std::uint64_t first, std::uint64_t last);
  /// Some of them reached no queue.
  void on_unroutable(std::size_t producer, std::uint64_t first, std::uint64_t last);
  /// The broker refused them.
  void on_rejected(std::size_t producer, std::uint64_t first, std::uint64_t last,
                   std::string_view why);
  /// The queue delivered a message.
  void on_arrival(std::size_t queue, const Arrival& arrival);
  /// Something else went wrong.
  void fail(Check check, std::string what) { fail_times(1, check, std::move(what)); }

  /// Messages confirmed so far.
  std::uint64_t confirmed() const { return confirmed_; }
  /// Messages confirmed or rejected so far.
  std::uint64_t settled() const { return confirmed_ + rejected_; }
  /// Whether everything is settled, and every confirmed message came wherever it should.
  bool complete() const;
  QueueCounts counts(std::size_t queue) const;
  /// Of a complete run the queue would have consumed so many.
  std::uint64_t expected(std::size_t queue) const { return queues_[queue].expected; }

  /// Every check's finding, in the order of the enum. Whatever is missing by now counts as lost or
  /// unconfirmed; call once, at the end.
  std::vector<Finding> finish();

 private:
  /// Bits by producer and seq.
  using Marks = std::vector<std::vector<bool>>;

  struct Queue {
    QueuePlan plan;
    std::vector<bool> takes;  // by record
    Marks seen;
    std::vector<std::uint64_t> highest;  // seq that came, by producer
    std::uint64_t expected = 0;
    QueueCounts counts;
    std::uint64_t awaited = 0;  // confirmed, belong here, and did not come yet
  };

  Marks make_marks() const;
  void fail_times(std::uint64_t failures, Check check, std::string what);
  bool is_planned(std::size_t producer, std::uint64_t first, std::uint64_t last) const;
  bool settle(std::size_t producer, std::uint64_t seq, std::string_view how);
  bool check_content(const Queue& queue, const Arrival& arrival);
  void check_repetition(const Queue& queue, const Arrival& arrival, bool again);
  void find_unconfirmed();
  void find_lost(const Queue& queue);
  std::string name(std::size_t producer, std::uint64_t seq) const;
  /// "messages 3-7 of producer 1", or as name() when it is one.
  std::string range_name(std::size_t producer, std::uint64_t first, std::uint64_t last) const;

  const RecordFile& file_;
  const PublishPlan plan_;
  std::vector<Queue> queues_;
  Marks confirmed_marks_;
  Marks rejected_marks_;
  std::uint64_t confirmed_ = 0;
  std::uint64_t rejected_ = 0;
  std::array<Finding, kCheckCount> findings_;
};

}  // namespace segue::cli::demo
