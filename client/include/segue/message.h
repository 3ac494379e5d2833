#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "segue/result.h"
#include "segue/value.h"

namespace segue::client {

/// AMQP's message properties, and three of Segue's own. The broker hands them through, and goes by
/// priority, expiration, delay, deliver_at and group_id; empty ones cost nothing.
struct Properties {
  std::string content_type;
  std::string content_encoding;
  Table headers;
  /// 2: persistent, 1: transient, 0: not said. What counts for durability is the queue.
  std::uint32_t delivery_mode = 0;
  /// The order of a queue with priorities.
  std::uint32_t priority = 0;
  std::string correlation_id;
  std::string reply_to;
  /// Delivered within this time or not at all.
  std::optional<std::chrono::milliseconds> expiration;
  std::string message_id;
  std::optional<Timestamp> timestamp;
  std::string type;
  std::string user_id;
  std::string app_id;
  /// Not delivered before so long after its arrival at the queue; zero: at once.
  std::chrono::milliseconds delay{0};
  /// Not delivered before this time, by the clock of the queue's node. With `delay`, the later of
  /// both counts.
  std::optional<Timestamp> deliver_at;
  /// The messages of one group go to one consumer at a time, in a queue with message groups.
  std::string group_id;

  bool operator==(const Properties&) const = default;
};

/// What a message says about itself beside its body. Names and keys are at most 255
/// bytes of UTF-8.
struct MessageHeader {
  /// Empty: the default exchange, which leads to the queue named by the routing key.
  std::string exchange;
  std::string routing_key;
  /// Come back (Publisher::on_return) when no queue takes the message.
  bool mandatory = false;
  Properties properties;

  bool operator==(const MessageHeader&) const = default;
};

/// A header made ready for the wire once, for many messages. Cheap to copy; immutable; any thread.
class PreparedHeader {
 public:
  /// A header that no router could read (a text that is not UTF-8, a name over 255 bytes) makes
  /// publish() fail with what status() says.
  explicit PreparedHeader(const MessageHeader& header);
  /// Straight to a queue, through the default exchange.
  static PreparedHeader to_queue(std::string queue);

  const Status& status() const { return status_; }
  /// The header as it goes over the wire; null unless status() is OK.
  const std::shared_ptr<const std::string>& wire() const { return wire_; }

 private:
  std::shared_ptr<const std::string> wire_;
  Status status_;
};

/// A message to publish.
struct Message {
  MessageHeader header;
  std::string body;

  /// Straight to a queue, through the default exchange.
  static Message to_queue(std::string queue, std::string body);
  static Message to_exchange(std::string exchange, std::string routing_key, std::string body);
};

}  // namespace segue::client
