#include "bench/matrix/scenario.h"

namespace segue::bench {

std::vector<Scenario> scenarios(unsigned seconds) {
  using Figure = Scenario::Figure;
  const std::string time = std::to_string(seconds) + "s";
  const auto publish = [&](const char* size, const char* queues) {
    return std::vector<std::string>{"--size", size, "--queues", queues, "--seconds", time};
  };
  const auto at_once = [&](const char* size, const char* queues) {
    std::vector<std::string> arguments = publish(size, queues);
    arguments.insert(arguments.end(), {"--consumers", "1"});
    return arguments;
  };
  const auto ceiling = [&](const char* size) {
    return std::vector<std::string>{"--size", size, "--seconds", time};
  };
  return {
      {"publish 100 B", Figure::kPublish, publish("100", "1"), ceiling("100"), ">= 500,000/s"},
      {"publish 1 KiB", Figure::kPublish, publish("1024", "1"), ceiling("1024"), ">= 250,000/s"},
      {"publish 16 KiB", Figure::kPublish, publish("16384", "1"), ceiling("16384"), ">= 40,000/s"},
      {"publish 1 KiB, 50 queues", Figure::kPublish, publish("1024", "50"), ceiling("1024"), "-"},
      {"publish+consume+ack 100 B", Figure::kConsume, at_once("100", "1"), ceiling("100"), "-"},
      {"publish+consume+ack 1 KiB", Figure::kConsume, at_once("1024", "1"), ceiling("1024"),
       ">= 150,000/s"},
      {"publish+consume+ack 16 KiB", Figure::kConsume, at_once("16384", "1"), ceiling("16384"),
       "-"},
      {"publish+consume+ack 1 KiB, 50 queues", Figure::kConsume, at_once("1024", "50"),
       ceiling("1024"), "-"},
      {"drain of 1,000,000 x 1 KiB",
       Figure::kConsume,
       {"--size", "1024", "--count", "1000000", "--consumers", "1", "--drain"},
       {},
       ">= 300,000/s"},
      {"latency 1 KiB at 1,000/s",
       Figure::kLatency,
       {"--size", "1024", "--rate", "1000", "--seconds", time},
       {"--size", "1024", "--rate", "1000", "--seconds", time},
       "p50 <= 400 us, p99 <= 1 ms"},
  };
}

}  // namespace segue::bench
