#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "segue/message.h"

namespace segue::cli {

/// Where `segue move` publishes a message, and with which headers.
struct RedrivePlan {
  /// Neither: back to the queue in which it died, the last one or the first one.
  std::optional<std::string> to_queue;
  std::optional<std::string> to_exchange;
  bool back_to_first = false;
  /// With `to_exchange`; not given: the key with which the message was published at first, as
  /// x-death says it, else the one that it has.
  std::optional<std::string> routing_key;
  /// The headers that tell of deaths stay. Of a message that goes back they are taken off: with
  /// them its next death could count as a cycle, and drop it.
  bool keep_headers = false;
};

/// The queue of the latest death, or of the first one that x-death or x-first-death-queue know;
/// nothing if the message tells of none.
std::optional<std::string> death_queue(const client::Properties& properties, bool first);

/// The header to publish a message with that has `header`: all its properties but its delay and
/// its x-deduplication-id, mandatory. Nothing if it shall go back and does not say where it died.
std::optional<client::MessageHeader> redriven(const RedrivePlan& plan,
                                              const client::MessageHeader& header);

/// For people: "queue 'a'", "exchange 'b'".
std::string destination_name(const client::MessageHeader& header);

}  // namespace segue::cli
