#include "cli/garbage_report.h"

#include <algorithm>
#include <cstdint>

#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

constexpr std::uint64_t kBarWidth = 32;

struct Sum {
  std::uint64_t bytes = 0;
  std::uint64_t valid_bytes = 0;
  std::uint64_t messages = 0;
  std::uint64_t valid = 0;
  std::uint64_t largest = 0;
};

Sum sum_of(const client::QueueSegments& files) {
  Sum sum;
  for (const client::SegmentDescription& segment : files.segments) {
    sum.bytes += segment.bytes;
    sum.valid_bytes += segment.valid_bytes;
    sum.messages += segment.messages;
    sum.valid += segment.valid;
    sum.largest = std::max(sum.largest, segment.bytes);
  }
  return sum;
}

// As long as the file is large, `#` for what is valid; what is there at all is seen.
std::string bar(const client::SegmentDescription& segment, std::uint64_t largest) {
  if (segment.bytes == 0 || largest == 0) return "";
  const std::uint64_t width = std::max<std::uint64_t>(1, kBarWidth * segment.bytes / largest);
  const std::uint64_t valid_bytes = std::min(segment.valid_bytes, segment.bytes);
  std::uint64_t valid = (width * valid_bytes + segment.bytes / 2) / segment.bytes;
  if (segment.valid > 0) valid = std::max<std::uint64_t>(1, valid);
  if (segment.valid < segment.messages && width > 1) valid = std::min(valid, width - 1);
  return std::string(valid, '#') + std::string(width - valid, '.');
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return std::to_string((100 * std::min(part, whole) + whole / 2) / whole) + " %";
}

std::string pause_text(std::chrono::microseconds time) {
  if (time.count() < 1000) return std::to_string(time.count()) + " us";
  const auto tenths = (time.count() + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

std::string scrub_text(const std::vector<client::GarbageDescription>& nodes) {
  std::string text;
  for (const client::GarbageDescription& node : nodes) {
    if (node.error) continue;
    text += "\n" + printable(node.node);
    if (node.scrub_bytes_per_second == 0) {
      text += " verifies no files in the background (storage.scrub_bytes_per_second is 0)";
      continue;
    }
    text += " verified " + human_bytes(node.scrubbed_bytes) + " of files, " +
            human_bytes(node.scrub_bytes_per_second) + "/s at most; ";
    text += node.scrub_passes == 0
                ? "no pass over all of them has ended"
                : "the last pass over all of them ended " +
                      human_duration(static_cast<std::uint64_t>(node.last_scrub_ago.count())) +
                      " ago";
    text += "; " + counted(node.scrub_found, "damaged message") + " found";
  }
  return text.empty() ? text : text + "\n";
}

std::string state_text(const QueueGarbage& queue, bool node_paused) {
  const std::string resume = "collecting its garbage is paused; `segue gc resume";
  if (queue.paused) return resume + " " + printable(queue.name) + "` goes on";
  if (node_paused) return resume + "` goes on, since the whole node is paused";
  if (queue.running) return "its garbage is being collected, as was asked for";
  return "its garbage is collected once it is beyond its bound; not paused";
}

}  // namespace

std::string segments_text(const std::string& queue, const client::QueueSegments& files) {
  const Sum sum = sum_of(files);
  std::string out = "Queue " + printable(queue) + " on node " + printable(files.node) + ": ";
  if (files.segments.empty()) {
    out += "no files; what it holds, if anything, is in memory and in the node's log\n";
  } else {
    out += counted(files.segments.size(), "segment") + ", " + human_bytes(sum.bytes) + ", " +
           percent(sum.valid_bytes, sum.bytes) + " of them valid; " + grouped(sum.valid) + " of " +
           counted(sum.messages, "message") + " left\n";
  }
  if (files.paused) {
    out +=
        "Collecting its garbage is paused; `segue gc resume " + printable(queue) + "` goes on.\n";
  }
  if (files.running) out += "Its garbage is being collected, as was asked for.\n";
  if (files.segments.empty()) return out;
  constexpr auto kRight = Table::Align::kRight;
  const bool priorities =
      std::any_of(files.segments.begin(), files.segments.end(),
                  [](const client::SegmentDescription& segment) { return segment.priority > 0; });
  std::vector<Table::Column> columns{{"FIRST", kRight}, {"LAST", kRight},      {"STATE"},
                                     {"SIZE", kRight},  {"VALID", kRight},     {"MESSAGES", kRight},
                                     {"LEFT", kRight},  {"# VALID  . GARBAGE"}};
  if (priorities) columns.insert(columns.begin(), {"PRIORITY", kRight});
  Table table(columns);
  for (const client::SegmentDescription& segment : files.segments) {
    std::vector<std::string> line{grouped(segment.first),
                                  grouped(segment.last),
                                  segment.state,
                                  human_bytes(segment.bytes),
                                  percent(segment.valid_bytes, segment.bytes),
                                  grouped(segment.messages),
                                  grouped(segment.valid),
                                  bar(segment, sum.largest)};
    if (priorities) line.insert(line.begin(), std::to_string(segment.priority));
    table.add(line);
  }
  return out + "\n" + table.text();
}

std::string segments_json(const std::string& queue, const client::QueueSegments& files) {
  const Sum sum = sum_of(files);
  JsonWriter json;
  json.begin_object().field("queue", queue).field("node", files.node);
  json.field("paused", files.paused).field("running", files.running);
  json.field("bytes", sum.bytes).field("valid_bytes", sum.valid_bytes);
  json.field("messages", sum.messages).field("valid", sum.valid);
  json.key("segments").begin_array();
  for (const client::SegmentDescription& segment : files.segments) {
    json.begin_object().field("first", segment.first).field("last", segment.last);
    json.field("generation", segment.generation).field("state", segment.state);
    json.field("bytes", segment.bytes).field("valid_bytes", segment.valid_bytes);
    json.field("messages", segment.messages).field("valid", segment.valid);
    json.field("priority", std::uint64_t{segment.priority}).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string garbage_text(const std::vector<client::GarbageDescription>& nodes,
                         const QueueGarbage* queue) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"NODE"},
               {"STATE"},
               {"DEBT", kRight},
               {"QUEUES WAITING", kRight},
               {"QUEUES PAUSED", kRight},
               {"COPIED", kRight},
               {"RECLAIMED", kRight},
               {"DROPPED", kRight},
               {"RATE", kRight},
               {"LAST STALL", kRight},
               {"LONGEST STALL", kRight}});
  std::string errors;
  for (const client::GarbageDescription& node : nodes) {
    if (node.error) {
      errors += "\n" + printable(node.node) + ": " + printable(node.error->text) + "\n";
      table.add({node.node, "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const bool busy = node.running || node.waiting_queues > 0;
    table.add({node.node, node.paused ? "PAUSED" : (busy ? "collecting" : "idle"),
               human_bytes(node.debt_bytes), grouped(node.waiting_queues),
               grouped(node.paused_queues), human_bytes(node.copied_bytes),
               human_bytes(node.reclaimed_bytes), human_bytes(node.dropped_bytes),
               human_bytes(node.bytes_per_second) + "/s", pause_text(node.last_pause),
               pause_text(node.longest_pause)});
  }
  std::string out = table.text() + errors + scrub_text(nodes);
  if (queue != nullptr) {
    const bool node_paused =
        std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.paused; });
    out += "\nQueue " + printable(queue->name) + ": " + state_text(*queue, node_paused) + "\n";
  }
  return out;
}

std::string garbage_json(const std::vector<client::GarbageDescription>& nodes,
                         const QueueGarbage* queue) {
  JsonWriter json;
  json.begin_array();
  for (const client::GarbageDescription& node : nodes) {
    json.begin_object().field("node", node.node);
    if (node.error) {
      json.field("error", node.error->text).end_object();
      continue;
    }
    json.field("paused", node.paused).field("running", node.running);
    json.field("debt_bytes", node.debt_bytes);
    json.field("waiting_queues", node.waiting_queues);
    json.field("paused_queues", node.paused_queues).field("copies", node.copies);
    json.field("failed_copies", node.failed_copies).field("copied_bytes", node.copied_bytes);
    json.field("reclaimed_bytes", node.reclaimed_bytes);
    json.field("dropped_bytes", node.dropped_bytes);
    json.field("bytes_per_second", node.bytes_per_second);
    json.field("last_pause_us", static_cast<std::int64_t>(node.last_pause.count()));
    json.field("longest_pause_us", static_cast<std::int64_t>(node.longest_pause.count()));
    json.field("scrub_bytes_per_second", node.scrub_bytes_per_second);
    json.field("scrubbed_bytes", node.scrubbed_bytes).field("scrub_passes", node.scrub_passes);
    json.key("last_scrub_ago_ms");
    if (node.scrub_passes == 0) {
      json.null();
    } else {
      json.value(static_cast<std::int64_t>(node.last_scrub_ago.count()));
    }
    json.field("scrub_found", node.scrub_found);
    if (queue != nullptr) {
      json.field("queue", queue->name).field("queue_paused", queue->paused);
      json.field("queue_running", queue->running);
    }
    json.end_object();
  }
  json.end_array();
  return json.take() + "\n";
}

}  // namespace segue::cli
