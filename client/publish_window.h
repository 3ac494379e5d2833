#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/publish_batch.h"
#include "segue/options.h"
#include "segue/publisher.h"

namespace segue::client {

/// What an answer of the router, or the client itself, settled: newly, each seq once.
struct Settlement {
  std::vector<SeqRange> confirmed;
  std::vector<SeqRange> unroutable;
  std::vector<Rejection> rejected;
  Durability durability = Durability::kUnknown;
  /// Body bytes of confirmed and rejected ones.
  std::uint64_t bytes = 0;
  /// Every seq below is settled.
  std::uint64_t settled_below = 0;
};

/// The publishing side of a connection that application threads and the I/O thread share: hands out
/// seqs, collects messages in the open batch, holds publishers back while too much is in flight,
/// and tells them what was settled. One lock, held for a copy of a message at most; never while a
/// handler runs.
class PublishWindow {
 public:
  using OnSettled = std::function<void(const Result<Confirmation>&)>;

  /// `wake` rings the I/O thread; called without the lock.
  PublishWindow(const ConnectionOptions& options, std::function<void()> wake);

  // ---- any thread

  /// The next seq, with the message in the open batch. `may_wait` false: fails with NOT_ALLOWED
  /// where it would block.
  Result<std::uint64_t> publish(const HeaderPtr& header, std::string_view body, bool may_wait);
  Result<std::uint64_t> publish(const MessageHeader& header, std::string_view body, bool may_wait);
  /// Takes a large body over; `on_settled` may be empty.
  Result<std::uint64_t> publish(Message message, OnSettled on_settled, bool may_wait);

  Status wait_for_confirms(std::chrono::milliseconds timeout);
  void set_on_confirm(std::function<void(const ConfirmEvent&)> handler);
  void set_on_return(std::function<void(const ReturnedMessage&)> handler);

  std::uint64_t unconfirmed() const;
  std::uint64_t confirmed_total() const;
  std::uint64_t rejected_total() const;
  std::uint64_t next_seq() const;

  /// No publishes from now on; blocked ones fail with CLOSED.
  void refuse_publishes();
  /// The I/O thread is gone: whoever waits for a confirm hears CLOSED.
  void close();

  // ---- I/O thread

  /// Whether take() would find something, or a publisher waits: asked before going to sleep.
  bool has_work() const;
  /// Moves out what is ready to be sent: sealed batches, and the open one if `eager`, it is large,
  /// or somebody waits for it. True: messages were left in the open batch.
  bool take(bool eager, std::vector<std::unique_ptr<PublishBatch>>& batches);
  void set_max_message_bytes(std::uint64_t bytes);
  /// Frees room, runs callbacks and handlers, then lets wait_for_confirms() return.
  void settle(const Settlement& settlement);
  void message_returned(const ReturnedMessage& message);
  /// Publishers are woken when a good part of the window is free, so that they fill it in one go;
  /// true: some wait although there is room. wake_publishers() ends their wait.
  bool publishers_held() const;
  void wake_publishers();

 private:
  using Lock = std::unique_lock<std::mutex>;

  Status check_size(std::size_t body_bytes) const;
  bool has_room(std::size_t body_bytes) const;
  bool has_good_room() const;
  Status wait_for_room(Lock& lock, std::size_t body_bytes, bool may_wait);
  /// Appends one message and unlocks; rings the I/O thread if this is the moment.
  std::uint64_t append(Lock& lock, const HeaderPtr& header, std::string_view body,
                       OnSettled on_settled);
  std::uint64_t append_single(Lock& lock, const HeaderPtr& header, SharedBytes body,
                              OnSettled on_settled);
  std::uint64_t number_message(std::size_t body_bytes, OnSettled on_settled);
  void seal_open();
  bool ready(const PublishBatch& batch) const;
  /// The serialized form of `header`, kept from the message before if it is equal.
  Result<HeaderPtr> interned(Lock& lock, const MessageHeader& header);

  struct Callback {
    OnSettled call;
    Result<Confirmation> result;
  };
  std::vector<Callback> take_callbacks(const Settlement& settlement);

  const ConnectionOptions& options_;
  const std::function<void()> wake_;

  const std::size_t buffer_bytes_;
  const std::shared_ptr<BufferPool> buffers_ = std::make_shared<BufferPool>();

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable settled_;
  std::unique_ptr<PublishBatch> open_;
  std::vector<std::unique_ptr<PublishBatch>> sealed_;
  std::uint64_t next_seq_;
  std::uint64_t in_flight_messages_ = 0;
  std::uint64_t in_flight_bytes_ = 0;
  std::uint64_t settled_below_;
  std::uint64_t confirmed_total_ = 0;
  std::uint64_t rejected_total_ = 0;
  std::uint64_t max_message_bytes_;
  std::size_t publishers_waiting_ = 0;
  bool flush_asked_ = false;
  bool refusing_ = false;
  bool closed_ = false;
  std::optional<Error> first_rejection_;
  std::map<std::uint64_t, OnSettled> callbacks_;
  std::shared_ptr<const std::function<void(const ConfirmEvent&)>> on_confirm_;
  std::shared_ptr<const std::function<void(const ReturnedMessage&)>> on_return_;
  // The header published last through MessageHeader.
  MessageHeader last_header_;
  HeaderPtr last_wire_;
};

}  // namespace segue::client
