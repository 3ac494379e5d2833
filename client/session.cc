#include "client/session.h"

#include <algorithm>

#include "client/convert.h"
#include "client/frame_reader.h"

namespace segue::client {

namespace {

constexpr std::uint32_t kProtocolVersion = 1;

}  // namespace

void Session::begin(RouterTransport& transport, std::uint64_t epoch, TimePoint now) {
  writer_.emplace(transport, epoch, options_.heartbeat, now);
  failure_.reset();
  refused_ = false;
  phase_ = Phase::kHello;
  v1::ClientFrame frame;
  v1::Hello* hello = frame.mutable_hello();
  hello->set_protocol_version(kProtocolVersion);
  hello->set_client_name(options_.client_name);
  hello->set_producer_id(producer_id_);
  hello->set_vhost(options_.vhost);
  hello->set_catalog_index(parts_.requests.catalog_index());
  hello->set_heartbeat_ms(static_cast<std::uint32_t>(options_.heartbeat.count()));
  writer_->send(frame);
}

void Session::fail(ErrorCode code, std::string text) {
  if (!failure_) failure_ = Error{code, {}, std::move(text)};
}

void Session::on_message(const WireMessage& message, TimePoint now) {
  if (phase_ == Phase::kNone || failure_) return;
  writer_->set_now(now);
  if (message.malformed || !read_frame(message.header, incoming_)) {
    fail(ErrorCode::kFrameError, "the router sent a frame that cannot be read");
    return;
  }
  // A router that does not know our epoch cannot number its answer.
  if (!incoming_.is_deliver && incoming_.frame.has_close()) {
    on_close(incoming_.frame.close());
    return;
  }
  if (check_link(incoming_, now)) dispatch(incoming_, message, now);
}

bool Session::check_link(const IncomingFrame& frame, TimePoint now) {
  switch (writer_->link().on_frame(frame.epoch, frame.sequence, now)) {
    case Link::Verdict::kAccept:
      return true;
    case Link::Verdict::kOtherEpoch:
      return false;
    case Link::Verdict::kGap:
      fail(ErrorCode::kDisconnected, "frames from the router were lost");
      return false;
  }
  return false;
}

void Session::dispatch(IncomingFrame& frame, const WireMessage& message, TimePoint now) {
  if (phase_ == Phase::kHello) {
    if (!frame.is_deliver && frame.frame.has_hello_ok()) {
      on_hello_ok(frame.frame.hello_ok(), now);
    } else {
      fail(ErrorCode::kFrameError, "the router sent something else before HelloOk");
    }
    return;
  }
  if (frame.is_deliver) {
    const segue::Status taken =
        parts_.consumers.on_deliver(std::move(frame.deliver), message.bodies);
    if (!taken.is_ok()) fail(ErrorCode::kFrameError, taken.message());
    return;
  }
  v1::RouterFrame& body = frame.frame;
  switch (body.body_case()) {
    case v1::RouterFrame::kReply:
      parts_.requests.on_reply(std::move(*body.mutable_reply()), message.bodies);
      break;
    case v1::RouterFrame::kConfirm:
      parts_.publishes.on_confirm(body.confirm());
      break;
    case v1::RouterFrame::kReturnMessage:
      parts_.publishes.on_return(body.return_message(), message.bodies);
      break;
    case v1::RouterFrame::kSettleOk:
      parts_.consumers.on_settle_ok(body.settle_ok());
      break;
    case v1::RouterFrame::kConsumerCancelled:
      parts_.consumers.on_cancelled(body.consumer_cancelled());
      break;
    case v1::RouterFrame::kCredit:
      parts_.publishes.grant(body.credit().granted_bytes());
      break;
    case v1::RouterFrame::kBlocked:
      parts_.events.on_blocked(body.blocked());
      break;
    case v1::RouterFrame::kUnblocked:
      parts_.events.on_unblocked(body.unblocked());
      break;
    case v1::RouterFrame::kHelloOk:
      fail(ErrorCode::kFrameError, "the router sent a second HelloOk");
      break;
    default:
      break;  // a heartbeat, or something that a newer router adds
  }
}

void Session::on_hello_ok(const v1::HelloOk& hello, TimePoint now) {
  if (hello.heartbeat_ms() > 0) {
    writer_->link().set_heartbeat(std::chrono::milliseconds(hello.heartbeat_ms()));
  }
  phase_ = Phase::kReady;
  ++sessions_;
  parts_.requests.begin_session(hello);
  parts_.publishes.begin_session(hello);
  parts_.consumers.begin_session(sessions_, now);
  parts_.events.on_ready(hello);
}

void Session::on_close(const v1::Close& close) {
  v1::Error error;
  error.set_code(close.code());
  error.set_text(close.text());
  failure_ = from_wire(error);
  refused_ = phase_ == Phase::kHello && failure_->code != ErrorCode::kStaleEpoch;
}

void Session::turn(TimePoint now) {
  if (phase_ == Phase::kNone || failure_) {
    parts_.consumers.turn(now, nullptr);
    return;
  }
  writer_->set_now(now);
  if (phase_ == Phase::kReady) {
    // Unconfirmed publishes go out before anything new, and requests in the order they were made,
    // after what was settled before them.
    parts_.consumers.turn(now, &*writer_);
    parts_.requests.send_waiting(*writer_);
    parts_.publishes.turn(now, *writer_);
    if (writer_->link().expired(now)) {
      fail(ErrorCode::kDisconnected, "the router was silent for two heartbeat intervals");
    }
    if (writer_->link().heartbeat_due(now)) {
      v1::ClientFrame frame;
      frame.mutable_heartbeat();
      writer_->send(frame);
    }
  } else {
    parts_.consumers.turn(now, nullptr);
  }
  if (!writer_->fine()) {
    fail(ErrorCode::kDisconnected, "the router does not take frames any more");
  }
}

TimePoint Session::deadline(TimePoint now) const {
  TimePoint at = now + std::chrono::seconds(60);
  const auto sooner = [&at](std::optional<TimePoint> other) {
    if (other) at = std::min(at, *other);
  };
  sooner(parts_.consumers.deadline());
  if (phase_ == Phase::kReady) {
    sooner(parts_.publishes.deadline());
    sooner(now + writer_->link().heartbeat() / 4);
  }
  return at;
}

void Session::say_close() {
  if (phase_ != Phase::kReady || failure_) return;
  v1::ClientFrame frame;
  frame.mutable_close();
  writer_->send(frame);
}

void Session::end(const Error& why) {
  if (phase_ == Phase::kNone) return;
  phase_ = Phase::kNone;
  writer_.reset();
  failure_.reset();
  parts_.publishes.end_session();
  parts_.requests.on_session_lost(why);
  parts_.consumers.end_session(why);
}

}  // namespace segue::client
