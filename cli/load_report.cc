#include "cli/load_report.h"

#include <cstdio>

#include "cli/table_output.h"
#include "common/json_output.h"

namespace segue::cli {

namespace {

double microseconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

// null when nothing was measured.
void write_latency(JsonWriter& json, const char* name, const LatencyHistogram& latency) {
  json.key(name);
  if (latency.count() == 0) {
    json.null();
    return;
  }
  json.begin_object();
  json.key("p50").value(microseconds(latency.quantile(0.5)), 1);
  json.key("p99").value(microseconds(latency.quantile(0.99)), 1);
  json.key("p999").value(microseconds(latency.quantile(0.999)), 1);
  json.key("max").value(microseconds(latency.max()), 1);
  json.end_object();
}

std::string latency_text(std::uint64_t nanoseconds) {
  char text[32];
  const double us = microseconds(nanoseconds);
  if (us < 1e3)
    std::snprintf(text, sizeof text, "%.0f us", us);
  else if (us < 1e6)
    std::snprintf(text, sizeof text, "%.2f ms", us / 1e3);
  else
    std::snprintf(text, sizeof text, "%.2f s", us / 1e6);
  return text;
}

std::vector<std::string> latency_row(const char* name, const LatencyHistogram& latency) {
  if (latency.count() == 0) return {name, "-", "-", "-", "-"};
  return {name, latency_text(latency.quantile(0.5)), latency_text(latency.quantile(0.99)),
          latency_text(latency.quantile(0.999)), latency_text(latency.max())};
}

std::string cpu_text(double seconds, std::uint64_t messages) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f s", seconds);
  std::string out = text;
  if (messages > 0) {
    std::snprintf(text, sizeof text, ", %.2f us a message",
                  seconds * 1e6 / static_cast<double>(messages));
    out += text;
  }
  return out;
}

std::string rate_text(double per_s, std::uint64_t size) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f MB/s", per_s * static_cast<double>(size) / 1e6);
  return grouped(static_cast<std::uint64_t>(per_s + 0.5)) + "/s, " + text;
}

}  // namespace

std::string load_report_json(const LoadOptions& options, const LoadReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("options").begin_object();
  json.field("size", options.size).field("queues", options.queues);
  json.field("producers", options.producers).field("consumers", options.consumers);
  json.field("window", options.window).field("prefetch", options.prefetch);
  json.field("rate", options.rate).field("drain", options.drain);
  json.field("transient", options.transient);
  json.field("durability", options.durability.value_or("")).end_object();
  json.field("published", report.published).field("confirmed", report.confirmed);
  json.field("rejected", report.rejected).field("consumed", report.consumed);
  json.field("redelivered", report.redelivered);
  json.field("publish_seconds", report.publish_seconds);
  json.field("consume_seconds", report.consume_seconds);
  json.key("publish_per_s").value(report.publish_per_s(), 1);
  json.key("consume_per_s").value(report.consume_per_s(), 1);
  write_latency(json, "confirm_latency_us", report.confirm_ns);
  write_latency(json, "end_to_end_latency_us", report.end_to_end_ns);
  json.field("cpu_seconds", report.cpu_seconds);
  json.key("cluster_cpu_seconds").begin_object();
  for (const auto& [id, seconds] : report.cluster_seconds) json.field(id, seconds);
  json.end_object();
  json.field("problem", report.problem).end_object();
  return json.take() + "\n";
}

std::string load_report_text(const LoadOptions& options, const LoadReport& report) {
  std::string out = "published " + grouped(report.published) + ", confirmed " +
                    grouped(report.confirmed) + ", refused " + grouped(report.rejected) +
                    ", consumed " + grouped(report.consumed) + "\n";
  out += "publish   " + rate_text(report.publish_per_s(), options.size) + "\n";
  if (options.consumers > 0) {
    out += "consume   " + rate_text(report.consume_per_s(), options.size) + "\n";
  }
  constexpr auto kRight = Table::Align::kRight;
  Table latencies(
      {{"LATENCY"}, {"P50", kRight}, {"P99", kRight}, {"P99.9", kRight}, {"MAX", kRight}});
  latencies.add(latency_row("confirm", report.confirm_ns));
  if (options.consumers > 0) latencies.add(latency_row("end to end", report.end_to_end_ns));
  out += "\n" + latencies.text();
  Table cpu({{"PROCESS"}, {"CPU"}});
  cpu.add({"segue bench", cpu_text(report.cpu_seconds, report.confirmed)});
  for (const auto& [id, seconds] : report.cluster_seconds) {
    cpu.add({id, cpu_text(seconds, report.confirmed)});
  }
  out += "\n" + cpu.text();
  if (!report.rejection.empty()) out += "\nfirst refusal: " + printable(report.rejection) + "\n";
  if (!report.problem.empty()) out += "\nPROBLEM: " + printable(report.problem) + "\n";
  return out;
}

}  // namespace segue::cli
