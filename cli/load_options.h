#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "segue/options.h"

namespace segue::cli {

/// The load that `segue bench` makes.
struct LoadOptions {
  std::uint64_t size = 1024;                   // bytes of a body
  std::uint64_t queues = 1;                    // messages go to them in turn
  std::uint64_t producers = 1;                 // each a connection and a thread
  std::uint64_t consumers = 0;                 // connections; 0: publish only
  std::uint64_t window = 1000;                 // unconfirmed messages of a producer
  std::uint64_t prefetch = 1000;               // unsettled messages of a subscription
  std::uint64_t rate = 0;                      // messages per second of all producers; 0: no limit
  std::optional<std::uint64_t> count;          // messages of all producers
  std::chrono::milliseconds duration{10'000};  // without a count
  bool drain = false;                          // consume only when all is published
  bool transient = false;                      // queues in memory
  std::optional<std::string> durability;       // "sync" or milliseconds; the cluster's
  client::ConnectionOptions connection;        // where to
};

}  // namespace segue::cli
