#pragma once

#include <string>

#include "segue/delivery.h"

namespace segue::cli {

/// Whether a message ends its line itself: the last line of a file without a newline at its end.
bool has_no_newline(const client::Properties& properties);

/// The body, and the newline that `publish --lines` took away.
std::string line_text(const client::Delivery& delivery);

/// How `consume` and `get` write messages.
enum class OutputForm {
  kLines,   // line_text()
  kRaw,     // the body and nothing else
  kNdjson,  // ndjson_text()
};
std::string message_text(OutputForm form, const std::string& queue,
                         const client::Delivery& delivery);

/// The line of JSON (ndjson.h) of a message that came from `queue`.
std::string ndjson_text(const std::string& queue, const client::Delivery& delivery);

}  // namespace segue::cli
