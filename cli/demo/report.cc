#include "cli/demo/report.h"

#include <algorithm>

#include "cli/table_output.h"

namespace segue::cli::demo {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string rate(std::uint64_t count, std::chrono::nanoseconds time) {
  if (time.count() <= 0) return "-";
  const double seconds = std::chrono::duration<double>(time).count();
  return grouped(static_cast<std::uint64_t>(static_cast<double>(count) / seconds));
}

}  // namespace

std::string report_table(const std::vector<QueueReport>& queues) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"QUEUE"},
               {"PATTERNS"},
               {"SHARD", kRight},
               {"NODE"},
               {"CONFIRMED", kRight},
               {"CONSUMED", kRight},
               {"REDELIVERED", kRight},
               {"DUPLICATES", kRight},
               {"PER SECOND", kRight}});
  for (const QueueReport& queue : queues) {
    table.add({queue.queue, joined(queue.patterns), std::to_string(queue.shard), queue.node,
               grouped(queue.counts.routed), grouped(queue.counts.consumed),
               grouped(queue.counts.redelivered), grouped(queue.counts.duplicates),
               rate(queue.counts.consumed, queue.active)});
  }
  return table.text();
}

bool all_passed(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.failures == 0; });
}

std::string report_findings(const std::vector<Finding>& findings) {
  std::string out;
  std::size_t failed = 0;
  for (const Finding& finding : findings) {
    out += (finding.failures == 0 ? "  ok      " : "  FAILED  ");
    out += check_text(finding.check);
    if (finding.failures > 0) {
      ++failed;
      out += ": " + grouped(finding.failures) + " times";
    }
    out += '\n';
    for (const std::string& example : finding.examples)
      out += "            " + printable(example) + "\n";
    if (finding.failures > finding.examples.size()) {
      out +=
          "            ... and " + grouped(finding.failures - finding.examples.size()) + " more\n";
    }
  }
  if (failed == 0) return out + "OK\n";
  return out + "FAILED: " + std::to_string(failed) + " of " + std::to_string(findings.size()) +
         " checks\n";
}

}  // namespace segue::cli::demo
