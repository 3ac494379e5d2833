#include "cli/demo/message_identity.h"

namespace segue::cli::demo {

namespace {

// The number minus one; the highest there is, which nothing has, when it is missing or below 1.
std::uint64_t from_zero(const client::Table& headers, const char* name) {
  const auto at = headers.find(name);
  const std::int64_t* number = at == headers.end() ? nullptr : at->second.as<std::int64_t>();
  if (number == nullptr || *number < 1) return UINT64_MAX;
  return static_cast<std::uint64_t>(*number) - 1;
}

}  // namespace

client::MessageHeader message_header(const RecordFile& file, const PublishPlan& plan,
                                     std::size_t producer, std::uint64_t seq) {
  const PublishPlan::Item item = plan.item(producer, seq);
  client::MessageHeader header;
  header.exchange = kExchange;
  header.routing_key = file.records()[item.record].key;
  header.properties.headers = {
      {"producer", producer + 1}, {"seq", seq}, {"pass", item.pass}, {"record", item.record + 1}};
  return header;
}

Arrival read_headers(const client::Table& headers) {
  Arrival arrival;
  arrival.producer = from_zero(headers, "producer");
  arrival.record = from_zero(headers, "record");
  // A missing one becomes 0, which no message has.
  arrival.seq = from_zero(headers, "seq") + 1;
  arrival.pass = from_zero(headers, "pass") + 1;
  return arrival;
}

Arrival read_arrival(const client::Delivery& delivery) {
  Arrival arrival = read_headers(delivery.properties().headers);
  arrival.routing_key = delivery.routing_key();
  arrival.hash = body_hash(delivery.body());
  arrival.redelivered = delivery.redelivered();
  return arrival;
}

}  // namespace segue::cli::demo
