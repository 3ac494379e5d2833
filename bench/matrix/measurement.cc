#include "bench/matrix/measurement.h"

#include <algorithm>
#include <cstdio>

#include "cli/table_output.h"
#include "common/json_input.h"

namespace segue::bench {

namespace {

// A number behind a path of member names; 0 when there is none.
double number_at(const JsonValue& json, std::initializer_list<const char*> path) {
  const JsonValue* value = &json;
  for (const char* name : path) {
    value = value->find(name);
    if (value == nullptr) return 0;
  }
  return value->number(0);
}

Result<JsonValue> parse(const std::string& text, const char* must_have) {
  Result<JsonValue> json = parse_json(text);
  if (json && json->find(must_have) != nullptr) return json;
  return Status(Code::kCorruption, "not the expected JSON: " + text.substr(0, 200));
}

std::string number_text(double number) {
  return cli::grouped(static_cast<std::uint64_t>(std::max(0.0, number) + 0.5));
}

std::string two_decimals(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", number);
  return text;
}

std::string with_spread(const std::vector<Measured>& runs, double Measured::*member) {
  if (runs.empty()) return "-";
  return number_text(median(runs, member)) + " (" + number_text(smallest(runs, member)) + "-" +
         number_text(largest(runs, member)) + ")";
}

std::string rate_row(const Measurements& m) {
  const bool compared = !m.ceiling.empty();
  return "| " + m.scenario.name + " | " + with_spread(m.broker, &Measured::rate) + " | " +
         with_spread(m.ceiling, &Measured::rate) + " | " +
         (compared ? two_decimals(median_ratio(m)) : "-") + " | " +
         two_decimals(median(m.broker, &Measured::client_cpu_us)) + " | " +
         two_decimals(median(m.broker, &Measured::router_cpu_us)) + " | " +
         two_decimals(median(m.broker, &Measured::node_cpu_us)) + " | " + m.scenario.aim + " |\n";
}

std::string latency_row(const Measurements& m) {
  return "| " + m.scenario.name + " | " + with_spread(m.broker, &Measured::p50) + " | " +
         with_spread(m.broker, &Measured::p99) + " | " + with_spread(m.ceiling, &Measured::p50) +
         " | " + with_spread(m.ceiling, &Measured::p99) + " | " + m.scenario.aim + " |\n";
}

}  // namespace

Result<Measured> read_broker(const std::string& text, Scenario::Figure figure) {
  const Result<JsonValue> json = parse(text, "publish_per_s");
  if (!json) return json.status();
  const auto* problem = json->find("problem");
  if (problem != nullptr && problem->text() != nullptr && !problem->text()->empty()) {
    return Status(Code::kInternalError, "the run went wrong: " + *problem->text());
  }
  Measured measured;
  const bool consume = figure == Scenario::Figure::kConsume;
  measured.rate = number_at(*json, {consume ? "consume_per_s" : "publish_per_s"});
  measured.p50 = number_at(*json, {"confirm_latency_us", "p50"});
  measured.p99 = number_at(*json, {"confirm_latency_us", "p99"});
  const double per_message = 1e6 / std::max(1.0, number_at(*json, {"confirmed"}));
  measured.client_cpu_us = number_at(*json, {"cpu_seconds"}) * per_message;
  if (const JsonValue* cluster = json->find("cluster_cpu_seconds")) {
    if (const auto* members = cluster->object()) {
      for (const auto& [id, seconds] : *members) {
        (id.starts_with('r') ? measured.router_cpu_us : measured.node_cpu_us) +=
            seconds.number(0) * per_message;
      }
    }
  }
  return measured;
}

Result<Measured> read_ceiling(const std::string& text) {
  const Result<JsonValue> json = parse(text, "publish_per_s");
  if (!json) return json.status();
  const double per_message = 1e6 / std::max(1.0, number_at(*json, {"confirmed"}));
  return Measured{number_at(*json, {"publish_per_s"}),
                  number_at(*json, {"confirm_latency_us", "p50"}),
                  number_at(*json, {"confirm_latency_us", "p99"}),
                  number_at(*json, {"cpu_seconds", "client"}) * per_message,
                  number_at(*json, {"cpu_seconds", "router"}) * per_message,
                  number_at(*json, {"cpu_seconds", "node"}) * per_message};
}

double median(const std::vector<Measured>& runs, double Measured::*member) {
  if (runs.empty()) return 0;
  std::vector<double> values;
  for (const Measured& run : runs) values.push_back(run.*member);
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double smallest(const std::vector<Measured>& runs, double Measured::*member) {
  double least = runs.empty() ? 0 : runs.front().*member;
  for (const Measured& run : runs) least = std::min(least, run.*member);
  return least;
}

double largest(const std::vector<Measured>& runs, double Measured::*member) {
  double most = 0;
  for (const Measured& run : runs) most = std::max(most, run.*member);
  return most;
}

double median_ratio(const Measurements& m) {
  std::vector<Measured> ratios;
  for (std::size_t i = 0; i < std::min(m.broker.size(), m.ceiling.size()); ++i) {
    Measured ratio;
    ratio.rate = m.ceiling[i].rate > 0 ? m.broker[i].rate / m.ceiling[i].rate : 0;
    ratios.push_back(ratio);
  }
  return median(ratios, &Measured::rate);
}

std::string results_markdown(const std::vector<Measurements>& all) {
  std::string rates =
      "| scenario | messages/s: median (min-max) | bare pipeline | ratio | client us | router us "
      "| node us | aim |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  std::string latencies =
      "| scenario | p50 us: median (min-max) | p99 us | bare pipeline p50 | bare pipeline p99 | "
      "aim |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const Measurements& m : all) {
    if (m.scenario.figure == Scenario::Figure::kLatency)
      latencies += latency_row(m);
    else
      rates += rate_row(m);
  }
  return rates + "\n" + latencies;
}

}  // namespace segue::bench
