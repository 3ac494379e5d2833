#include "router/reply_to.h"

#include <utility>

#include "segue/v1/raw.pb.h"
#include "segue/v1/types.pb.h"

namespace segue::router {

bool is_reply_to(std::string_view name) {
  return name == "amq.reply-to" || name == "amq.rabbitmq.reply-to";
}

Result<MessageBatchPtr> with_reply_to(const MessageBatch& batch,
                                      const std::vector<std::size_t>& headers,
                                      const std::string& reply_to) {
  v1::RawMessageBatch raw;
  const SharedBytes& serialized = batch.serialized();
  if (!raw.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return Status(Code::kInternalError, "a batch that was read before cannot be read");
  }
  for (const std::size_t number : headers) {
    std::string& bytes = *raw.mutable_headers(static_cast<int>(number));
    v1::MessageHeader header;
    if (!header.ParseFromString(bytes)) {
      return Status(Code::kInternalError, "a header that was read before cannot be read");
    }
    header.mutable_properties()->set_reply_to(reply_to);
    bytes = header.SerializeAsString();
  }
  return MessageBatch::parse(SharedBytes::from(raw.SerializeAsString()), batch.bodies());
}

}  // namespace segue::router
