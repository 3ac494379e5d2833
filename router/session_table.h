#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "router/session.h"

namespace segue::router {

/// Every session of this router. Knows no rules but this: a producer id has one session at a time,
/// and so has a client's socket. One thread.
class SessionTable {
 public:
  /// `id_base`: random; the ids of this router's life count up from it.
  explicit SessionTable(std::uint64_t id_base) : next_id_(id_base | 1) {}

  SessionId next_id() { return SessionId(next_id_++); }
  /// A number for a producer's new session, higher than any before at whatever router, as far as
  /// the routers' clocks agree: milliseconds since 1970 with room for 2^20 sessions in each.
  std::uint64_t next_producer_session(std::int64_t wall_ms);

  /// No other session has the same peer or producer id (see below: they are taken down first).
  Session& add(std::unique_ptr<Session> session);
  void remove(SessionId id);

  Session* find(SessionId id);
  Session* find_peer(std::string_view peer);
  Session* find_producer(std::string_view producer_id);

  bool contains(SessionId id) const { return by_id_.contains(id); }
  std::size_t size() const { return by_id_.size(); }
  /// Those of a virtual host.
  std::size_t size(std::string_view vhost) const;
  void for_each(const std::function<void(Session&)>& visit) const;

 private:
  std::uint64_t next_id_;
  std::uint64_t last_producer_session_ = 0;
  std::unordered_map<SessionId, std::unique_ptr<Session>> by_id_;
  std::unordered_map<std::string, Session*> by_peer_;
  std::unordered_map<std::string, Session*> by_producer_;
  std::map<std::string, std::size_t, std::less<>> count_of_vhost_;
};

}  // namespace segue::router
