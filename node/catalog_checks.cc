#include "node/catalog_checks.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "common/catalog_state.h"
#include "common/rabbitmq_names.h"
#include "common/routing/exchange_router.h"
#include "common/utf8.h"

namespace segue::node {
namespace {

Status refused(std::string text) {
  return Status(Code::kPreconditionFailed, std::move(text));
}

std::size_t bytes_of(const Arguments& arguments) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : arguments) bytes += name.size() + value.ByteSizeLong();
  return bytes;
}

std::string range_of(const QueueArgument& argument) {
  return "between " + std::to_string(argument.least) + " and " + std::to_string(argument.most);
}

/// What a value of the argument has to be, for people; empty when `value` is that.
std::string wants(const QueueArgument& argument, const v1::FieldValue& value) {
  using Kind = QueueArgument::Kind;
  const bool number = value.kind_case() == v1::FieldValue::kIntValue &&
                      value.int_value() >= argument.least && value.int_value() <= argument.most;
  const bool text = value.kind_case() == v1::FieldValue::kStringValue;
  switch (argument.kind) {
    case Kind::kNumber:
      return number ? "" : "a whole number " + range_of(argument);
    case Kind::kBoolean:
      return value.kind_case() == v1::FieldValue::kBoolValue ? "" : "true or false";
    case Kind::kDurability:
      if (number || (text && value.string_value() == "sync")) return "";
      return "'sync' or a whole number of milliseconds " + range_of(argument);
    case Kind::kName:
      if (text && value.string_value().size() <= kMaxNameBytes && is_utf8(value.string_value())) {
        return "";
      }
      return "a text of at most 255 bytes of UTF-8";
    case Kind::kWord:
      break;
  }
  std::string words;
  for (const std::string_view word : argument.words) {
    if (text && value.string_value() == word) return "";
    if (!words.empty()) words += word == argument.words.back() ? " or " : ", ";
    words += "'" + std::string(word) + "'";
  }
  return words;
}

std::string boolean(bool value) {
  return value ? "true" : "false";
}

/// Compares attributes one after the other and remembers the first difference.
class Comparison {
 public:
  explicit Comparison(std::string object) : object_(std::move(object)) {}

  void add(const char* argument, bool current, bool wanted) {
    if (current != wanted) differs(argument, boolean(current), boolean(wanted));
  }
  void add(const char* argument, const std::string& current, const std::string& wanted) {
    if (current != wanted) differs(argument, quoted_name(current), quoted_name(wanted));
  }
  void add(const Arguments& current, const Arguments& wanted) {
    if (canonical_arguments(current) == canonical_arguments(wanted)) return;
    const std::map<std::string, v1::FieldValue> has(current.begin(), current.end());
    const std::map<std::string, v1::FieldValue> wants(wanted.begin(), wanted.end());
    for (const auto& [name, value] : wants) {
      const auto found = has.find(name);
      const std::string is = found == has.end() ? "not set" : describe(found->second);
      if (is != describe(value)) return differs(name.c_str(), is, describe(value));
    }
    for (const auto& [name, value] : has) {
      if (!wants.contains(name)) return differs(name.c_str(), describe(value), "not set");
    }
    differs("arguments", "the ones it was declared with", "others");
  }
  /// What else can be done about a difference.
  void set_hint(std::string hint) { hint_ = std::move(hint); }
  Status result() const { return result_; }

 private:
  void differs(const char* argument, const std::string& current, const std::string& wanted) {
    if (!result_.is_ok()) return;
    result_ = refused(object_ + " exists and differs in " + quoted_name(argument) + ": wanted " +
                      wanted + ", current value is " + current +
                      "; declare it as it is, or delete it first" + hint_);
  }

  std::string object_;
  std::string hint_;
  Status result_;
};

Arguments unchangeable(const Arguments& arguments) {
  Arguments kept;
  for (const auto& [name, value] : arguments) {
    const QueueArgument* argument = find_queue_argument(name);
    if (argument == nullptr || !argument->changeable) kept[name] = value;
  }
  return kept;
}

Status check_retries(const v1::QueueDefinition& queue, const std::string& object) {
  const bool rests = value_of(queue, kRetryDelay) != nullptr;
  for (const QueueArgument* argument : {&kRetryDelayMax, &kRetryFactor}) {
    if (rests || value_of(queue, *argument) == nullptr) continue;
    return refused(object + ": the argument '" + std::string(argument->name) +
                   "' needs 'x-retry-delay'; give that too");
  }
  if (rests && is_set(queue, kMessageGroups)) {
    return refused(object +
                   ": 'x-message-groups' and 'x-retry-delay' contradict each other: a message "
                   "that rests lets others of its group pass; give one of them");
  }
  return {};
}

}  // namespace

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kMostShown = 300;
  std::string text = "'";
  std::string_view rest = name.substr(0, kMostShown);
  while (!rest.empty()) {
    const Utf8Character character = next_utf8(rest);
    if (character.valid && is_printable(character.code_point)) {
      text += rest.substr(0, character.size);
    } else {
      for (std::size_t i = 0; i < character.size; ++i) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(rest[i]));
        text += escaped;
      }
    }
    rest.remove_prefix(character.size);
  }
  if (name.size() > kMostShown) text += "...";
  return text + "'";
}

std::string describe(const v1::FieldValue& value) {
  switch (value.kind_case()) {
    case v1::FieldValue::kBoolValue:
      return boolean(value.bool_value());
    case v1::FieldValue::kIntValue:
      return std::to_string(value.int_value());
    case v1::FieldValue::kDoubleValue:
      return std::to_string(value.double_value());
    case v1::FieldValue::kStringValue:
      return quoted_name(value.string_value());
    case v1::FieldValue::kBytesValue:
      return std::to_string(value.bytes_value().size()) + " bytes";
    case v1::FieldValue::kTimestampMs:
      return "the time " + std::to_string(value.timestamp_ms());
    case v1::FieldValue::kTableValue:
      return "a table";
    case v1::FieldValue::kArrayValue:
      return "an array";
    case v1::FieldValue::KIND_NOT_SET:
      break;
  }
  return "none";
}

Status no_such_vhost(std::string_view vhost) {
  return Status(Code::kNotFound, "there is no virtual host " + quoted_name(vhost) +
                                     "; make it first (segue vhost create)");
}

Status check_name(std::string_view what, const std::string& name) {
  const std::string object = std::string(what) + " name";
  if (name.empty()) return refused("the " + object + " is empty");
  if (name.size() > kMaxNameBytes) {
    return refused("the " + object + " " + quoted_name(name) + " has " +
                   std::to_string(name.size()) + " bytes; at most 255 are taken");
  }
  if (!is_utf8(name)) return refused("the " + object + " " + quoted_name(name) + " is not UTF-8");
  return {};
}

Status check_argument_bytes(const std::string& object, const Arguments& arguments) {
  const std::size_t bytes = bytes_of(arguments);
  if (bytes <= kMaxArgumentBytes) return {};
  return refused("the arguments of " + object + " have " + std::to_string(bytes) +
                 " bytes; at most " + std::to_string(kMaxArgumentBytes) + " are taken");
}

std::string wanted_value(const QueueArgument& argument, const v1::FieldValue& value) {
  return wants(argument, value);
}

Status check_exchange(const v1::ExchangeDefinition& exchange) {
  SEGUE_RETURN_IF_ERROR(check_name("exchange", exchange.name()));
  const std::string object = "exchange " + quoted_name(exchange.name());
  SEGUE_RETURN_IF_ERROR(check_argument_bytes(object, exchange.arguments()));
  if (const Status type = check_exchange_type(exchange.type(), exchange.arguments()); !type) {
    return refused(object + ": " + type.message());
  }
  for (const auto& [name, value] : exchange.arguments()) {
    if (!is_exchange_argument(exchange.type(), name)) {
      return refused(object + ": the argument " + quoted_name(name) +
                     " is not known; an exchange of type '" + exchange.type() + "' has " +
                     exchange_arguments(exchange.type()));
    }
  }
  const auto alternate = exchange.arguments().find(std::string(kAlternateExchange));
  if (alternate == exchange.arguments().end()) return {};
  if (alternate->second.kind_case() != v1::FieldValue::kStringValue) {
    return refused("argument 'alternate-exchange' of " + object + " is " +
                   describe(alternate->second) + "; it must be the name of an exchange");
  }
  if (alternate->second.string_value().empty()) {
    return refused("argument 'alternate-exchange' of " + object +
                   " is empty; it must be the name of an exchange, and not of the default one");
  }
  return check_name("alternate exchange", alternate->second.string_value());
}

Status check_queue(const v1::QueueDefinition& queue) {
  SEGUE_RETURN_IF_ERROR(check_name("queue", queue.name()));
  const std::string object = "queue " + quoted_name(queue.name());
  SEGUE_RETURN_IF_ERROR(check_argument_bytes(object, queue.arguments()));
  for (const auto& [name, value] : queue.arguments()) {
    const QueueArgument* argument = find_queue_argument(name);
    if (argument == nullptr) {
      if (const std::string_view why = why_not_needed(name); !why.empty()) {
        return refused(object + ": the argument " + quoted_name(name) + " " + std::string(why) +
                       "; leave it out");
      }
      return refused(object + ": the argument " + quoted_name(name) + " is not known; there are " +
                     queue_argument_names());
    }
    if (const std::string wanted = wants(*argument, value); !wanted.empty()) {
      return refused("argument '" + name + "' of " + object + " is " + describe(value) +
                     "; it must be " + wanted);
    }
  }
  if (value_of(queue, kDeadLetterRoutingKey) != nullptr &&
      value_of(queue, kDeadLetterExchange) == nullptr) {
    return refused(object +
                   ": the argument 'x-dead-letter-routing-key' needs 'x-dead-letter-exchange'; "
                   "give that too (an empty text is the default exchange)");
  }
  if (value_of(queue, kDeduplicationMax) != nullptr &&
      value_of(queue, kDeduplicationWindow) == nullptr) {
    return refused(object +
                   ": the argument 'x-deduplication-max' needs 'x-deduplication-window'; give that "
                   "too");
  }
  if (is_set(queue, kMessageGroups) && value_of(queue, kMaxPriority) != nullptr) {
    return refused(
        object +
        ": 'x-message-groups' and 'x-max-priority' contradict each other: the messages of "
        "a group are delivered in order, and priorities would change it; give one of "
        "them");
  }
  return check_retries(queue, object);
}

Status check_binding(const std::string& type, const v1::BindingDefinition& binding) {
  const std::string object =
      "the binding of " +
      (binding.to_exchange().empty() ? "queue " + quoted_name(binding.queue())
                                     : "exchange " + quoted_name(binding.to_exchange())) +
      " to exchange " + quoted_name(binding.exchange());
  if (binding.routing_key().size() > kMaxNameBytes) {
    return refused(object + " has a routing key of " +
                   std::to_string(binding.routing_key().size()) + " bytes; at most 255 are taken");
  }
  if (!is_utf8(binding.routing_key())) {
    return refused(object + " has a routing key that is not UTF-8");
  }
  SEGUE_RETURN_IF_ERROR(check_argument_bytes(object, binding.arguments()));
  const Status sense = check_exchange_binding(type, binding.routing_key(), binding.arguments());
  return sense ? sense : refused(object + ": " + sense.message());
}

Status check_same(const v1::ExchangeDefinition& current, const v1::ExchangeDefinition& wanted) {
  Comparison comparison("exchange " + quoted_name(current.name()));
  comparison.add("type", current.type(), wanted.type());
  comparison.add("durable", current.durable(), wanted.durable());
  comparison.add("auto_delete", current.auto_delete(), wanted.auto_delete());
  comparison.add("internal", current.internal(), wanted.internal());
  comparison.add(current.arguments(), wanted.arguments());
  return comparison.result();
}

Status check_same(const v1::QueueDefinition& current, const v1::QueueDefinition& wanted) {
  Comparison comparison("queue " + quoted_name(current.name()));
  comparison.add("durable", current.durable(), wanted.durable());
  comparison.add("exclusive", current.exclusive(), wanted.exclusive());
  comparison.add("auto_delete", current.auto_delete(), wanted.auto_delete());
  // What is left may be changeable.
  const bool can_be_changed = check_update(current, wanted).is_ok();
  if (can_be_changed)
    comparison.set_hint(", or change it in place (update; on the command line --update)");
  comparison.add(current.arguments(), wanted.arguments());
  return comparison.result();
}

Status check_update(const v1::QueueDefinition& current, const v1::QueueDefinition& wanted) {
  Comparison comparison("queue " + quoted_name(current.name()));
  comparison.set_hint("; in place can be changed: " + changeable_argument_names());
  comparison.add("durable", current.durable(), wanted.durable());
  comparison.add("exclusive", current.exclusive(), wanted.exclusive());
  comparison.add("auto_delete", current.auto_delete(), wanted.auto_delete());
  comparison.add(unchangeable(current.arguments()), unchangeable(wanted.arguments()));
  return comparison.result();
}

}  // namespace segue::node
