#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/message_batch.h"
#include "common/status.h"

namespace segue::router {

/// Whether `name` is that of the pseudo queue for replies: "amq.reply-to", or as RabbitMQ calls it
/// "amq.rabbitmq.reply-to".
bool is_reply_to(std::string_view name);

/// The batch, but its distinct headers of the numbers in `headers` have `reply_to`; the bodies are
/// the same bytes.
Result<MessageBatchPtr> with_reply_to(const MessageBatch& batch,
                                      const std::vector<std::size_t>& headers,
                                      const std::string& reply_to);

}  // namespace segue::router
