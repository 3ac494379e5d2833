#pragma once

#include <poll.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/router_transport.h"
#include "common/message_batch.h"
#include "common/zmq_socket.h"
#include "segue/v1/client.pb.h"

namespace segue::client {

/// A router in memory that tests look into: it answers Hello and requests, keeps what is published,
/// and does what it is told. Without sockets: the client's transport calls it, and takes its frames
/// from it. Safe from any thread.
class FakeRouter {
 public:
  // ---- what a test may set, before clients connect or under edit()

  struct Behaviour {
    /// False: frames vanish, as with a router that is down.
    bool up = true;
    /// True, and `up` false: as where nobody listens.
    bool refuse = false;
    /// False: Hello is not answered.
    bool answer_hello = true;
    /// False: publishes are kept but confirmed only by confirm().
    bool confirm = true;
    /// False: requests are kept but not answered.
    bool answer_requests = true;
    /// False: a settle that wants an answer gets none.
    bool answer_settles = true;
    /// Hello is answered with this Close if its code is not 0.
    v1::Close refusal;
    v1::HelloOk hello_ok = default_hello_ok();
    /// Follows the next HelloOk at once if its code is not 0.
    v1::Close close_after_hello;
    /// What requests are answered with; null result: an empty success.
    std::function<void(const v1::Request&, v1::Reply&, std::string& bodies)> on_request;
  };
  static v1::HelloOk default_hello_ok() {
    v1::HelloOk ok;
    ok.set_session_id(1);
    ok.set_heartbeat_ms(10'000);
    ok.set_max_frame_bytes(64 << 20);
    ok.set_max_message_bytes(16 << 20);
    ok.set_publish_credit(1ull << 40);
    ok.set_max_unconfirmed(1'000'000);
    ok.set_cluster("fake");
    ok.set_router_id("r1");
    return ok;
  }
  void edit(const std::function<void(Behaviour&)>& change) {
    const std::lock_guard lock(mutex_);
    change(behaviour_);
  }

  // ---- what a test may look at

  struct Published {
    std::uint64_t seq;
    v1::MessageHeader header;
    std::string body;
  };
  /// Everything that was published in any session, repetitions included.
  std::vector<Published> published() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  std::vector<v1::Hello> hellos() const {
    const std::lock_guard lock(mutex_);
    return hellos_;
  }
  std::vector<v1::Settle> settles() const {
    const std::lock_guard lock(mutex_);
    return settles_;
  }
  std::vector<v1::Received> received() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  std::vector<v1::Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::uint64_t settled_below() const {
    const std::lock_guard lock(mutex_);
    return settled_below_;
  }
  std::uint64_t publish_frames() const {
    const std::lock_guard lock(mutex_);
    return publish_frames_;
  }
  bool refuses() const {
    const std::lock_guard lock(mutex_);
    return behaviour_.refuse && !behaviour_.up;
  }
  bool closed_by_client() const {
    const std::lock_guard lock(mutex_);
    return closed_by_client_;
  }
  /// Waits until `condition` holds; it may use this object's other functions. False: it never did.
  bool wait_until(const std::function<bool()>& condition,
                  std::chrono::milliseconds timeout = std::chrono::seconds(20)) const {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!condition()) {
      std::unique_lock lock(mutex_);
      if (std::chrono::steady_clock::now() >= deadline) return false;
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    return true;
  }

  // ---- what a test may do

  /// Sends a frame to the client; the link header is filled in.
  void send(v1::RouterFrame frame, const std::string& bodies = {}) {
    const std::lock_guard lock(mutex_);
    send_locked(std::move(frame), bodies);
  }
  /// Sends a frame as it is, however broken; it counts as the next one.
  void send_raw(std::string header, std::string bodies = {}) {
    const std::lock_guard lock(mutex_);
    if (const auto inbox = inbox_.lock()) inbox->push(std::move(header), std::move(bodies));
  }
  void confirm(std::uint64_t first, std::uint64_t last) {
    v1::RouterFrame frame;
    v1::Range* range = frame.mutable_confirm()->add_confirmed();
    range->set_first(first);
    range->set_last(last);
    frame.mutable_confirm()->set_durability(v1::DURABILITY_SYNC);
    send(std::move(frame));
  }
  void reject(std::uint64_t first, std::uint64_t last, std::uint32_t code) {
    v1::RouterFrame frame;
    v1::Rejected* rejected = frame.mutable_confirm()->add_rejected();
    rejected->mutable_seqs()->set_first(first);
    rejected->mutable_seqs()->set_last(last);
    rejected->mutable_error()->set_code(code);
    rejected->mutable_error()->set_text("refused by the test");
    rejected->add_queues("q");
    send(std::move(frame));
  }
  /// Delivers messages of which all have the same header.
  void deliver(std::uint64_t consumer, std::uint64_t first_tag,
               const std::vector<std::string>& messages) {
    v1::RouterFrame frame;
    v1::Deliver* deliver = frame.mutable_deliver();
    deliver->set_consumer(consumer);
    deliver->set_first_tag(first_tag);
    std::string bodies;
    fill(messages, deliver->mutable_batch(), bodies);
    send(std::move(frame), bodies);
  }
  static void fill(const std::vector<std::string>& messages, v1::DeliveryBatch* batch,
                   std::string& bodies) {
    v1::MessageHeader* header = batch->mutable_messages()->add_headers();
    header->set_exchange("e");
    header->set_routing_key("k");
    header->mutable_properties()->set_message_id("m");
    for (const std::string& message : messages) {
      batch->mutable_messages()->add_sizes(static_cast<std::uint32_t>(message.size()));
      bodies += message;
    }
  }
  /// Ends the session from this side.
  void close(std::uint32_t code, const std::string& text) {
    v1::RouterFrame frame;
    frame.mutable_close()->set_code(code);
    frame.mutable_close()->set_text(text);
    send(std::move(frame));
  }

  /// Where frames for the client wait; the transport and the router share it.
  class Inbox {
   public:
    void push(std::string header, std::string bodies) {
      {
        const std::lock_guard lock(mutex_);
        messages_.push_back({"", SharedBytes::from(std::move(header)),
                             SharedBytes::from(std::move(bodies)), false});
      }
      arrived_.signal();
    }
    bool pop(WireMessage& message) {
      const std::lock_guard lock(mutex_);
      if (messages_.empty()) {
        arrived_.clear();
        return false;
      }
      message = std::move(messages_.front());
      messages_.pop_front();
      return true;
    }
    int fd() const { return arrived_.fd(); }

   private:
    std::mutex mutex_;
    std::deque<WireMessage> messages_;
    Wakeup arrived_;
  };
  void attach(const std::shared_ptr<Inbox>& inbox) {
    const std::lock_guard lock(mutex_);
    inbox_ = inbox;
  }
  void on_client_frame(const std::string& header, const std::string& bodies) {
    {
      const std::lock_guard lock(mutex_);
      if (!behaviour_.up) return;
      v1::ClientFrame frame;
      if (!frame.ParseFromString(header)) std::abort();
      handle(frame, bodies);
    }
    changed_.notify_all();
  }

 private:
  void handle(const v1::ClientFrame& frame, const std::string& bodies) {
    if (frame.has_hello()) {
      epoch_ = frame.link().epoch();
      sequence_in_ = 0;
      sequence_out_ = 0;
    }
    if (frame.link().epoch() != epoch_) return;
    if (frame.link().sequence() != ++sequence_in_) std::abort();
    switch (frame.body_case()) {
      case v1::ClientFrame::kHello:
        hellos_.push_back(frame.hello());
        return answer_hello();
      case v1::ClientFrame::kRequest:
        requests_.push_back(frame.request());
        return answer(frame.request());
      case v1::ClientFrame::kPublish:
        return publish(frame.publish(), bodies);
      case v1::ClientFrame::kSettle:
        settles_.push_back(frame.settle());
        return answer(frame.settle());
      case v1::ClientFrame::kReceived:
        received_.push_back(frame.received());
        return;
      case v1::ClientFrame::kClose:
        closed_by_client_ = true;
        return;
      default:
        return;
    }
  }
  void answer_hello() {
    v1::RouterFrame frame;
    if (behaviour_.refusal.code() != 0) {
      *frame.mutable_close() = behaviour_.refusal;
    } else if (behaviour_.answer_hello) {
      *frame.mutable_hello_ok() = behaviour_.hello_ok;
    } else {
      return;
    }
    const bool let_in = frame.has_hello_ok();
    send_locked(std::move(frame), {});
    if (!let_in || behaviour_.close_after_hello.code() == 0) return;
    v1::RouterFrame end;
    end.mutable_close()->Swap(&behaviour_.close_after_hello);
    behaviour_.close_after_hello.Clear();
    send_locked(std::move(end), {});
  }
  void answer(const v1::Request& request) {
    if (!behaviour_.answer_requests) return;
    v1::RouterFrame frame;
    std::string bodies;
    frame.mutable_reply()->set_request_id(request.request_id());
    if (behaviour_.on_request) behaviour_.on_request(request, *frame.mutable_reply(), bodies);
    send_locked(std::move(frame), bodies);
  }
  void answer(const v1::Settle& settle) {
    if (settle.confirm_id() == 0 || !behaviour_.answer_settles) return;
    v1::RouterFrame frame;
    frame.mutable_settle_ok()->set_confirm_id(settle.confirm_id());
    send_locked(std::move(frame), {});
  }
  void publish(const v1::Publish& publish, const std::string& bodies) {
    ++publish_frames_;
    settled_below_ = publish.settled_below();
    const v1::MessageBatch& batch = publish.batch();
    std::size_t at = 0;
    for (int i = 0; i < batch.sizes_size(); ++i) {
      const int header = batch.header_index().empty() ? 0 : static_cast<int>(batch.header_index(i));
      published_.push_back({publish.first_seq() + static_cast<std::uint64_t>(i),
                            batch.headers(header), bodies.substr(at, batch.sizes(i))});
      at += batch.sizes(i);
    }
    if (at != bodies.size()) std::abort();
    if (!behaviour_.confirm) return;
    v1::RouterFrame frame;
    v1::Range* range = frame.mutable_confirm()->add_confirmed();
    range->set_first(publish.first_seq());
    range->set_last(publish.first_seq() + static_cast<std::uint64_t>(batch.sizes_size()) - 1);
    frame.mutable_confirm()->set_durability(v1::DURABILITY_SYNC);
    send_locked(std::move(frame), {});
  }
  void send_locked(v1::RouterFrame frame, const std::string& bodies) {
    const auto inbox = inbox_.lock();
    if (!inbox || !behaviour_.up) return;
    frame.mutable_link()->set_epoch(epoch_);
    frame.mutable_link()->set_sequence(++sequence_out_);
    inbox->push(frame.SerializeAsString(), bodies);
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Behaviour behaviour_;
  std::weak_ptr<Inbox> inbox_;
  std::uint64_t epoch_ = 0;
  std::uint64_t sequence_in_ = 0;
  std::uint64_t sequence_out_ = 0;
  std::vector<Published> published_;
  std::vector<v1::Hello> hellos_;
  std::vector<v1::Settle> settles_;
  std::vector<v1::Received> received_;
  std::vector<v1::Request> requests_;
  std::uint64_t settled_below_ = 0;
  std::uint64_t publish_frames_ = 0;
  bool closed_by_client_ = false;
};

/// The routers that a client's transport can reach, by endpoint.
using FakeNetwork = std::map<std::string, FakeRouter*>;

/// A client's way to the fake routers of a network.
class FakeTransport final : public RouterTransport {
 public:
  FakeTransport(FakeNetwork network, Wakeup& wakeup)
      : network_(std::move(network)), wakeup_(wakeup) {}

  segue::Status connect(const std::string& endpoint) override {
    const auto at = network_.find(endpoint);
    if (at == network_.end()) return {Code::kInvalidConfig, "no such endpoint: " + endpoint};
    router_ = at->second;
    inbox_ = std::make_shared<FakeRouter::Inbox>();
    router_->attach(inbox_);
    return segue::Status::ok();
  }
  void disconnect() override {
    router_ = nullptr;
    inbox_.reset();
  }
  bool send(std::string header, const std::vector<SharedBytes>& bodies, bool) override {
    if (router_ == nullptr) return false;
    std::string joined;
    for (const SharedBytes& piece : bodies) joined.append(piece.view());
    router_->on_client_frame(header, joined);
    return true;
  }
  bool receive(WireMessage& message) override { return inbox_ && inbox_->pop(message); }
  std::string_view broken() override {
    return router_ != nullptr && router_->refuses() ? "nothing listens there" : "";
  }
  void wait(Duration timeout) override {
    if (!broken().empty()) return;
    pollfd fds[2] = {{wakeup_.fd(), POLLIN, 0}, {inbox_ ? inbox_->fd() : -1, POLLIN, 0}};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout);
    poll(fds, 2, static_cast<int>(ms.count()));
  }

 private:
  const FakeNetwork network_;
  Wakeup& wakeup_;
  FakeRouter* router_ = nullptr;
  std::shared_ptr<FakeRouter::Inbox> inbox_;
};

}  // namespace segue::client
