#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "bench/matrix/test_bed.h"
#include "common/status.h"
#include "segue/client.h"

namespace segue::bench {

/// How long a part of a measurement may take that nothing is known to limit.
inline constexpr std::chrono::seconds kPatience{300};

/// A connection that waits as long as kPatience for everything, with a window of 20,000 messages.
Result<client::Connection> connect(const TestBed& bed);

/// The process of its node.
pid_t node_pid(TestBed& bed);

/// Kills its node (SIGKILL) and starts it again. Returns once it runs, not once it is ready.
Status restart_node(TestBed& bed);

/// Waits until the node gives the counts of the queue.
Result<client::QueueDescription> wait_available(client::Connection& connection,
                                                const std::string& queue);

/// INTERNAL_ERROR: `what` did not work, and why.
Status failed(const std::string& what, const client::Error& error);

}  // namespace segue::bench
