#pragma once

#include <string>

#include "segue/client.h"

namespace segue::cli {

/// Whether the queue has nothing more for the consumer: nothing is ready, and nothing that was sent
/// has not been handed out. (The node's answer comes behind what it sent before.) False if the
/// queue cannot be asked.
inline bool is_drained(client::Connection& connection, const client::Consumer& consumer,
                       const std::string& queue) {
  if (connection.state() != client::ConnectionState::kConnected) return false;
  const auto status = connection.admin().queue_status(queue);
  return status && status->available && status->ready == 0 && consumer.buffered() == 0;
}

}  // namespace segue::cli
