#include "segue/message.h"

#include <utility>

#include "client/convert.h"

namespace segue::client {

PreparedHeader::PreparedHeader(const MessageHeader& header) {
  Result<std::string> wire = serialize_header(header);
  if (wire) {
    wire_ = std::make_shared<const std::string>(*std::move(wire));
  } else {
    status_ = wire.error();
  }
}

PreparedHeader PreparedHeader::to_queue(std::string queue) {
  MessageHeader header;
  header.routing_key = std::move(queue);
  return PreparedHeader(header);
}

Message Message::to_queue(std::string queue, std::string body) {
  return to_exchange({}, std::move(queue), std::move(body));
}

Message Message::to_exchange(std::string exchange, std::string routing_key, std::string body) {
  Message message;
  message.header.exchange = std::move(exchange);
  message.header.routing_key = std::move(routing_key);
  message.body = std::move(body);
  return message;
}

}  // namespace segue::client
