#include "segue/held_deliveries.h"

#include "client/consumer_core.h"
#include "client/delivered_frame.h"

namespace segue::client {

HeldDeliveries::HeldDeliveries() = default;
HeldDeliveries::~HeldDeliveries() = default;

void HeldDeliveries::add(const Delivery& delivery) {
  const DeliveredFrame& frame = *delivery.frame_;
  if (frame.session() != session_) {
    clear();
    session_ = frame.session();
    consumer_ = frame.consumer().shared_from_this();
  }
  ++size_;
  const std::uint64_t tag = delivery.tag();
  if (!held_.empty() && held_.back().last + 1 == tag) {
    held_.back().last = tag;
  } else {
    held_.push_back({tag, tag});
  }
}

void HeldDeliveries::release() {
  for (const Tags& tags : held_) {
    consumer_->settle(session_, {tags.first, tags.last, v1::OUTCOME_RELEASE});
  }
  clear();
}

void HeldDeliveries::clear() {
  held_.clear();
  size_ = 0;
}

}  // namespace segue::client
