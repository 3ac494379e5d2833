#include "cli/message_output.h"

#include "cli/lines.h"
#include "cli/ndjson.h"

namespace segue::cli {

bool has_no_newline(const client::Properties& properties) {
  const auto header = properties.headers.find(std::string(kNoNewlineHeader));
  if (header == properties.headers.end()) return false;
  const auto* truth = header->second.as<bool>();
  return truth != nullptr && *truth;
}

std::string line_text(const client::Delivery& delivery) {
  std::string text(delivery.body());
  if (!has_no_newline(delivery.properties())) text += '\n';
  return text;
}

std::string ndjson_text(const std::string& queue, const client::Delivery& delivery) {
  return message_line(queue,
                      {delivery.exchange(), delivery.routing_key(), delivery.body(),
                       delivery.redelivered(), delivery.delivery_count()},
                      delivery.properties());
}

std::string message_text(OutputForm form, const std::string& queue,
                         const client::Delivery& delivery) {
  switch (form) {
    case OutputForm::kRaw:
      return std::string(delivery.body());
    case OutputForm::kNdjson:
      return ndjson_text(queue, delivery);
    case OutputForm::kLines:
      break;
  }
  return line_text(delivery);
}

}  // namespace segue::cli
