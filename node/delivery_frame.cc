#include "node/delivery_frame.h"

#include <utility>

#include "segue/v1/types.pb.h"

namespace segue::node {

void DeliveryFrame::add(std::uint64_t first_number, const Queue& queue, const MessageRun& run) {
  if (builder_.empty()) first_number_ = first_number;
  if (queue.any_redelivered(run)) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const std::uint32_t at = builder_.count() + i;
      const Sequence sequence = run.first.next(i);
      if (queue.redelivered(sequence)) {
        redelivered_.resize(at);
        redelivered_.push_back(true);
      }
      if (const std::uint32_t count = queue.delivery_count(sequence); count > 0) {
        counts_.resize(at);
        counts_.push_back(count);
      }
    }
  }
  builder_.add(run.batch, run.begin, run.count);
}

DeliveryFrame::Built DeliveryFrame::take(const Consumer& consumer) {
  MessageBatchBuilder::Built messages = builder_.take();
  v1::RawDeliveryBatch batch;
  batch.set_messages(std::move(messages.batch));
  if (!redelivered_.empty()) {
    redelivered_.resize(messages.count);
    batch.mutable_redelivered()->Add(redelivered_.begin(), redelivered_.end());
  }
  if (!counts_.empty()) {
    counts_.resize(messages.count);
    batch.mutable_delivery_count()->Add(counts_.begin(), counts_.end());
  }
  redelivered_.clear();
  counts_.clear();
  Built built;
  built.delivery.set_consumer(consumer.number());
  built.delivery.set_first_number(first_number_);
  built.delivery.set_count(messages.count);
  batch.SerializeToString(built.delivery.mutable_batch());
  built.delivery.set_body_bytes(messages.body_bytes);
  built.bodies = std::move(messages.bodies);
  return built;
}

}  // namespace segue::node
