#include "client/delivered_frame.h"

#include <algorithm>
#include <limits>

#include "client/consumer_core.h"
#include "client/convert.h"
#include "common/counted.h"

namespace segue::client {

namespace {

segue::Status bad(std::string text) {
  return {Code::kFrameError, "delivery: " + std::move(text)};
}

}  // namespace

segue::Result<DeliveredFramePtr> DeliveredFrame::make(std::shared_ptr<ConsumerCore> consumer,
                                                      std::uint64_t session,
                                                      IncomingDeliver deliver, SharedBytes bodies) {
  segue::Result<MessageBatchPtr> batch =
      MessageBatch::parse(std::move(deliver.messages), std::move(bodies));
  if (!batch.is_ok()) return batch.status();
  const std::size_t count = (*batch)->count();
  if (deliver.first_tag == 0 ||
      deliver.first_tag > std::numeric_limits<std::uint64_t>::max() - count) {
    return bad("first_tag " + std::to_string(deliver.first_tag) + " is out of range");
  }
  for (const auto* field : {&deliver.redelivered, &deliver.delivery_count}) {
    if (!field->empty() && field->size() != count) {
      return bad(std::to_string(field->size()) + " delivery counts or flags for " +
                 counted(count, "message"));
    }
  }
  auto frame = std::shared_ptr<DeliveredFrame>(new DeliveredFrame());
  frame->consumer_ = std::move(consumer);
  frame->session_ = session;
  frame->first_tag_ = deliver.first_tag;
  frame->batch_ = *std::move(batch);
  frame->redelivered_ = std::move(deliver.redelivered);
  frame->delivery_count_ = std::move(deliver.delivery_count);
  frame->headers_ =
      std::vector<std::atomic<const MessageHeader*>>(frame->batch_->distinct_headers().size());
  return DeliveredFramePtr(std::move(frame));
}

DeliveredFrame::~DeliveredFrame() {
  for (auto& header : headers_) delete header.load();
}

const MessageHeader& DeliveredFrame::header(std::uint32_t message) const {
  std::atomic<const MessageHeader*>& slot = headers_[batch_->header_number(message)];
  if (const MessageHeader* parsed = slot.load(std::memory_order_acquire)) return *parsed;
  const std::string_view bytes = batch_->header(message);
  v1::MessageHeader wire;
  auto made = std::make_unique<MessageHeader>();
  if (wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) *made = from_wire(wire);
  const MessageHeader* expected = nullptr;
  // Somebody else may have been faster; theirs counts.
  if (slot.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *expected;
}

// ---- the public views

std::string_view Delivery::body() const {
  return frame_->body(index_);
}
std::string_view Delivery::exchange() const {
  return frame_->header(index_).exchange;
}
std::string_view Delivery::routing_key() const {
  return frame_->header(index_).routing_key;
}
const Properties& Delivery::properties() const {
  return frame_->header(index_).properties;
}
std::uint64_t Delivery::tag() const {
  return frame_->tag(index_);
}
bool Delivery::redelivered() const {
  return frame_->redelivered(index_);
}
std::uint32_t Delivery::delivery_count() const {
  return frame_->delivery_count(index_);
}

void Delivery::ack() const {
  frame_->consumer().settle(frame_->session(), {tag(), tag(), v1::OUTCOME_ACK});
}
void Delivery::reject() const {
  frame_->consumer().settle(frame_->session(), {tag(), tag(), v1::OUTCOME_REJECT});
}
void Delivery::requeue() const {
  frame_->consumer().settle(frame_->session(), {tag(), tag(), v1::OUTCOME_REQUEUE});
}
void Delivery::requeue(std::chrono::milliseconds delay) const {
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(delay.count(), 0));
  frame_->consumer().settle(frame_->session(), {tag(), tag(), v1::OUTCOME_REQUEUE, ms});
}
void Delivery::release() const {
  frame_->consumer().settle(frame_->session(), {tag(), tag(), v1::OUTCOME_RELEASE});
}
void Delivery::extend() const {
  frame_->consumer().settle(frame_->session(), {tag(), tag(), v1::OUTCOME_EXTEND});
}
std::future<Status> Delivery::ack_confirmed() const {
  return frame_->consumer().settle_confirmed(frame_->session(), {tag(), tag(), v1::OUTCOME_ACK});
}

Delivery Deliveries::operator[](std::size_t index) const {
  return Delivery(frame_, first_ + static_cast<std::uint32_t>(index));
}
std::string_view Deliveries::body(std::size_t index) const {
  return frame_->body(first_ + static_cast<std::uint32_t>(index));
}

void Deliveries::settle(Settle how) const {
  if (empty()) return;
  const v1::Outcome outcome = how == Settle::kAck       ? v1::OUTCOME_ACK
                              : how == Settle::kReject  ? v1::OUTCOME_REJECT
                              : how == Settle::kRequeue ? v1::OUTCOME_REQUEUE
                              : how == Settle::kRelease ? v1::OUTCOME_RELEASE
                                                        : v1::OUTCOME_EXTEND;
  const std::uint64_t first = frame_->tag(first_);
  frame_->consumer().settle(frame_->session(), {first, first + count_ - 1, outcome});
}

std::future<Status> Deliveries::ack_confirmed() const {
  if (empty()) {
    std::promise<Status> nothing;
    nothing.set_value({});
    return nothing.get_future();
  }
  const std::uint64_t first = frame_->tag(first_);
  return frame_->consumer().settle_confirmed(frame_->session(),
                                             {first, first + count_ - 1, v1::OUTCOME_ACK});
}

}  // namespace segue::client
