// What routing costs: matches per second of each exchange type with 1, 1,000 and 100,000 bindings,
// and the time to compile them.
//
//     routing [SECONDS]     for each figure (default 1)
//
// One thread, in process. The keys are taken in turn out of 4,096; each message goes to one or two
// queues, but with fanout to all. "cold" keys were not seen before: nothing is remembered of them.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/routing/exchange_router.h"

namespace segue::bench {
namespace {

constexpr std::size_t kMessages = 4096;

struct Load {
  const char* type;
  const char* what;
  /// Of binding or message number i of `count`.
  std::string (*binding_key)(std::uint64_t i);
  std::string (*message_key)(std::uint64_t i, std::uint64_t count);
  bool headers = false;
};

std::string text(std::uint64_t i) {
  return std::to_string(i);
}

// Three words: region, customer, what.
std::string pattern(std::uint64_t i) {
  const std::string customer = "c" + text(i / 2);
  return i % 2 == 0 ? "*." + customer + ".created" : "eu." + customer + ".#";
}
std::string topic(std::uint64_t i, std::uint64_t count) {
  return "eu.c" + text(i * 7919 % (count / 2 + 1)) + ".created";
}
std::string cold_topic(std::uint64_t i, std::uint64_t count) {
  static std::uint64_t never = 0;
  return topic(i, count) + "." + text(++never);
}

const Load kLoads[] = {
    {"direct", "", [](std::uint64_t i) { return "key " + text(i); },
     [](std::uint64_t i, std::uint64_t count) { return "key " + text(i * 7919 % count); }},
    {"fanout", "to all", [](std::uint64_t) { return std::string(); },
     [](std::uint64_t, std::uint64_t) { return std::string("k"); }},
    {"topic", "warm", pattern, topic},
    {"topic", "cold", pattern, cold_topic},
    {"headers", "two conditions", [](std::uint64_t i) { return text(i); },
     [](std::uint64_t i, std::uint64_t count) { return text(i * 7919 % count); }, true},
    {"x-consistent-hash", "", [](std::uint64_t) { return std::string("1"); },
     [](std::uint64_t i, std::uint64_t) { return "key " + text(i); }},
};

FieldValues conditions(const std::string& key) {
  FieldValues values;
  values["format"].set_string_value("pdf");
  values["customer"].set_string_value(key);
  return values;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(const Load& load, std::uint64_t count, double seconds) {
  auto router = std::move(make_exchange_router(load.type, {}).value());
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = load.binding_key(i);
    const std::string name = "queue " + text(i);
    const FieldValues arguments = load.headers ? conditions(key) : FieldValues();
    if (!router->bind({BindingNumber(i + 1), QueueId(i + 1), name, key, arguments}).is_ok()) {
      std::fprintf(stderr, "%s: a binding was refused\n", load.type);
      std::exit(1);
    }
  }
  std::vector<RouteTarget> targets;
  v1::Properties properties;
  router->match({"k", properties}, targets);
  const double compiled = seconds_since(begin);

  const bool cold = std::string_view(load.what) == "cold";
  std::vector<std::string> keys;
  std::vector<v1::Properties> headers(load.headers ? kMessages : 1);
  std::uint64_t matches = 0;
  std::uint64_t queues = 0;
  double took = 0;
  while (took < seconds) {
    if (keys.empty() || cold) {
      keys.clear();
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        keys.push_back(load.message_key(i, count));
        if (load.headers) *headers[i].mutable_headers() = conditions(keys.back());
      }
    }
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < kMessages; ++i) {
      router->match({keys[i], headers[load.headers ? i : 0]}, targets);
      queues += targets.size();
    }
    took += seconds_since(start);
    matches += kMessages;
  }
  std::printf("| %s%s%s | %llu | %.0f | %.2f | %.3f |\n", load.type, *load.what != 0 ? ", " : "",
              load.what, static_cast<unsigned long long>(count),
              static_cast<double>(matches) / took,
              static_cast<double>(queues) / static_cast<double>(matches), compiled);
  std::fflush(stdout);
}

int run(double seconds) {
  std::printf(
      "| exchange | bindings | matches/s | queues each | compiled in, s |\n"
      "| --- | --- | --- | --- | --- |\n");
  for (const Load& load : kLoads) {
    for (const std::uint64_t count : {1ull, 1'000ull, 100'000ull}) measure(load, count, seconds);
  }
  return 0;
}

}  // namespace
}  // namespace segue::bench

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  if (argc > 2 || seconds <= 0) {
    std::fprintf(stderr, "usage: routing [SECONDS]\n");
    return 64;
  }
  return segue::bench::run(seconds);
}
