#include "client/connection_core.h"

#include <algorithm>
#include <utility>

#include "client/convert.h"
#include "common/counted.h"

namespace segue::client {

namespace {

// Messages taken off the socket before the thread looks at its other work.
constexpr int kReceivedPerTurn = 256;

Error connection_closed() {
  return Error{ErrorCode::kClosed, {}, "the connection is closed"};
}

std::string producer_id_for(const ConnectionOptions& options, Random& random) {
  if (!options.producer_id.empty()) return options.producer_id;
  std::string id(16, '\0');
  store_le(id.data(), random.next_u64());
  store_le(id.data() + 8, random.next_u64());
  return id;
}

Status check(const ConnectionOptions& options) {
  const auto invalid = [](const char* option, std::string text) {
    return Status(Error{ErrorCode::kInvalidArgument, option, std::string(option) + " " + text});
  };
  using std::chrono::milliseconds;
  if (options.routers.empty()) return invalid("routers", "is empty: name at least one router");
  for (const std::string& router : options.routers) {
    if (router.find("://") != std::string::npos || router.find(':') == std::string::npos) continue;
    return invalid("routers", "has '" + router + "', which is no endpoint: write tcp://" + router);
  }
  if (options.producer_id.size() > 64) {
    return invalid("producer_id", "has " + std::to_string(options.producer_id.size()) +
                                      " bytes, at most 64 are allowed");
  }
  if (options.first_seq == 0) return invalid("first_seq", "must be 1 or more");
  if (options.heartbeat <= milliseconds(0)) return invalid("heartbeat", "must be above 0");
  if (options.attempt_timeout <= milliseconds(0)) {
    return invalid("attempt_timeout", "must be above 0");
  }
  if (options.reconnect_min <= milliseconds(0) || options.reconnect_max < options.reconnect_min) {
    return invalid("reconnect_min", "must be above 0 and not above reconnect_max");
  }
  if (options.max_in_flight_messages == 0) {
    return invalid("max_in_flight_messages", "must be 1 or more");
  }
  if (options.max_batch_messages == 0) return invalid("max_batch_messages", "must be 1 or more");
  v1::Hello hello;
  hello.set_client_name(options.client_name);
  hello.set_vhost(options.vhost);
  return check_text(hello);
}

}  // namespace

ConnectionCore::ConnectionCore(ConnectionOptions options, const MakeTransport& make_transport)
    : options_(std::move(options)),
      producer_id_(producer_id_for(options_, random_)),
      mailbox_(std::make_shared<IoMailbox>()),
      window_(options_, [mailbox = mailbox_] { mailbox->wake(); }),
      publishes_(window_, options_.first_seq),
      consumers_(requests_, mailbox_, options_.request_timeout),
      session_(options_, producer_id_, {publishes_, requests_, consumers_, *this}),
      policy_(options_.routers,
              {options_.reconnect_min, options_.reconnect_max, options_.attempt_timeout}, random_),
      transport_(make_transport(mailbox_->wakeup())),
      publisher_(*this),
      admin_(*this),
      admin_timeout_(options_.request_timeout) {}

ConnectionCore::~ConnectionCore() {
  stop();
}

Result<Connection> ConnectionCore::open(ConnectionOptions options,
                                        const MakeTransport& make_transport) {
  if (Status fine = check(options); !fine) return fine.error();
  std::shared_ptr<ConnectionCore> core(new ConnectionCore(std::move(options), make_transport));
  core->thread_ = std::thread([raw = core.get()] { raw->run(); });
  if (Status connected = core->wait_until_connected(); !connected) {
    core->stop();
    return connected.error();
  }
  return Connection(std::move(core));
}

Status ConnectionCore::wait_until_connected() {
  std::unique_lock lock(mutex_);
  state_changed_.wait_for(lock, options_.connect_timeout, [&] {
    return state_ == ConnectionState::kConnected || refusals_ >= options_.routers.size();
  });
  if (state_ == ConnectionState::kConnected) return {};
  Error error{ErrorCode::kDisconnected, options_.routers.front(), "no router has us as a client"};
  for (const auto& [router, trouble] : troubles_) {
    error.text += "; " + router + ": " + trouble.to_string();
  }
  // All say no in the same way: that is the answer.
  if (refusals_ >= options_.routers.size() && troubles_.size() == 1) {
    error.code = troubles_.begin()->second.code;
  }
  return error;
}

// ---- the I/O thread

void ConnectionCore::run() {
  mailbox_->set_io_thread(std::this_thread::get_id());
  while (!stopping_) {
    turn(clock_.now());
    if (!stopping_) sleep(clock_.now());
  }
  session_.say_close();
  transport_->disconnect();
  mailbox_->close();
  for (const IoMailbox::Command& command : mailbox_->take_commands()) command();
  session_.end(connection_closed());
  requests_.fail_all(connection_closed());
  consumers_.close(connection_closed());
  window_.close();
}

void ConnectionCore::turn(TimePoint now) {
  for (const IoMailbox::Command& command : mailbox_->take_commands()) command();
  receive(now);
  requests_.expire(now);
  session_.turn(now);
  if (session_.failure()) lose_session(Error(*session_.failure()), now);
  if (session_.phase() != Session::Phase::kReady) try_router(now);
}

void ConnectionCore::receive(TimePoint now) {
  if (session_.phase() == Session::Phase::kNone) return;
  // Asked first: what came until then, such as a Close with its reason, is read before it counts.
  const std::string_view broken = transport_->broken();
  WireMessage message;
  for (int i = 0; i < kReceivedPerTurn && !session_.failure(); ++i) {
    if (!transport_->receive(message)) {
      if (!broken.empty()) session_.on_broken(broken);
      return;
    }
    session_.on_message(message, now);
  }
}

void ConnectionCore::try_router(TimePoint now) {
  if (session_.phase() == Session::Phase::kHello) {
    if (now >= attempt_->start + attempt_->timeout) {
      lose_session(Error{ErrorCode::kTimeout, attempt_->router, "the router did not answer"}, now);
    }
    return;
  }
  if (!attempt_) attempt_ = policy_.next(now);
  if (now < attempt_->start) return;
  const segue::Status connected = transport_->connect(attempt_->router);
  if (!connected.is_ok()) {
    {
      const std::lock_guard lock(mutex_);
      ++refusals_;
    }
    lose_session(from_status(connected), now);
    return;
  }
  attempt_->start = now;
  std::uint64_t epoch = 0;
  while (epoch == 0) epoch = random_.next_u64();
  session_.begin(*transport_, epoch, now);
}

void ConnectionCore::lose_session(const Error& why, TimePoint now) {
  const bool was_ready = session_.phase() == Session::Phase::kReady;
  if (was_ready) policy_.session_ended(now - session_began_);
  transport_->disconnect();
  requests_.set_trouble(why.to_string());
  {
    const std::lock_guard lock(mutex_);
    if (session_.refused()) ++refusals_;
    if (attempt_) troubles_[attempt_->router] = why;
    blocked_ = {};
    server_.reset();
  }
  session_.end(why);
  const std::optional<ReconnectPolicy::Attempt> failed = std::exchange(attempt_, std::nullopt);
  if (!was_ready && failed && options_.on_attempt_failed) {
    options_.on_attempt_failed(failed->router, why);
  }
  if (was_ready) {
    set_state(ConnectionState::kConnecting, why);
  } else {
    state_changed_.notify_all();
  }
}

void ConnectionCore::sleep(TimePoint now) {
  TimePoint until = session_.deadline(now);
  if (const auto due = requests_.deadline()) until = std::min(until, *due);
  if (session_.phase() != Session::Phase::kReady) {
    const TimePoint next = !attempt_ ? now
                           : session_.phase() == Session::Phase::kHello
                               ? attempt_->start + attempt_->timeout
                               : attempt_->start;
    until = std::min(until, next);
  }
  mailbox_->prepare_sleep();
  const bool work =
      mailbox_->has_work() || (session_.phase() == Session::Phase::kReady && window_.has_work());
  if (!work && until > now) transport_->wait(until - now);
  mailbox_->woke_up();
}

void ConnectionCore::set_state(ConnectionState state, const std::optional<Error>& why) {
  {
    const std::lock_guard lock(mutex_);
    state_ = state;
  }
  state_changed_.notify_all();
  if (options_.on_state) options_.on_state(state, why);
}

void ConnectionCore::on_ready(const v1::HelloOk& hello) {
  session_began_ = clock_.now();
  requests_.set_trouble({});
  {
    const std::lock_guard lock(mutex_);
    ++sessions_;
    refusals_ = 0;
    troubles_.clear();
    server_ = ServerInfo{hello.session_id(),     hello.cluster(),  hello.router_id(),
                         hello.server_version(), attempt_->router, hello.max_message_bytes()};
  }
  set_state(ConnectionState::kConnected, std::nullopt);
}

void ConnectionCore::on_blocked(const v1::Blocked& blocked) {
  {
    const std::lock_guard lock(mutex_);
    blocked_.blocked = true;
    blocked_.shards.insert(blocked_.shards.end(), blocked.shards().begin(), blocked.shards().end());
    std::sort(blocked_.shards.begin(), blocked_.shards.end());
    blocked_.shards.erase(std::unique(blocked_.shards.begin(), blocked_.shards.end()),
                          blocked_.shards.end());
    blocked_.reason = blocked.reason();
    blocked_.timeout = std::chrono::milliseconds(blocked.timeout_ms());
  }
  tell_blocked();
}

void ConnectionCore::on_unblocked(const v1::Unblocked& unblocked) {
  {
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t shard : unblocked.shards()) std::erase(blocked_.shards, shard);
    if (blocked_.shards.empty() || unblocked.shards().empty()) blocked_ = {};
  }
  tell_blocked();
}

void ConnectionCore::tell_blocked() {
  if (options_.on_blocked) options_.on_blocked(blocked());
}

// ---- any thread

void ConnectionCore::request(v1::Request request, bool repeatable,
                             std::chrono::milliseconds timeout, RequestTable::Done done) {
  if (Status fine = check_text(request); !fine) {
    done(fine.error(), {});
    return;
  }
  // Shared, so that it is still there when the mailbox does not take the command.
  auto submission = std::make_shared<RequestTable::Submission>(RequestTable::Submission{
      std::move(request), repeatable, clock_.now() + timeout, std::move(done)});
  const bool posted =
      mailbox_->post([this, submission] { requests_.submit(std::move(*submission)); });
  if (!posted) submission->done(connection_closed(), {});
}

Result<Consumer> ConnectionCore::subscribe(const std::string& queue, const ConsumerOptions& options,
                                           Consumer::Handler handler) {
  if (on_io_thread()) {
    return Error{ErrorCode::kNotAllowed, queue, "subscribing waits: not on the I/O thread"};
  }
  v1::Consume consume;
  consume.set_queue(queue);
  if (Status fine = check_text(consume); !fine) return fine.error();
  if (Status fine = check_table(options.arguments); !fine) return fine.error();
  auto core = std::make_shared<ConsumerCore>(++last_consumer_, queue, options, std::move(handler),
                                             mailbox_, &consumers_);
  auto done = std::make_shared<std::promise<Status>>();
  const bool posted =
      mailbox_->post([this, core, done] { consumers_.subscribe(core, clock_.now(), done); });
  if (!posted) return connection_closed();
  if (Status subscribed = done->get_future().get(); !subscribed) return subscribed.error();
  core->start_handler();
  return Consumer(weak_from_this(), std::move(core));
}

void ConnectionCore::unsubscribe(const std::shared_ptr<ConsumerCore>& consumer) {
  auto done = std::make_shared<std::promise<Status>>();
  const bool posted =
      mailbox_->post([this, consumer, done] { consumers_.cancel(consumer, clock_.now(), done); });
  if (posted && !on_io_thread()) done->get_future().wait();
}

Status ConnectionCore::set_prefetch(std::uint64_t consumer, std::uint32_t messages,
                                    std::uint64_t bytes) {
  if (on_io_thread()) {
    return Error{ErrorCode::kNotAllowed, {}, "set_prefetch waits: not on the I/O thread"};
  }
  auto done = std::make_shared<std::promise<Status>>();
  const bool posted = mailbox_->post([this, consumer, messages, bytes, done] {
    consumers_.set_prefetch(consumer, messages, bytes, clock_.now() + options_.request_timeout,
                            done);
  });
  return posted ? done->get_future().get() : Status(connection_closed());
}

Result<std::optional<Delivery>> ConnectionCore::get(const std::string& queue, bool no_ack) {
  using Polled = Result<std::optional<Delivery>>;
  if (on_io_thread()) {
    return Error{ErrorCode::kNotAllowed, queue, "get waits: not on the I/O thread"};
  }
  auto promise = std::make_shared<std::promise<Polled>>();
  v1::Request wanted;
  wanted.mutable_get()->set_queue(queue);
  wanted.mutable_get()->set_no_ack(no_ack);
  request(std::move(wanted), false, admin_timeout(),
          [this, promise, no_ack](const Result<v1::Reply>& reply, const SharedBytes& bodies) {
            promise->set_value(reply ? consumers_.polled(reply->get_ok(), bodies, no_ack)
                                     : Polled(reply.error()));
          });
  return promise->get_future().get();
}

Status ConnectionCore::close(std::chrono::milliseconds timeout) {
  if (on_io_thread()) {
    return Error{ErrorCode::kNotAllowed, {}, "close waits: not on the I/O thread"};
  }
  {
    const std::lock_guard lock(close_mutex_);
    if (closed_) return {};
  }
  const TimePoint deadline = clock_.now() + timeout;
  window_.refuse_publishes();
  // Rejections have been told to whoever asked; here only what is open counts.
  (void)window_.wait_for_confirms(timeout);
  const std::uint64_t unconfirmed = window_.unconfirmed();
  auto flushed = std::make_shared<std::promise<Status>>();
  if (mailbox_->post([this, flushed] { consumers_.flush(flushed); })) {
    const auto left = std::max<Duration>(deadline - clock_.now(), std::chrono::milliseconds(100));
    (void)flushed->get_future().wait_for(left);
  }
  stop();
  if (unconfirmed == 0) return {};
  return Error{ErrorCode::kTimeout,
               {},
               counted(unconfirmed, "message") + " got no confirm within " +
                   std::to_string(timeout.count()) +
                   " ms; whether they were enqueued is not known"};
}

void ConnectionCore::stop() {
  const std::lock_guard lock(close_mutex_);
  if (closed_) return;
  closed_ = true;
  mailbox_->post([this] { stopping_ = true; });
  if (thread_.joinable()) thread_.join();
  set_state(ConnectionState::kClosed, std::nullopt);
}

ConnectionState ConnectionCore::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::optional<ServerInfo> ConnectionCore::server() const {
  const std::lock_guard lock(mutex_);
  return server_;
}

BlockedState ConnectionCore::blocked() const {
  const std::lock_guard lock(mutex_);
  return blocked_;
}

std::uint64_t ConnectionCore::reconnects() const {
  const std::lock_guard lock(mutex_);
  return sessions_ == 0 ? 0 : sessions_ - 1;
}

}  // namespace segue::client
