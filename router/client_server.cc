#include "router/client_server.h"

#include <algorithm>

#include "common/counted.h"
#include "router/errors.h"
#include "router/version.h"

namespace segue::router {

namespace {

constexpr std::uint32_t kProtocolVersion = 1;
constexpr std::size_t kMaxVhostName = 255;
constexpr std::size_t kMaxProducerId = 64;
constexpr std::size_t kMaxClientName = 255;
// Sessions that last longer are logged; of others only what went wrong.
constexpr Duration kShortSession = std::chrono::seconds(1);
constexpr Duration kShortestHeartbeat = std::chrono::milliseconds(100);
constexpr Duration kLongestHeartbeat = std::chrono::minutes(10);

std::uint32_t milliseconds(Duration duration) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

ClientServer::ClientServer(Options options, const Paths& paths, CatalogView& catalog,
                           SessionTable& sessions, ClientOutput& output, const Turn& turn,
                           Logger& log)
    : options_(std::move(options)),
      paths_(paths),
      catalog_(catalog),
      sessions_(sessions),
      output_(output),
      turn_(turn),
      log_(log) {}

// ---- frames

void ClientServer::on_message(WireMessage& message) {
  Session* session = sessions_.find_peer(message.peer);
  if (session != nullptr && session->ended()) {
    end_turn();
    session = nullptr;
  }
  if (message.malformed) {
    return broken(session, message.peer, "a message has one or two frames");
  }
  if (std::max(message.header.size(), message.bodies.size()) > options_.limits.max_frame_bytes) {
    return broken(session, message.peer,
                  "a frame of " +
                      std::to_string(std::max(message.header.size(), message.bodies.size())) +
                      " bytes, " + std::to_string(options_.limits.max_frame_bytes) +
                      " are allowed (HelloOk.max_frame_bytes)");
  }
  if (!frame_.ParseFromArray(message.header.data(), static_cast<int>(message.header.size()))) {
    return broken(session, message.peer, "frame 1 is not a ClientFrame");
  }
  if (!message.bodies.empty() && !frame_.has_publish()) {
    return broken(session, message.peer, "only Publish has a frame 2");
  }
  const std::uint64_t epoch = frame_.link().epoch();
  if (frame_.has_hello() && (session == nullptr || session->link().epoch() != epoch)) {
    return on_hello(message.peer, frame_.link(), *frame_.mutable_hello());
  }
  if (session == nullptr) {
    if (frame_.has_close()) return;
    return refuse(message.peer, epoch, Code::kStaleEpoch,
                  "this router does not know the session; begin a new one with Hello");
  }
  switch (session->link().on_frame(epoch, frame_.link().sequence(), turn_.now)) {
    case Link::Verdict::kOtherEpoch:
      return refuse(message.peer, epoch, Code::kStaleEpoch,
                    "the epoch is not that of the session's Hello");
    case Link::Verdict::kGap:
      return session->close(Code::kStaleEpoch, "frames were lost before frame " +
                                                   std::to_string(frame_.link().sequence()) +
                                                   "; begin a new session");
    case Link::Verdict::kAccept:
      on_session_frame(*session, std::move(message.bodies));
  }
}

void ClientServer::on_session_frame(Session& session, SharedBytes bodies) {
  if (frame_.has_close()) return session.drop(Status(Code::kOk, "closed by the client"));
  if (frame_.has_heartbeat()) return;
  if (!session.open()) return session.close(Code::kFrameError, "a frame before HelloOk came");
  switch (frame_.body_case()) {
    case v1::RawClientFrame::kRequest:
      return paths_.request.on_request(session, *frame_.mutable_request());
    case v1::RawClientFrame::kPublish:
      // While draining: not taken in and not answered, so the client sends it again elsewhere.
      if (draining_) return;
      return paths_.publish.on_publish(session, *frame_.mutable_publish(), std::move(bodies));
    case v1::RawClientFrame::kSettle:
      return paths_.delivery.on_settle(session, frame_.settle());
    case v1::RawClientFrame::kReceived:
      return paths_.delivery.on_received(session, frame_.received());
    case v1::RawClientFrame::kHello:
      return session.close(Code::kFrameError, "a second Hello in the session");
    default:
      return session.close(Code::kFrameError,
                           "this router does not know the frame's kind; it speaks version 1");
  }
}

void ClientServer::broken(Session* session, const std::string& peer, const std::string& text) {
  if (session != nullptr) return session->close(Code::kFrameError, text);
  refuse(peer, 0, Code::kFrameError, text);
}

void ClientServer::refuse(const std::string& peer, std::uint64_t epoch, Code code,
                          const std::string& text) {
  v1::RouterFrame frame;
  frame.mutable_link()->set_epoch(epoch);
  frame.mutable_close()->set_code(static_cast<std::uint32_t>(code));
  frame.mutable_close()->set_text(text);
  output_.send(peer, frame.SerializeAsString(), {}, false, ZmqSocket::Bound::kReading);
  log_.info("client_refused", {{"code", code}, {"reason", text}});
}

// ---- sessions begin

Status ClientServer::check_hello(const v1::LinkHeader& link, const v1::Hello& hello) const {
  if (draining_) return Status(Code::kConnectionForced, "this router is stopping; use another");
  if (link.epoch() == 0 || link.sequence() != 1) {
    return Status(Code::kFrameError, "Hello has an epoch that is not 0, and sequence 1");
  }
  if (hello.protocol_version() != kProtocolVersion) {
    return Status(Code::kNotImplemented,
                  "the client speaks version " + std::to_string(hello.protocol_version()) +
                      " of the protocol, this router version " + std::to_string(kProtocolVersion));
  }
  if (hello.producer_id().size() > kMaxProducerId) {
    return Status(Code::kFrameError, "the producer id has " +
                                         std::to_string(hello.producer_id().size()) + " bytes, " +
                                         std::to_string(kMaxProducerId) + " are allowed");
  }
  if (hello.client_name().size() > kMaxClientName) {
    return Status(Code::kFrameError, "the client name has " +
                                         std::to_string(hello.client_name().size()) + " bytes, " +
                                         std::to_string(kMaxClientName) + " are allowed");
  }
  if (hello.vhost().size() > kMaxVhostName) {
    return Status(Code::kFrameError, "the virtual host's name has " +
                                         std::to_string(hello.vhost().size()) + " bytes, " +
                                         std::to_string(kMaxVhostName) + " are allowed");
  }
  return Status::ok();
}

void ClientServer::on_hello(const std::string& peer, const v1::LinkHeader& link, v1::Hello& hello) {
  const Status status = check_hello(link, hello);
  if (!status) return refuse(peer, link.epoch(), status.code(), status.message());
  take_place_of(sessions_.find_peer(peer), true);
  if (!hello.producer_id().empty()) {
    take_place_of(sessions_.find_producer(hello.producer_id()), false);
  }
  if (sessions_.size() >= options_.limits.max_sessions) {
    return refuse(peer, link.epoch(), Code::kResourceError,
                  "this router has " + counted(sessions_.size(), "session") +
                      ", as many as are allowed; use another router");
  }
  const Duration heartbeat =
      hello.heartbeat_ms() == 0
          ? options_.heartbeat
          : std::clamp<Duration>(std::chrono::milliseconds(hello.heartbeat_ms()),
                                 kShortestHeartbeat, kLongestHeartbeat);
  Session::Identity identity;
  identity.id = sessions_.next_id();
  identity.peer = peer;
  identity.client_name = std::move(*hello.mutable_client_name());
  identity.vhost =
      hello.vhost().empty() ? std::string(kDefaultVhost) : std::move(*hello.mutable_vhost());
  identity.producer_id = std::move(*hello.mutable_producer_id());
  identity.producer_session = sessions_.next_producer_session(turn_.wall_ms);
  Link session_link(link.epoch(), heartbeat, turn_.now);
  session_link.on_frame(link.epoch(), 1, turn_.now);
  PublishLedger::Options ledger = paths_.publish.ledger_options(identity);
  Session& session = sessions_.add(std::make_unique<Session>(
      std::move(identity), session_link, std::move(ledger), output_, turn_, ended_));
  // An empty catalog has index 0: at least the cluster's creation must be known.
  const CatalogIndex index(std::max<std::uint64_t>(hello.catalog_index(), 1));
  catalog_.when_reached(index, turn_.now + options_.catalog_wait,
                        [this, id = session.id()](bool reached) { open(id, reached); });
}

void ClientServer::open(SessionId id, bool reached) {
  Session* session = sessions_.find(id);
  if (session == nullptr || session->ended()) return;
  if (!reached) {
    return session->close(Code::kCatalogUnavailable,
                          "this router's catalog has not reached what the session needs: it is at "
                          "index " +
                              std::to_string(catalog_.index().value));
  }
  if (const Status fine = check_vhost(*session); !fine) {
    return session->close(fine.code(), fine.message());
  }
  session->set_open();
  v1::RouterFrame frame;
  v1::HelloOk& ok = *frame.mutable_hello_ok();
  ok.set_session_id(id.value);
  ok.set_heartbeat_ms(milliseconds(session->link().heartbeat()));
  ok.set_max_frame_bytes(options_.limits.max_frame_bytes);
  ok.set_max_message_bytes(options_.limits.max_message_bytes);
  ok.set_publish_credit(session->ledger()->granted_bytes());
  ok.set_max_unconfirmed(options_.limits.max_unconfirmed);
  ok.set_cluster(options_.cluster);
  ok.set_router_id(options_.router_id);
  ok.set_server_version(std::string(kVersion));
  session->send(frame);
}

Status ClientServer::check_vhost(const Session& session) const {
  const std::string& name = session.identity().vhost;
  const v1::VhostDefinition* vhost = catalog_.state().find_vhost(name);
  if (vhost == nullptr) {
    return catalog_.not_found("no virtual host " + in_quotes(name) +
                              "; make it first (segue vhost create), or use another");
  }
  // This one is counted already.
  if (!vhost->has_max_sessions() || sessions_.size(name) <= vhost->max_sessions()) return {};
  return Status(Code::kResourceError, "virtual host " + in_quotes(name) + " has " +
                                          counted(sessions_.size(name) - 1, "session") +
                                          " at this router, and its max_sessions is " +
                                          std::to_string(vhost->max_sessions()));
}

// A new session cannot begin beside an older one of the same socket or producer.
void ClientServer::take_place_of(Session* other, bool same_socket) {
  if (other == nullptr) return;
  if (same_socket) {
    other->drop(Status(Code::kOk, "the client began a new session"));
  } else {
    other->close(Code::kNotAllowed, "another session has begun with the same producer id");
  }
  end_turn();
}

// ---- sessions end

void ClientServer::end_turn() {
  // Taking one down may end another: a send that fails.
  while (!ended_.empty()) {
    const SessionId id = ended_.back();
    ended_.pop_back();
    take_down(id);
  }
}

void ClientServer::take_down(SessionId id) {
  Session* session = sessions_.find(id);
  if (session == nullptr) return;
  paths_.publish.flush(*session);
  session->send_close();
  paths_.publish.end_session(*session);
  paths_.delivery.end_session(*session);
  paths_.request.end_session(*session);
  log_closed(*session);
  sessions_.remove(id);
  paths_.exclusive.on_session_ended(id);
}

void ClientServer::log_closed(const Session& session) {
  const Status& reason = session.end_reason();
  const bool worth_it = session.logged() || !reason.is_ok();
  log_.log(worth_it ? LogLevel::kInfo : LogLevel::kDebug, "session_closed",
           {{"session", session.id().value},
            {"client", session.identity().client_name},
            {"code", reason.code()},
            {"reason", reason.message()}});
}

void ClientServer::log_opened(Session& session) {
  session.set_logged();
  log_.info("session_opened", {{"session", session.id().value},
                               {"client", session.identity().client_name},
                               {"sessions", sessions_.size()}});
}

void ClientServer::on_tick() {
  sessions_.for_each([&](Session& session) {
    // Before HelloOk neither end says anything; the wait for the catalog has its own end.
    if (!session.open()) return;
    if (!session.logged() && session.open_for() >= kShortSession) log_opened(session);
    if (session.link().expired(turn_.now)) {
      session.close(Code::kConnectionForced,
                    "nothing was heard from the client for two heartbeats");
    } else if (session.link().heartbeat_due(turn_.now)) {
      v1::RouterFrame frame;
      frame.mutable_heartbeat();
      session.send(frame);
    }
  });
}

void ClientServer::on_vhost_deleted() {
  sessions_.for_each([&](Session& session) {
    const std::string& vhost = session.identity().vhost;
    if (!session.open() || catalog_.state().find_vhost(vhost) != nullptr) return;
    session.close(Code::kConnectionForced, "virtual host " + in_quotes(vhost) + " was deleted");
  });
}

void ClientServer::close_all(Code code, const std::string& text) {
  sessions_.for_each([&](Session& session) { session.close(code, text); });
  end_turn();
}

}  // namespace segue::router
