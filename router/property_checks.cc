#include "router/property_checks.h"

#include <string>

#include "common/expiry.h"
#include "common/message_ids.h"
#include "router/errors.h"

namespace segue::router {

namespace {

std::optional<v1::Error> bad_expiration(const std::string& expiration) {
  if (expiration.empty() || parse_expiration(expiration)) return {};
  return make_error(Code::kPreconditionFailed, "expiration",
                    "the message's expiration is " + in_quotes(expiration) +
                        ": a whole number of milliseconds from 0 to " +
                        std::to_string(kMaxExpirationMs) + " is needed");
}

std::optional<v1::Error> bad_time(const char* name, const char* what, std::int64_t value,
                                  std::int64_t most) {
  if (value >= 0 && value <= most) return {};
  return make_error(Code::kPreconditionFailed, name,
                    std::string("the message's ") + what + " is " + std::to_string(value) +
                        ": a whole number of milliseconds from 0 to " + std::to_string(most) +
                        " is needed");
}

std::optional<v1::Error> bad_deduplication_id(const v1::Properties& properties) {
  static const std::string name(kDeduplicationHeader);
  if (properties.headers().empty()) return {};
  const auto found = properties.headers().find(name);
  if (found == properties.headers().end()) return {};
  const v1::FieldValue& value = found->second;
  std::string what;
  if (value.has_string_value() || value.has_bytes_value()) {
    const std::size_t size =
        value.has_string_value() ? value.string_value().size() : value.bytes_value().size();
    if (size > 0 && size <= kMaxDeduplicationId) return {};
    what = "has " + std::to_string(size) + " bytes";
  } else {
    what = "is neither a text nor bytes";
  }
  return make_error(Code::kPreconditionFailed, name,
                    "the message's header " + name + " " + what + ": a text or bytes, 1 to " +
                        std::to_string(kMaxDeduplicationId) + " bytes long, is needed");
}

}  // namespace

std::optional<v1::Error> bad_property(const v1::Properties& properties) {
  if (auto error = bad_expiration(properties.expiration())) return error;
  if (auto error = bad_time("delay", "delay", properties.delay_ms(), kMaxExpirationMs)) {
    return error;
  }
  if (auto error = bad_time("deliver_at", "time to deliver at", properties.deliver_at_ms(),
                            kLatestDeliverAtMs)) {
    return error;
  }
  return bad_deduplication_id(properties);
}

}  // namespace segue::router
