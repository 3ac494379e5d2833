#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace segue::node {

class Consumer;

/// Bytes on the way to all consumers of one peer, a router: bounds their sum, and divides it so
/// that clients that do not read leave room for those that do.
///
/// Half of the limit goes to whoever reads: a session may have as much on the way as is still free
/// of it, so that each that stops reading leaves at least as much as it holds. The other half makes
/// equal shares, one for each session that a router may have: a session always has that much, and
/// one message at least. So the sum exceeds the limit by a message for each session at most.
/// Reactor's thread.
class LinkBudget {
 public:
  /// A client's session at the router.
  struct Session {
    std::uint64_t bytes = 0;
    std::size_t consumers = 0;
  };

  LinkBudget(std::uint64_t limit, std::uint64_t sessions)
      : common_(limit / 2),
        share_(std::max<std::uint64_t>(1, limit / 2 / std::max<std::uint64_t>(1, sessions))) {}
  LinkBudget(const LinkBudget&) = delete;
  LinkBudget& operator=(const LinkBudget&) = delete;

  /// A consumer of the session begins; the reference is valid until its last one has left.
  Session& join(std::uint64_t session) {
    Session& joined = sessions_[session];
    ++joined.consumers;
    return joined;
  }
  void leave(std::uint64_t session) {
    const auto found = sessions_.find(session);
    if (--found->second.consumers == 0) sessions_.erase(found);
  }

  /// What may be given to a consumer of the session that has `consumer_bytes` on the way. Not 0: at
  /// least one message, however large.
  std::uint64_t room(const Session& session, std::uint64_t consumer_bytes) const {
    const std::uint64_t free = common_ > bytes_ ? common_ - bytes_ : 0;
    // What it is given is no longer free: so it gets half of the way.
    const std::uint64_t of_common = session.bytes < free ? (free - session.bytes + 1) / 2 : 0;
    const std::uint64_t of_share = session.bytes < share_ ? share_ - session.bytes : 0;
    if (const std::uint64_t room = std::max(of_common, of_share); room > 0) return room;
    // The other consumers of its session do not read.
    return consumer_bytes == 0 && free > 0 ? 1 : 0;
  }
  void add(Session& session, std::uint64_t bytes) {
    session.bytes += bytes;
    bytes_ += bytes;
  }
  void remove(Session& session, std::uint64_t bytes) {
    session.bytes -= bytes;
    bytes_ -= bytes;
    if (bytes > 0) to_visit_ = waiting_.size();
  }
  std::uint64_t bytes() const { return bytes_; }

  /// The consumer has no room: it is in line until remove_waiting().
  std::list<Consumer*>::iterator add_waiting(Consumer& consumer) {
    return waiting_.insert(waiting_.end(), &consumer);
  }
  void remove_waiting(std::list<Consumer*>::iterator place) {
    waiting_.erase(place);
    to_visit_ = std::min(to_visit_, waiting_.size());
  }
  /// Something became free since some that wait were last looked at.
  bool has_to_visit() const { return to_visit_ > 0; }
  /// The next of them, which goes to the line's end.
  Consumer& visit_next() {
    --to_visit_;
    waiting_.splice(waiting_.end(), waiting_, waiting_.begin());
    return *waiting_.back();
  }

 private:
  const std::uint64_t common_;
  const std::uint64_t share_;
  std::uint64_t bytes_ = 0;
  std::unordered_map<std::uint64_t, Session> sessions_;
  std::list<Consumer*> waiting_;
  std::size_t to_visit_ = 0;  // of those that wait, from the first on
};

}  // namespace segue::node
