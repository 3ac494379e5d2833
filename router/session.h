#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/link.h"
#include "common/status.h"
#include "router/client_output.h"
#include "router/ids.h"
#include "router/publish_ledger.h"
#include "router/turn.h"
#include "segue/v1/client.pb.h"
#include "segue/v1/raw.pb.h"

namespace segue::router {

/// One client's session: who it is, its end of the link, its publishing books. A session that is to
/// end is only marked (close(), or a send that fails); the client server takes it down when nothing
/// else is on the stack. One thread.
class Session {
 public:
  struct Identity {
    SessionId id;
    std::string peer;  // routing id of the client's socket
    std::string client_name;
    std::string vhost;
    std::string producer_id;
    /// Goes up with each session of a producer, over all routers.
    std::uint64_t producer_session = 0;
  };
  /// Where marked sessions are listed; outlives the session.
  using EndedList = std::vector<SessionId>;

  Session(Identity identity, const Link& link, PublishLedger::Options ledger, ClientOutput& output,
          const Turn& turn, EndedList& ended);

  const Identity& identity() const { return identity_; }
  SessionId id() const { return identity_.id; }
  Link& link() { return link_; }
  const std::shared_ptr<PublishLedger>& ledger() const { return ledger_; }

  /// HelloOk was sent.
  bool open() const { return open_; }
  void set_open() {
    open_ = true;
    opened_at_ = turn_.now;
  }
  /// Where replies go that the session asks for with the pseudo queue's name (reply_to.h).
  struct ReplyQueue {
    std::string name;  // empty: it has none
    bool being_made = false;
  };
  ReplyQueue& reply_queue() { return reply_queue_; }

  Duration open_for() const { return turn_.now - opened_at_; }
  /// Its beginning stands in the log; its end will too.
  bool logged() const { return logged_; }
  void set_logged() { logged_ = true; }

  /// Stamps and sends a frame; the link header is filled in. Does nothing once the session has
  /// ended.
  void send(v1::RouterFrame& frame) { send(frame, {}, false); }
  void send(v1::RouterFrame& frame, const std::vector<SharedBytes>& bodies, bool with_bodies);
  void send(v1::RawDeliverFrame& frame, const SharedBytes& bodies);

  /// Marks the session's end; the client is told with Close.
  void close(Code code, std::string text);
  /// Marks the session's end without a word: the client has gone, or a new session took its place.
  void drop(Status reason);
  bool ended() const { return ended_; }
  const Status& end_reason() const { return end_reason_; }
  /// For the client server when it takes the session down, if the client is to be told at all: a
  /// frame before the last, and the last, a Close.
  void send_before_close(v1::RouterFrame& frame);
  void send_close();

 private:
  void end(Status reason, bool tell);
  template <typename Frame>
  void transmit(Frame& frame, const std::vector<SharedBytes>& bodies, bool with_bodies,
                ZmqSocket::Bound bound);

  Identity identity_;
  Link link_;
  std::shared_ptr<PublishLedger> ledger_;
  ClientOutput& output_;
  const Turn& turn_;
  EndedList& ended_list_;
  ReplyQueue reply_queue_;
  bool open_ = false;
  TimePoint opened_at_{};
  bool logged_ = false;
  bool ended_ = false;
  bool tell_client_ = false;
  Status end_reason_;
};

}  // namespace segue::router
