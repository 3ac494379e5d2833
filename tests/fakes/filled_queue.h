// A queue of a real cluster that is filled.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "segue/client.h"

namespace segue::client {

/// Publishes `count` messages of 1,000 bytes straight to the queue, and waits until all are
/// confirmed.
inline testing::AssertionResult fill(Connection& connection, const std::string& queue, int count) {
  MessageHeader header;
  header.routing_key = queue;
  for (int i = 0; i < count; ++i) {
    const auto published = connection.publisher().publish(header, std::string(1000, 'x'));
    if (!published) return testing::AssertionFailure() << published.error().to_string();
  }
  const auto confirmed = connection.publisher().wait_for_confirms(std::chrono::minutes(1));
  if (!confirmed) return testing::AssertionFailure() << "not all are confirmed";
  return testing::AssertionSuccess();
}

}  // namespace segue::client
