#include "segue/requester.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace segue::client {

namespace {

constexpr const char* kReplyQueue = "amq.reply-to";

}  // namespace

/// Requests that wait for their replies, by correlation id. Any thread.
class Requester::State {
 public:
  using Reply = std::promise<Result<Delivery>>;

  std::string add(std::future<Result<Delivery>>& reply) {
    const std::lock_guard lock(mutex_);
    const std::string id = std::to_string(++last_id_);
    reply = open_[id].get_future();
    return id;
  }
  /// The first answer counts; those to what is not open any more are dropped.
  void answer(const std::string& id, Result<Delivery> reply) {
    std::unique_lock lock(mutex_);
    auto found = open_.extract(id);
    lock.unlock();
    if (!found.empty()) found.mapped().set_value(std::move(reply));
  }
  void close() {
    std::unique_lock lock(mutex_);
    std::map<std::string, Reply> open = std::exchange(open_, {});
    lock.unlock();
    for (auto& [id, reply] : open) {
      reply.set_value(Error{ErrorCode::kClosed, {}, "the requester was closed"});
    }
  }

 private:
  std::mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::map<std::string, Reply> open_;
};

Requester::Requester(Connection& connection, std::shared_ptr<State> state, Consumer consumer)
    : connection_(&connection), state_(std::move(state)), consumer_(std::move(consumer)) {}
Requester::Requester(Requester&&) noexcept = default;
Requester& Requester::operator=(Requester&&) noexcept = default;

Requester::~Requester() {
  if (state_ == nullptr) return;
  consumer_.close();
  state_->close();
}

Result<Requester> Requester::open(Connection& connection) {
  auto state = std::make_shared<State>();
  ConsumerOptions options;
  options.no_ack = true;
  auto consumer = connection.subscribe(kReplyQueue, options, [state](const Delivery& reply) {
    state->answer(reply.properties().correlation_id, reply);
  });
  if (!consumer) return consumer.error();
  return Requester(connection, std::move(state), *std::move(consumer));
}

std::future<Result<Delivery>> Requester::request_async(Message message) {
  std::future<Result<Delivery>> reply;
  const std::string id = state_->add(reply);
  message.header.properties.correlation_id = id;
  message.header.properties.reply_to = kReplyQueue;
  const auto sent = connection_->publisher().publish(
      std::move(message), [state = state_, id](const Result<Confirmation>& settled) {
        if (!settled) return state->answer(id, settled.error());
        if (!settled->unroutable) return;
        state->answer(id, Error{ErrorCode::kNoRoute, {}, "no queue takes the request"});
      });
  if (!sent) state_->answer(id, sent.error());
  return reply;
}

Result<Delivery> Requester::request(Message message, std::chrono::milliseconds timeout) {
  std::future<Result<Delivery>> reply = request_async(std::move(message));
  if (reply.wait_for(timeout) == std::future_status::ready) return reply.get();
  return Error{
      ErrorCode::kTimeout, {}, "no reply within " + std::to_string(timeout.count()) + " ms"};
}

Result<std::uint64_t> reply(Connection& connection, const Delivery& request,
                            std::string_view body) {
  const Properties& asked = request.properties();
  if (asked.reply_to.empty()) {
    return Error{ErrorCode::kInvalidArgument, {}, "the request does not say where to reply to"};
  }
  Message answer = Message::to_queue(asked.reply_to, std::string(body));
  answer.header.properties.correlation_id = asked.correlation_id;
  return connection.publisher().publish(std::move(answer));
}

}  // namespace segue::client
