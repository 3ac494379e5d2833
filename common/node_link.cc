#include "common/node_link.h"

#include <algorithm>

namespace segue {
namespace {

// Most frames are smaller; larger ones take memory of their own while they are handled.
constexpr std::size_t kArenaBlock = 64 * 1024;
// Doubling stops here; the maximum of the options is reached long before.
constexpr std::uint32_t kMostDoublings = 16;
// A goodbye on its way gets this long.
constexpr std::chrono::milliseconds kLinger{200};

google::protobuf::ArenaOptions arena_options(std::vector<char>& block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  return options;
}

Status closed_by_node(const std::string& node, const v1::Close& close) {
  return Status(code_from_number(close.code()),
                "node " + node + " ended the link: " +
                    (close.text().empty() ? std::string("no reason given") : close.text()));
}

}  // namespace

NodeLink::NodeLink(Options options, LinkTransport& transport, Events& events, Random& random,
                   Logger& log)
    : options_(std::move(options)),
      transport_(transport),
      events_(events),
      random_(random),
      log_(log),
      arena_block_(kArenaBlock),
      arena_(arena_options(arena_block_)) {}

bool NodeLink::poll(TimePoint now, std::size_t max_frames) {
  if (state_ == State::kClosed) return false;
  if (state_ == State::kWaiting) {
    if (now < retry_at_) return false;
    connect(now);
  }
  // Asked before the frames are taken, so that those that came until then are taken first.
  const std::string broken = transport_.broken();
  std::size_t frames = 0;
  WireMessage message;
  while (frames < max_frames && (state_ == State::kHello || state_ == State::kUp) &&
         transport_.receive(message)) {
    ++frames;
    on_message(message, now);
  }
  if (!broken.empty() && frames < max_frames) {
    reset(Status(Code::kShardUnavailable,
                 "node " + options_.node_id + " at " + options_.endpoint + " " + broken),
          now);
  }
  on_timers(now);
  return frames == max_frames;
}

TimePoint NodeLink::next_timer() const {
  switch (state_) {
    case State::kWaiting:
      return retry_at_;
    case State::kHello:
    case State::kUp:
      return link_->next_timer();
    case State::kClosed:
      break;
  }
  return TimePoint::max();
}

void NodeLink::connect(TimePoint now) {
  std::uint64_t epoch = 0;
  while (epoch == 0) epoch = random_.next_u64();
  link_.emplace(epoch, options_.heartbeat, now);
  state_ = State::kHello;
  if (Status opened = transport_.open(); !opened.is_ok()) {
    reset(opened, now);
    return;
  }
  v1::PeerFrame frame;
  *frame.mutable_hello() = options_.hello;
  transmit(frame, {}, now);
}

void NodeLink::on_message(WireMessage& message, TimePoint now) {
  arena_.Reset();
  auto* frame = google::protobuf::Arena::CreateMessage<v1::NodeFrame>(&arena_);
  if (message.malformed ||
      !frame->ParseFromArray(message.header.data(), static_cast<int>(message.header.size()))) {
    reset(Status(Code::kFrameError, "node " + options_.node_id + " sent a frame of " +
                                        std::to_string(message.header.size()) +
                                        " bytes that cannot be read"),
          now);
    return;
  }
  if (frame->has_close() && frame->link().epoch() == link_->epoch()) {
    // Whatever its number: a node that does not know the epoch cannot know the sequence.
    reset(closed_by_node(options_.node_id, frame->close()), now);
    return;
  }
  switch (link_->on_frame(frame->link().epoch(), frame->link().sequence(), now)) {
    case Link::Verdict::kOtherEpoch:
      return;
    case Link::Verdict::kGap:
      reset(Status(Code::kStaleEpoch, "frames from node " + options_.node_id + " were lost"), now);
      return;
    case Link::Verdict::kAccept:
      break;
  }
  if (frame->has_hello_ok() != (state_ == State::kHello)) {
    reset(Status(Code::kFrameError, "node " + options_.node_id + " did not keep to the handshake"),
          now);
  } else if (frame->has_hello_ok()) {
    on_hello_ok(frame->hello_ok(), now);
  } else if (!frame->has_heartbeat()) {
    events_.on_frame(*frame, std::move(message.bodies));
  }
}

void NodeLink::on_hello_ok(const v1::PeerHelloOk& hello, TimePoint now) {
  if (hello.node_id() != options_.node_id) {
    reset(Status(Code::kInvalidConfig, "node '" + hello.node_id() + "' answers at " +
                                           options_.endpoint + ", where '" + options_.node_id +
                                           "' should be; check the endpoints of both"),
          now);
    return;
  }
  if (hello.heartbeat_ms() > 0) {
    link_->set_heartbeat(std::chrono::milliseconds(hello.heartbeat_ms()));
  }
  state_ = State::kUp;
  up_since_ = now;
  last_error_ = Status::ok();
  log_.info("link_up", {{"node", options_.node_id}, {"endpoint", options_.endpoint}});
  events_.on_up(hello);
}

void NodeLink::on_timers(TimePoint now) {
  if (state_ != State::kHello && state_ != State::kUp) return;
  if (link_->expired(now)) {
    reset(Status(Code::kShardUnavailable,
                 "node " + options_.node_id + " at " + options_.endpoint + " does not answer"),
          now);
  } else if (state_ == State::kUp && link_->heartbeat_due(now)) {
    v1::PeerFrame frame;
    frame.mutable_heartbeat();
    transmit(frame, {}, now);
  }
}

bool NodeLink::send(v1::PeerFrame& frame, const std::vector<SharedBytes>& bodies, TimePoint now) {
  return state_ == State::kUp && transmit(frame, bodies, now);
}

bool NodeLink::transmit(v1::PeerFrame& frame, const std::vector<SharedBytes>& bodies,
                        TimePoint now) {
  frame.mutable_link()->set_epoch(link_->epoch());
  frame.mutable_link()->set_sequence(link_->stamp(now));
  if (transport_.send(frame.SerializeAsString(), bodies)) return true;
  const std::string broken = transport_.broken();
  const std::string why = "node " + options_.node_id +
                          (broken.empty() ? " does not read what is sent to it"
                                          : " at " + options_.endpoint + " " + broken);
  reset(Status(Code::kShardUnavailable, why), now);
  return false;
}

void NodeLink::reset(const Status& reason, TimePoint now) {
  if (state_ != State::kHello && state_ != State::kUp) return;
  const bool was_up = state_ == State::kUp;
  transport_.close(false);
  state_ = State::kWaiting;
  // One that ends as soon as it is up is no success.
  if (was_up && now - up_since_ >= last_pause_) failures_ = 0;
  last_pause_ = pause();
  retry_at_ = now + last_pause_;
  if (was_up || reason != last_error_) {
    log_.warn("link_down", {{"node", options_.node_id}, {"up_before", was_up}, {"reason", reason}});
  }
  last_error_ = reason;
  if (was_up) events_.on_down(reason);
}

Duration NodeLink::pause() {
  const std::uint32_t doublings = std::min(failures_++, kMostDoublings);
  const Duration longest =
      std::min(options_.reconnect_max, options_.reconnect_min * (1 << doublings));
  // Between half and all of it, so that many links do not come back in step.
  const auto half = static_cast<std::uint64_t>(longest.count() / 2);
  return Duration(static_cast<Duration::rep>(half + random_.below(half + 1)));
}

void NodeLink::close(TimePoint now) {
  if (state_ == State::kHello || state_ == State::kUp) {
    v1::PeerFrame frame;
    frame.mutable_close()->set_code(static_cast<std::uint32_t>(Code::kConnectionForced));
    frame.mutable_close()->set_text("the process stops");
    frame.mutable_link()->set_epoch(link_->epoch());
    frame.mutable_link()->set_sequence(link_->stamp(now));
    transport_.send(frame.SerializeAsString(), {});
    transport_.close(true);
  }
  state_ = State::kClosed;
}

ZmqLinkTransport::ZmqLinkTransport(ZmqContext& context, Poller& poller, std::string endpoint,
                                   ZmqSocket::Options options)
    : endpoint_(std::move(endpoint)), connection_(context, poller, options) {}

Status ZmqLinkTransport::open() {
  return connection_.open(endpoint_);
}

void ZmqLinkTransport::close(bool deliver) {
  connection_.close(deliver ? kLinger : std::chrono::milliseconds(0));
}

bool ZmqLinkTransport::send(std::string header, const std::vector<SharedBytes>& bodies) {
  return connection_.send(std::move(header), bodies, false);
}

bool ZmqLinkTransport::receive(WireMessage& message) {
  return connection_.receive(message);
}

std::string ZmqLinkTransport::broken() {
  const ZmqSocket::Trouble trouble = connection_.trouble();
  if (!connection_.lookup_failure().empty()) {
    return "cannot be reached: " + connection_.lookup_failure();
  }
  return trouble == ZmqSocket::Trouble::kLost ? "is gone: the connection ended" : "";
}

}  // namespace segue
