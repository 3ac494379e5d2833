#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "segue/message.h"
#include "segue/result.h"

namespace segue::client {

class ConnectionCore;

/// How durable confirmed messages are at least.
enum class Durability {
  kUnknown,
  kSync,       // on disk, synced: survives power loss
  kInterval,   // written; synced within the queue's interval
  kTransient,  // in memory only
};

/// Messages first..last, both included, by their seq.
struct SeqRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t count() const { return last - first + 1; }
};

/// Messages that were refused, and why. Final: they are not sent again.
struct Rejection {
  SeqRange seqs;
  Error error;
  /// The queues that refused; other queues keep their copy.
  std::vector<std::string> queues;
};

/// What one answer of the router settled. Valid during the call of the handler.
struct ConfirmEvent {
  std::span<const SeqRange> confirmed;
  /// Those of `confirmed` that no queue took.
  std::span<const SeqRange> unroutable;
  std::span<const Rejection> rejected;
  Durability durability = Durability::kUnknown;
};

/// One message's fate.
struct Confirmation {
  std::uint64_t seq = 0;
  /// No queue took it.
  bool unroutable = false;
  Durability durability = Durability::kUnknown;
};

/// A mandatory message that no queue took. The views are valid during the call of the handler.
struct ReturnedMessage {
  std::uint64_t seq = 0;
  Error error;
  const MessageHeader& header;
  std::string_view body;
};

/// Publishes the messages of a connection; each gets the next seq. Every message is settled once:
/// confirmed, or rejected with an Error. What is unsettled when a session breaks is sent again, in
/// order, to whichever router answers next, and still enqueued once.
///
/// Belongs to its Connection and lives as long. Safe from any thread; messages of one thread keep
/// their order. Handlers run on the connection's I/O thread: keep them short; they may call
/// publish(), but a call that would have to wait fails there with NOT_ALLOWED.
class Publisher {
 public:
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// Queues one message; its seq, or WINDOW_FULL, CLOSED, CONTENT_TOO_LARGE, INVALID_ARGUMENT
  /// (names over 255 bytes). The fast way: no allocation and one short lock; the body is copied
  /// into the batch that goes out next. Confirms are told to on_confirm() and wait_for_confirms().
  Result<std::uint64_t> publish(const PreparedHeader& header, std::string_view body);
  /// As above. Cheap while header equals that of the message before.
  Result<std::uint64_t> publish(const MessageHeader& header, std::string_view body);
  /// As above; a large body is moved, not copied.
  Result<std::uint64_t> publish(Message message);

  /// Publishes and gives a future of the message's fate: a Confirmation, or the Error it was
  /// refused with (also when it could not even be queued). Costs an allocation or two.
  std::future<Result<Confirmation>> publish_confirmed(Message message);
  /// Publishes and calls back once with the message's fate, on the I/O thread. If the message
  /// cannot be queued the Error is returned and `on_settled` is never called.
  Result<std::uint64_t> publish(Message message,
                                std::function<void(const Result<Confirmation>&)> on_settled);

  /// Waits until everything published so far is settled. OK: all confirmed. Otherwise the first
  /// rejection since the last call, or TIMEOUT with the number still open, or CLOSED.
  Status wait_for_confirms(std::chrono::milliseconds timeout = std::chrono::seconds(30));

  /// Told of every answer, in ranges. Set before publishing; replaces the former one.
  void on_confirm(std::function<void(const ConfirmEvent&)> handler);
  /// Told of mandatory messages that no queue took, before their confirm.
  void on_return(std::function<void(const ReturnedMessage&)> handler);

  /// Messages published and not settled.
  std::uint64_t unconfirmed() const;
  /// All messages confirmed or rejected since the connection was opened.
  std::uint64_t confirmed_total() const;
  std::uint64_t rejected_total() const;
  /// The seq that the next message gets.
  std::uint64_t next_seq() const;
  /// Who publishes, as Hello says it.
  const std::string& producer_id() const;

 private:
  friend class ConnectionCore;
  explicit Publisher(ConnectionCore& core) : core_(core) {}

  ConnectionCore& core_;
};

}  // namespace segue::client
