#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "router/ids.h"
#include "segue/v1/client.pb.h"

namespace segue::router {

/// A client's request that is being worked on. Copies stand for the same; answered once, by
/// whichever part of the router finishes it. An answer for a session that has gone goes nowhere.
class RequestContext {
 public:
  /// `reply.request_id` is filled in. `with_bodies`: a frame 2 goes along.
  using Answer = std::function<void(v1::Reply& reply, const SharedBytes& body, bool with_bodies)>;

  RequestContext(SessionId session, std::string vhost, Answer answer)
      : session_(session), vhost_(std::move(vhost)), answer_(std::move(answer)) {}

  SessionId session() const { return session_; }
  const std::string& vhost() const { return vhost_; }

  void reply(v1::Reply reply) const { answer_(reply, {}, false); }
  void reply_with_body(v1::Reply reply, const SharedBytes& body) const {
    answer_(reply, body, true);
  }
  void done() const { reply({}); }
  void fail(const v1::Error& error) const {
    v1::Reply failed;
    *failed.mutable_error() = error;
    reply(std::move(failed));
  }

 private:
  SessionId session_;
  std::string vhost_;
  Answer answer_;
};

}  // namespace segue::router
