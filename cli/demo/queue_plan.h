#pragma once

#include <string>
#include <vector>

#include "cli/demo/record_file.h"

namespace segue::cli::demo {

inline constexpr const char* kExchange = "packages";

/// A queue of the demo, and the patterns that bind it to the exchange.
struct QueuePlan {
  std::string name;
  std::vector<std::string> patterns;
};

/// The demo's queues for a kind of file. The first takes everything. The names are such that in a
/// cluster of the default 32 shards and nodes n1, n2 and n3 every node has some.
std::vector<QueuePlan> queue_plans(RecordFile::Kind kind);

}  // namespace segue::cli::demo
