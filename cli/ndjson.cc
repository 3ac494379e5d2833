#include "cli/ndjson.h"

#include <limits>

#include "cli/field_values.h"
#include "common/base64.h"
#include "common/json_input.h"
#include "common/json_output.h"
#include "common/utf8.h"

namespace segue::cli {

namespace {

Status wrong(std::string message) {
  return Status(Code::kInvalidConfig, std::move(message));
}

struct TextProperty {
  std::string_view name;
  std::string client::Properties::*member;
};

constexpr TextProperty kTexts[] = {
    {"content_type", &client::Properties::content_type},
    {"content_encoding", &client::Properties::content_encoding},
    {"correlation_id", &client::Properties::correlation_id},
    {"reply_to", &client::Properties::reply_to},
    {"message_id", &client::Properties::message_id},
    {"type", &client::Properties::type},
    {"user_id", &client::Properties::user_id},
    {"app_id", &client::Properties::app_id},
    {"group_id", &client::Properties::group_id},
};

Status read_text(std::string& to, const std::string& name, const JsonValue& value) {
  const auto* text = value.text();
  if (text == nullptr) return wrong("\"" + name + "\" must be a string");
  to = *text;
  return Status::ok();
}

Result<std::int64_t> read_number(const std::string& name, const JsonValue& value, std::int64_t min,
                                 std::int64_t max) {
  const auto* number = value.whole();
  if (number == nullptr || *number < min || *number > max) {
    return wrong("\"" + name + "\" must be a whole number from " + std::to_string(min) + " to " +
                 std::to_string(max));
  }
  return *number;
}

Status read_property(client::Properties& to, const std::string& name, const JsonValue& value) {
  for (const TextProperty& text : kTexts) {
    if (text.name == name) return read_text(to.*text.member, name, value);
  }
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max() / 1'000'000;
  if (name == "headers") {
    Result<client::Table> headers = table_of(value);
    if (!headers) return wrong("\"headers\": " + headers.status().message());
    to.headers = std::move(*headers);
    return Status::ok();
  }
  if (name == "delivery_mode" || name == "priority") {
    const Result<std::int64_t> number = read_number(name, value, 0, name == "priority" ? 255 : 2);
    if (!number) return number.status();
    (name == "priority" ? to.priority : to.delivery_mode) = static_cast<std::uint32_t>(*number);
    return Status::ok();
  }
  if (name == "expiration_ms") {
    const Result<std::int64_t> number = read_number(name, value, 0, kLongest);
    if (number) to.expiration = std::chrono::milliseconds(*number);
    return number.status();
  }
  if (name == "timestamp_ms") {
    const Result<std::int64_t> number = read_number(name, value, -kLongest, kLongest);
    if (number) to.timestamp = client::Timestamp(std::chrono::milliseconds(*number));
    return number.status();
  }
  if (name == "delay_ms") {
    const Result<std::int64_t> number = read_number(name, value, 0, kLongest);
    if (number) to.delay = std::chrono::milliseconds(*number);
    return number.status();
  }
  if (name == "deliver_at_ms") {
    const Result<std::int64_t> number = read_number(name, value, 1, kLongest);
    if (number) to.deliver_at = client::Timestamp(std::chrono::milliseconds(*number));
    return number.status();
  }
  std::string known;
  for (const TextProperty& text : kTexts) known += std::string(text.name) + ", ";
  return wrong(
      "no property \"" + name + "\"; there are: " + known +
      "headers, delivery_mode, priority, expiration_ms, timestamp_ms, delay_ms, deliver_at_ms");
}

Status read_properties(client::Properties& to, const JsonValue& value) {
  const auto* object = value.object();
  if (object == nullptr) return wrong("\"properties\" must be an object");
  for (const auto& [name, member] : *object) {
    SEGUE_RETURN_IF_ERROR(read_property(to, name, member));
  }
  return Status::ok();
}

Status read_base64(std::string& to, const JsonValue& value) {
  const auto* text = value.text();
  auto bytes = text == nullptr ? std::nullopt : base64_decode(*text);
  if (!bytes) return wrong("\"body_base64\" must be base64");
  to = std::move(*bytes);
  return Status::ok();
}

Status read_member(client::Message& to, const std::string& name, const JsonValue& value) {
  if (name == "body") return read_text(to.body, name, value);
  if (name == "body_base64") return read_base64(to.body, value);
  if (name == "exchange") return read_text(to.header.exchange, name, value);
  if (name == "routing_key") return read_text(to.header.routing_key, name, value);
  if (name == "properties") return read_properties(to.header.properties, value);
  if (name == "mandatory") {
    const auto* truth = value.truth();
    if (truth == nullptr) return wrong("\"mandatory\" must be true or false");
    to.header.mandatory = *truth;
    return Status::ok();
  }
  for (const std::string_view ignored :
       {"queue", "redelivered", "delivery_count", "place", "body_bytes"}) {
    if (name == ignored) return Status::ok();
  }
  return wrong("no member \"" + name +
               "\"; there are: body, body_base64, exchange, routing_key, mandatory, properties");
}

// Of a message that was delivered the wait is over: published again, it shall not wait again.
enum class Delay : std::uint8_t { kShown, kOver };

void write_properties(JsonWriter& json, const client::Properties& properties, Delay delay) {
  json.begin_object();
  for (const TextProperty& text : kTexts) {
    if (!(properties.*text.member).empty()) json.field(text.name, properties.*text.member);
  }
  if (!properties.headers.empty()) {
    json.key("headers");
    write_table(json, properties.headers);
  }
  if (properties.delivery_mode != 0) json.field("delivery_mode", properties.delivery_mode);
  if (properties.priority != 0) json.field("priority", properties.priority);
  if (properties.expiration) {
    json.field("expiration_ms", std::int64_t{properties.expiration->count()});
  }
  if (properties.timestamp) {
    json.field("timestamp_ms", std::int64_t{properties.timestamp->time_since_epoch().count()});
  }
  const bool shown = delay == Delay::kShown;
  if (shown && properties.delay.count() != 0) {
    json.field("delay_ms", std::int64_t{properties.delay.count()});
  }
  if (shown && properties.deliver_at) {
    json.field("deliver_at_ms", std::int64_t{properties.deliver_at->time_since_epoch().count()});
  }
  json.end_object();
}

void write_body(JsonWriter& json, std::string_view body) {
  if (is_utf8(body)) {
    json.field("body", body);
  } else {
    json.field("body_base64", base64_encode(body));
  }
}

}  // namespace

Result<client::Message> parse_message(std::string_view line,
                                      const client::MessageHeader& defaults) {
  const Result<JsonValue> json = parse_json(line);
  if (!json) return json.status();
  const auto* object = json->object();
  if (object == nullptr) return wrong("expected an object, got " + std::string(json->kind_name()));
  if ((json->find("body") == nullptr) == (json->find("body_base64") == nullptr)) {
    return wrong("one of \"body\" and \"body_base64\" must be there");
  }
  client::Message message{defaults, {}};
  for (const auto& [name, value] : *object) {
    SEGUE_RETURN_IF_ERROR(read_member(message, name, value));
  }
  return message;
}

std::string message_line(const std::string& queue, const DeliveredMessage& message,
                         const client::Properties& properties) {
  JsonWriter json;
  json.begin_object().field("queue", queue);
  json.field("exchange", message.exchange).field("routing_key", message.routing_key);
  json.field("redelivered", message.redelivered);
  json.field("delivery_count", message.delivery_count);
  if (!(properties == client::Properties())) {
    json.key("properties");
    write_properties(json, properties, Delay::kOver);
  }
  write_body(json, message.body);
  json.end_object();
  return json.take() + "\n";
}

std::string browsed_line(const std::string& queue, const BrowsedMessage& message,
                         const client::Properties& properties) {
  JsonWriter json;
  json.begin_object().field("queue", queue).field("place", message.place);
  json.field("exchange", message.exchange).field("routing_key", message.routing_key);
  if (!(properties == client::Properties())) {
    json.key("properties");
    write_properties(json, properties, Delay::kShown);
  }
  json.field("body_bytes", message.body_bytes);
  if (message.body) write_body(json, *message.body);
  json.end_object();
  return json.take() + "\n";
}

std::string properties_text(const client::Properties& properties) {
  JsonWriter json;
  write_properties(json, properties, Delay::kShown);
  return json.take();
}

}  // namespace segue::cli
