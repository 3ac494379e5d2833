#include "router/node_outbox.h"

#include <algorithm>

namespace segue::router {

namespace {

using Kind = v1::PeerFrame::BodyCase;

// A frame is cut here: large enough that its fixed costs vanish, far below any limit on frames.
constexpr std::size_t kFrameBytes = 1 << 20;
// Bodies that stand in one piece of this size go out without being copied if they are alone.
constexpr std::size_t kAloneBytes = 64 << 10;

// Whether an item of one kind may overtake one of the other.
bool may_overtake(Kind a, Kind b) {
  if (a == Kind::kCatalogRequests || b == Kind::kCatalogRequests) return true;
  if (a == Kind::kCatalogFollow || b == Kind::kCatalogFollow) return true;
  if (a == Kind::kQueueRequests || b == Kind::kQueueRequests) return false;
  return a == Kind::kPublishes || b == Kind::kPublishes;
}

}  // namespace

NodeOutbox::Frame& NodeOutbox::frame_for(Kind kind, std::size_t bytes, CatalogIndex needs) {
  Frame* found = nullptr;
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    const Kind there = frame->frame.body_case();
    if (there == kind) {
      if (!frame->sealed && frame->bytes + bytes <= kFrameBytes) found = &*frame;
      break;
    }
    if (!may_overtake(kind, there)) break;
  }
  if (found == nullptr) found = &frames_.emplace_back();
  found->bytes += bytes;
  found->frame.set_catalog_index(std::max(found->frame.catalog_index(), needs.value));
  return *found;
}

void NodeOutbox::publish(const v1::ShardPublish& publish, const SharedBytes& bodies,
                         CatalogIndex needs) {
  const bool alone = bodies.size() >= kAloneBytes;
  const std::size_t bytes =
      alone ? kFrameBytes : bodies.size() + publish.batch().size() + 8 * publish.targets_size();
  Frame& frame = frame_for(Kind::kPublishes, bytes, needs);
  *frame.frame.mutable_publishes()->add_publishes() = publish;
  if (!bodies.empty()) frame.bodies.push_back(bodies);
  frame.sealed = alone;
}

void NodeOutbox::consumer_command(v1::ConsumerCommand command, CatalogIndex needs) {
  Frame& frame = frame_for(Kind::kConsumers, sizeof command, needs);
  *frame.frame.mutable_consumers()->add_commands() = std::move(command);
}

void NodeOutbox::settle(v1::PeerSettle settle) {
  const std::size_t bytes = sizeof settle + 32 * static_cast<std::size_t>(settle.settled_size());
  Frame& frame = frame_for(Kind::kSettles, bytes, {});
  *frame.frame.mutable_settles()->add_settles() = std::move(settle);
}

void NodeOutbox::queue_request(v1::QueueRequest request, CatalogIndex needs) {
  Frame& frame = frame_for(Kind::kQueueRequests, sizeof request, needs);
  *frame.frame.mutable_queue_requests()->add_requests() = std::move(request);
}

void NodeOutbox::catalog_request(v1::CatalogRequest request) {
  Frame& frame = frame_for(Kind::kCatalogRequests, request.ByteSizeLong(), {});
  *frame.frame.mutable_catalog_requests()->add_requests() = std::move(request);
}

void NodeOutbox::catalog_follow(CatalogIndex after) {
  Frame& frame = frames_.emplace_back();
  frame.frame.mutable_catalog_follow()->set_after_index(after.value);
  frame.sealed = true;
}

void NodeOutbox::flush(NodeChannel& channel) {
  // Sending may find the link down, which clears the outbox meanwhile.
  std::vector<Frame> frames = std::move(frames_);
  frames_.clear();
  for (Frame& frame : frames) channel.send(std::move(frame.frame), frame.bodies);
}

}  // namespace segue::router
