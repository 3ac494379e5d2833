#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/logging.h"
#include "common/zmq_socket.h"
#include "router/catalog_view.h"
#include "router/client_output.h"
#include "router/delivery_path.h"
#include "router/exclusive_queues.h"
#include "router/publish_path.h"
#include "router/request_path.h"
#include "router/session_table.h"
#include "router/turn.h"

namespace segue::router {

/// The clients' door: reads frames, checks the link, opens sessions and takes them down, hands what
/// is in the frames to the paths. Whatever a client sends, the others' sessions go on. One thread.
class ClientServer {
 public:
  struct Options {
    LimitsConfig limits;
    Duration heartbeat = std::chrono::seconds(10);
    /// How long a hello waits for the catalog index that it names.
    Duration catalog_wait = std::chrono::seconds(10);
    std::string cluster;
    std::string router_id;
  };
  struct Paths {
    PublishPath& publish;
    DeliveryPath& delivery;
    RequestPath& request;
    ExclusiveQueues& exclusive;
  };

  ClientServer(Options options, const Paths& paths, CatalogView& catalog, SessionTable& sessions,
               ClientOutput& output, const Turn& turn, Logger& log);

  void on_message(WireMessage& message);
  /// Heartbeats, and sessions that fell silent.
  void on_tick();
  /// Takes down the sessions that were marked ended.
  void end_turn();

  /// No new sessions and no new publishes from here on.
  void begin_drain() { draining_ = true; }
  /// Ends the sessions of a virtual host that is gone, or of all that are.
  void on_vhost_deleted();
  /// Ends every session, telling the clients.
  void close_all(Code code, const std::string& text);

 private:
  void on_session_frame(Session& session, SharedBytes bodies);
  void on_hello(const std::string& peer, const v1::LinkHeader& link, v1::Hello& hello);
  Status check_hello(const v1::LinkHeader& link, const v1::Hello& hello) const;
  void open(SessionId id, bool reached);
  Status check_vhost(const Session& session) const;
  void take_place_of(Session* other, bool same_socket);
  void broken(Session* session, const std::string& peer, const std::string& text);
  /// A Close to a socket that has no session.
  void refuse(const std::string& peer, std::uint64_t epoch, Code code, const std::string& text);
  void take_down(SessionId id);
  void log_opened(Session& session);
  void log_closed(const Session& session);

  const Options options_;
  Paths paths_;
  CatalogView& catalog_;
  SessionTable& sessions_;
  ClientOutput& output_;
  const Turn& turn_;
  Logger& log_;
  bool draining_ = false;
  Session::EndedList ended_;
  v1::RawClientFrame frame_;  // memory used again
};

}  // namespace segue::router
