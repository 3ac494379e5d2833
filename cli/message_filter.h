#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "segue/message.h"

namespace segue::cli {

/// What `browse`, `move` and `export` choose messages by: conditions, all of which hold.
///
///     header.NAME         there is such a header       !header.NAME   there is none
///     header.NAME=VALUE   it has this value            ... !=VALUE    it is not there, or has
///     another FIELD=VALUE, FIELD!=VALUE
///
/// FIELD is exchange, routing-key, reason (header x-first-death-reason), or a property:
/// content-type, content-encoding, correlation-id, reply-to, message-id, type, user-id, app-id,
/// priority. NAME and VALUE may stand in double quotes, inside which \" and \\ mean " and \. A
/// value without quotes is compared with how the header's reads (3, true, 1.5, text), one in quotes
/// with texts only.
class MessageFilter {
 public:
  /// INVALID_CONFIG names the expression, the position in it (from 1) and what was expected.
  Status add(std::string_view expression);
  bool empty() const { return conditions_.empty(); }
  bool matches(const client::MessageHeader& header) const;
  /// The same of a delivery's parts.
  bool matches(std::string_view exchange, std::string_view routing_key,
               const client::Properties& properties) const;

 private:
  struct Condition {
    std::string field;     // "header", or a field's name
    std::string name;      // of the header
    bool present = false;  // only whether it is there
    bool negated = false;
    bool text_only = false;
    std::string value;
  };
  struct Parser;

  static bool holds(const Condition& condition, std::string_view exchange,
                    std::string_view routing_key, const client::Properties& properties);

  std::vector<Condition> conditions_;
};

/// What help says of expressions; for descriptions of commands.
extern const char* const kFilterHelp;

}  // namespace segue::cli
