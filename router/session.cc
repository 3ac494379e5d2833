#include "router/session.h"

namespace segue::router {

Session::Session(Identity identity, const Link& link, PublishLedger::Options ledger,
                 ClientOutput& output, const Turn& turn, EndedList& ended)
    : identity_(std::move(identity)),
      link_(link),
      ledger_(std::make_shared<PublishLedger>(std::move(ledger))),
      output_(output),
      turn_(turn),
      ended_list_(ended) {}

template <typename Frame>
void Session::transmit(Frame& frame, const std::vector<SharedBytes>& bodies, bool with_bodies,
                       ZmqSocket::Bound bound) {
  frame.mutable_link()->set_epoch(link_.epoch());
  frame.mutable_link()->set_sequence(link_.stamp(turn_.now));
  std::string header;
  frame.SerializeToString(&header);
  if (!output_.send(identity_.peer, std::move(header), bodies, with_bodies, bound)) {
    drop(Status(Code::kConnectionForced, "the client has gone or does not read"));
  }
}

void Session::send(v1::RouterFrame& frame, const std::vector<SharedBytes>& bodies,
                   bool with_bodies) {
  if (!ended_) transmit(frame, bodies, with_bodies, ZmqSocket::Bound::kReading);
}

void Session::send(v1::RawDeliverFrame& frame, const SharedBytes& bodies) {
  if (!ended_) transmit(frame, {bodies}, true, ZmqSocket::Bound::kWindow);
}

void Session::close(Code code, std::string text) {
  end(Status(code, std::move(text)), true);
}

void Session::drop(Status reason) {
  end(std::move(reason), false);
}

void Session::end(Status reason, bool tell) {
  if (ended_) {
    if (!tell) tell_client_ = false;
    return;
  }
  ended_ = true;
  tell_client_ = tell;
  end_reason_ = std::move(reason);
  ended_list_.push_back(identity_.id);
}

void Session::send_before_close(v1::RouterFrame& frame) {
  if (tell_client_) transmit(frame, {}, false, ZmqSocket::Bound::kReading);
}

void Session::send_close() {
  if (!tell_client_) return;
  v1::RouterFrame frame;
  frame.mutable_close()->set_code(static_cast<std::uint32_t>(end_reason_.code()));
  frame.mutable_close()->set_text(end_reason_.message());
  transmit(frame, {}, false, ZmqSocket::Bound::kReading);
}

}  // namespace segue::router
