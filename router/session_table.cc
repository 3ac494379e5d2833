#include "router/session_table.h"

#include <algorithm>

#include "common/check.h"

namespace segue::router {

namespace {

constexpr int kSessionsPerMillisecondBits = 20;

Session* find_in(const std::unordered_map<std::string, Session*>& sessions, std::string_view key) {
  const auto found = sessions.find(std::string(key));
  return found == sessions.end() ? nullptr : found->second;
}

}  // namespace

std::uint64_t SessionTable::next_producer_session(std::int64_t wall_ms) {
  const auto by_clock = static_cast<std::uint64_t>(wall_ms) << kSessionsPerMillisecondBits;
  last_producer_session_ = std::max(last_producer_session_ + 1, by_clock);
  return last_producer_session_;
}

Session& SessionTable::add(std::unique_ptr<Session> session) {
  Session& added = *session;
  const Session::Identity& identity = added.identity();
  SEGUE_CHECK(by_peer_.emplace(identity.peer, &added).second);
  if (!identity.producer_id.empty()) {
    SEGUE_CHECK(by_producer_.emplace(identity.producer_id, &added).second);
  }
  ++count_of_vhost_[identity.vhost];
  by_id_.emplace(identity.id, std::move(session));
  return added;
}

void SessionTable::remove(SessionId id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  const Session::Identity& identity = found->second->identity();
  by_peer_.erase(identity.peer);
  if (!identity.producer_id.empty()) by_producer_.erase(identity.producer_id);
  const auto count = count_of_vhost_.find(identity.vhost);
  if (--count->second == 0) count_of_vhost_.erase(count);
  by_id_.erase(found);
}

std::size_t SessionTable::size(std::string_view vhost) const {
  const auto found = count_of_vhost_.find(vhost);
  return found == count_of_vhost_.end() ? 0 : found->second;
}

Session* SessionTable::find(SessionId id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second.get();
}

Session* SessionTable::find_peer(std::string_view peer) {
  return find_in(by_peer_, peer);
}

Session* SessionTable::find_producer(std::string_view producer_id) {
  return find_in(by_producer_, producer_id);
}

void SessionTable::for_each(const std::function<void(Session&)>& visit) const {
  for (const auto& [id, session] : by_id_) visit(*session);
}

}  // namespace segue::router
