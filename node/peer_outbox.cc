#include "node/peer_outbox.h"

#include <iterator>
#include <utility>

namespace segue::node {
namespace {

void move_bodies(std::vector<SharedBytes> from, std::vector<SharedBytes>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void PeerOutbox::add(v1::ShardConfirm confirm) {
  *confirms_.add_confirms() = std::move(confirm);
  if (confirms_.confirms_size() >= kFrameItems) flush_confirms();
}

void PeerOutbox::add(v1::NodeDelivery delivery, std::vector<SharedBytes> bodies) {
  delivery_bytes_ += delivery.body_bytes();
  *deliveries_.add_deliveries() = std::move(delivery);
  move_bodies(std::move(bodies), delivery_bodies_);
  if (delivery_bytes_ >= kFrameBodyBytes || deliveries_.deliveries_size() >= kFrameItems) {
    flush_events();  // a consumer is told of itself before its first delivery
    flush_deliveries();
  }
}

void PeerOutbox::add(v1::ConsumerEvent event) {
  *events_.add_events() = std::move(event);
  if (events_.events_size() >= kFrameItems) flush_events();
}

void PeerOutbox::add(v1::QueueReply reply, std::vector<SharedBytes> bodies) {
  reply_bytes_ += reply.delivery().body_bytes();
  *queue_replies_.add_replies() = std::move(reply);
  move_bodies(std::move(bodies), reply_bodies_);
  if (reply_bytes_ >= kFrameBodyBytes || queue_replies_.replies_size() >= kFrameItems) {
    flush_queue_replies();
  }
}

void PeerOutbox::add(v1::CatalogReply reply) {
  *catalog_replies_.add_replies() = std::move(reply);
}

void PeerOutbox::add(v1::CatalogFeed feed) {
  feeds_.push_back(std::move(feed));
}

void PeerOutbox::flush() {
  flush_feed();
  flush_catalog_replies();
  flush_confirms();
  flush_events();
  flush_deliveries();
  flush_queue_replies();
}

// Each message is lent to the frame while it is sent, and stays ours.

void PeerOutbox::flush_feed() {
  for (v1::CatalogFeed& feed : feeds_) {
    frame_.set_allocated_catalog_feed(&feed);
    send_(frame_, {});
    (void)frame_.release_catalog_feed();
  }
  feeds_.clear();
}

void PeerOutbox::flush_catalog_replies() {
  if (catalog_replies_.replies_size() == 0) return;
  frame_.set_allocated_catalog_replies(&catalog_replies_);
  send_(frame_, {});
  (void)frame_.release_catalog_replies();
  catalog_replies_.Clear();
}

void PeerOutbox::flush_confirms() {
  if (confirms_.confirms_size() == 0) return;
  frame_.set_allocated_confirms(&confirms_);
  send_(frame_, {});
  (void)frame_.release_confirms();
  confirms_.Clear();
}

void PeerOutbox::flush_events() {
  if (events_.events_size() == 0) return;
  frame_.set_allocated_consumer_events(&events_);
  send_(frame_, {});
  (void)frame_.release_consumer_events();
  events_.Clear();
}

void PeerOutbox::flush_deliveries() {
  if (deliveries_.deliveries_size() == 0) return;
  frame_.set_allocated_deliveries(&deliveries_);
  send_(frame_, delivery_bodies_);
  (void)frame_.release_deliveries();
  deliveries_.Clear();
  delivery_bodies_.clear();
  delivery_bytes_ = 0;
}

void PeerOutbox::flush_queue_replies() {
  if (queue_replies_.replies_size() == 0) return;
  frame_.set_allocated_queue_replies(&queue_replies_);
  send_(frame_, reply_bodies_);
  (void)frame_.release_queue_replies();
  queue_replies_.Clear();
  reply_bodies_.clear();
  reply_bytes_ = 0;
}

}  // namespace segue::node
