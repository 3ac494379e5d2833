#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "client/link_writer.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "segue/result.h"
#include "segue/v1/client.pb.h"

namespace segue::client {

/// The requests of a connection: waiting to be sent, or for their reply. Each ends once: with its
/// reply, an error, or its deadline. No I/O of its own, one thread.
class RequestTable {
 public:
  using Done = std::function<void(Result<v1::Reply>, const SharedBytes& bodies)>;
  struct Submission {
    v1::Request request;  // without its id
    /// Doing it twice does no harm: it is sent again when the session breaks.
    bool repeatable = true;
    TimePoint deadline;
    Done done;
    /// It has no meaning in the next session, not even unsent.
    bool this_session_only = false;
  };

  void submit(Submission submission);
  /// What the router takes from now on.
  void begin_session(const v1::HelloOk& limits);
  /// Sends those that wait, oldest first; so many are on their way at most that the link's queue
  /// cannot run over. One that is larger than the router takes ends with CONTENT_TOO_LARGE: sent,
  /// it would end the session, and again the next one.
  void send_waiting(LinkWriter& writer);
  void on_reply(v1::Reply reply, const SharedBytes& bodies);
  /// Ends those on their way that may not be repeated and those of this session only; the others
  /// wait for the next session.
  void on_session_lost(const Error& why);
  void expire(TimePoint now);
  void fail_all(const Error& why);

  bool idle() const { return requests_.empty(); }
  /// Some are to be sent in this turn.
  bool has_waiting() const { return !waiting_.empty(); }
  std::optional<TimePoint> deadline() const;
  /// Added to the text of a TIMEOUT: why there is no session.
  void set_trouble(std::string trouble) { trouble_ = std::move(trouble); }
  /// The highest catalog index of any reply.
  std::uint64_t catalog_index() const { return catalog_index_; }

 private:
  struct Pending {
    Submission submission;
    bool sent = false;
  };
  /// Takes it out of the table.
  Submission take(std::map<std::uint64_t, Pending>::iterator at);

  std::map<std::uint64_t, Pending> requests_;
  std::set<std::pair<TimePoint, std::uint64_t>> deadlines_;
  std::set<std::uint64_t> waiting_;  // not sent
  std::uint64_t last_id_ = 0;
  std::uint64_t catalog_index_ = 0;
  std::uint64_t max_frame_bytes_ = 0;  // 0: not known
  std::string trouble_;
};

}  // namespace segue::client
