#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"
#include "node/queue_arguments.h"
#include "segue/v1/catalog.pb.h"

namespace segue::node {

// What names, arguments and attributes must look like, whatever else exists. Messages say which
// field is wrong, what it is and what it may be.

/// Most bytes of a name or a routing key.
inline constexpr std::size_t kMaxNameBytes = 255;
/// Most bytes of the arguments of one object.
inline constexpr std::size_t kMaxArgumentBytes = 64 * 1024;

using Arguments = google::protobuf::Map<std::string, v1::FieldValue>;

/// 1 to 255 bytes of UTF-8; `what` is "queue" or "exchange". PRECONDITION_FAILED.
Status check_name(std::string_view what, const std::string& name);
/// The arguments of `object` are not too large together. PRECONDITION_FAILED.
Status check_argument_bytes(const std::string& object, const Arguments& arguments);
/// What a value of the argument has to be, for people; empty when `value` is that.
std::string wanted_value(const QueueArgument& argument, const v1::FieldValue& value);
/// Type and arguments. PRECONDITION_FAILED.
Status check_exchange(const v1::ExchangeDefinition& exchange);
/// Arguments. PRECONDITION_FAILED.
Status check_queue(const v1::QueueDefinition& queue);
/// Routing key and arguments, for an exchange of the type. PRECONDITION_FAILED.
Status check_binding(const std::string& type, const v1::BindingDefinition& binding);

/// Whether what exists is what is wanted; if not, PRECONDITION_FAILED naming the first argument
/// that differs, the wanted and the current value.
Status check_same(const v1::ExchangeDefinition& current, const v1::ExchangeDefinition& wanted);
Status check_same(const v1::QueueDefinition& current, const v1::QueueDefinition& wanted);

/// Whether a queue that exists can become what is wanted without being made anew: only arguments
/// may differ that can be changed (QueueArgument.changeable). PRECONDITION_FAILED as above.
Status check_update(const v1::QueueDefinition& current, const v1::QueueDefinition& wanted);

/// NOT_FOUND, and what to do.
Status no_such_vhost(std::string_view vhost);
/// A value as people read it: 12, 'text', true, none.
std::string describe(const v1::FieldValue& value);
/// A name in a message: in quotes, without what would upset a terminal, cut when long.
std::string quoted_name(std::string_view name);

}  // namespace segue::node
