#include "common/zmq_socket.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>
#include <zmq.hpp>

#include "common/check.h"
#include "common/name_lookup.h"

namespace segue {

namespace {

// Below this, copying into the frame is cheaper than keeping the owner alive through ZeroMQ.
constexpr std::size_t kCopyBelow = 4096;

// A slice keeps the whole buffer alive that it is part of. Of a peer that has so much unread,
// slices up to this size are copied, so that it does not keep much more than it is sent.
constexpr std::uint64_t kLagging = 256 << 10;
constexpr std::size_t kCopyOfLaggingBelow = 256 << 10;

/// Bytes that one peer has not read, as far as they are counted. ZeroMQ's thread counts down.
struct Unread {
  std::atomic<std::uint64_t> by_bound[2] = {0, 0};

  std::atomic<std::uint64_t>& of(ZmqSocket::Bound bound) {
    return by_bound[bound == ZmqSocket::Bound::kReading ? 1 : 0];
  }
  bool none() const { return by_bound[0] == 0 && by_bound[1] == 0; }
};

/// Where a frame is counted while ZeroMQ has it; nowhere without `unread`.
struct Counted {
  std::shared_ptr<Unread> unread;
  ZmqSocket::Bound bound = ZmqSocket::Bound::kWindow;

  bool exceeds(std::uint64_t bytes) const {
    return unread != nullptr && unread->of(bound).load(std::memory_order_relaxed) > bytes;
  }
};

/// What ZeroMQ keeps alive until a frame has left.
struct FrameOwner {
  FrameOwner(std::shared_ptr<const void> kept, std::size_t size, Counted where)
      : owner(std::move(kept)), bytes(size), counted(std::move(where)) {
    if (counted.unread != nullptr) counted.unread->of(counted.bound) += bytes;
  }
  ~FrameOwner() {
    if (counted.unread != nullptr) counted.unread->of(counted.bound) -= bytes;
  }
  FrameOwner(const FrameOwner&) = delete;
  FrameOwner& operator=(const FrameOwner&) = delete;

  const std::shared_ptr<const void> owner;
  const std::size_t bytes;
  const Counted counted;
};

void release_owner(void* /*data*/, void* owner) {
  delete static_cast<FrameOwner*>(owner);
}

zmq::message_t shared_frame(const char* data, std::size_t size, std::shared_ptr<const void> owner,
                            const Counted& counted) {
  // ZeroMQ does not write into a frame that it sends.
  return zmq::message_t(const_cast<char*>(data), size, release_owner,
                        new FrameOwner(std::move(owner), size, counted));
}

zmq::message_t frame_of(std::string text, const Counted& counted) {
  if (text.size() < kCopyBelow) return zmq::message_t(text.data(), text.size());
  auto kept = std::make_shared<const std::string>(std::move(text));
  const char* data = kept->data();
  const std::size_t size = kept->size();
  return shared_frame(data, size, std::move(kept), counted);
}

zmq::message_t frame_of(const std::vector<SharedBytes>& pieces, const Counted& counted) {
  const std::size_t copy_below =
      counted.bound == ZmqSocket::Bound::kWindow && counted.exceeds(kLagging) ? kCopyOfLaggingBelow
                                                                              : kCopyBelow;
  if (pieces.size() == 1 && pieces[0].size() >= copy_below) {
    return shared_frame(pieces[0].data(), pieces[0].size(), pieces[0].owner(), counted);
  }
  std::size_t size = 0;
  for (const SharedBytes& piece : pieces) size += piece.size();
  if (counted.unread != nullptr) {
    std::string text;
    text.reserve(size);
    for (const SharedBytes& piece : pieces) text += piece.view();
    return frame_of(std::move(text), counted);
  }
  zmq::message_t frame(size);
  char* to = frame.data<char>();
  for (const SharedBytes& piece : pieces) {
    if (piece.empty()) continue;
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  return frame;
}

/// The counters of a ROUTER socket's peers.
class UnreadOfPeers {
 public:
  const std::shared_ptr<Unread>& of(std::string_view peer) {
    key_.assign(peer);
    const auto found = peers_.find(key_);
    if (found != peers_.end()) return found->second;
    if (peers_.size() >= sweep_at_) sweep();
    return peers_.emplace(key_, std::make_shared<Unread>()).first->second;
  }

 private:
  static constexpr std::size_t kFew = 1024;

  // Nobody tells when a peer goes: those that have nothing unread may be forgotten.
  void sweep() {
    std::erase_if(peers_, [](const auto& entry) { return entry.second->none(); });
    sweep_at_ = std::max(kFew, 2 * peers_.size());
  }

  std::unordered_map<std::string, std::shared_ptr<Unread>> peers_;
  std::string key_;
  std::size_t sweep_at_ = kFew;
};

SharedBytes bytes_of(zmq::message_t frame) {
  auto owner = std::make_shared<zmq::message_t>(std::move(frame));
  const void* data = owner->data();
  const std::size_t size = owner->size();
  return SharedBytes(std::move(owner), data, size);
}

}  // namespace

struct ZmqContext::Holder {
  zmq::context_t context;
};

ZmqContext::ZmqContext(int io_threads) : holder_(std::make_unique<Holder>()) {
  holder_->context.set(zmq::ctxopt::io_threads, io_threads);
  holder_->context.set(zmq::ctxopt::max_sockets, 4096);
}

ZmqContext::~ZmqContext() = default;

struct ZmqSocket::Holder {
  Holder(zmq::context_t& context, Kind of, std::uint64_t unread_limit)
      : socket(context, of == Kind::kDealer ? zmq::socket_type::dealer : zmq::socket_type::router),
        kind(of),
        max_unread_bytes(unread_limit) {}
  ~Holder() {
    // In this order: ZeroMQ's thread would wait forever to tell an event when nobody takes it.
    if (events) zmq_socket_monitor(socket.handle(), nullptr, 0);
    events.close();
  }

  zmq::socket_t socket;
  Kind kind;
  const std::uint64_t max_unread_bytes;
  UnreadOfPeers unread;
  zmq::socket_t events;  // the other end of ZeroMQ's monitor, when watched
  Trouble trouble = Trouble::kNone;
};

ZmqSocket::ZmqSocket(ZmqContext& context, Kind kind, const Options& options)
    : holder_(std::make_unique<Holder>(context.holder_->context, kind, options.max_unread_bytes)) {
  zmq::socket_t& socket = holder_->socket;
  socket.set(zmq::sockopt::sndhwm, options.high_water_mark);
  socket.set(zmq::sockopt::rcvhwm, options.high_water_mark);
  socket.set(zmq::sockopt::linger, static_cast<int>(options.linger.count()));
  socket.set(zmq::sockopt::reconnect_ivl, static_cast<int>(options.reconnect_min.count()));
  socket.set(zmq::sockopt::reconnect_ivl_max, static_cast<int>(options.reconnect_max.count()));
  socket.set(zmq::sockopt::backlog, 4096);
  socket.set(zmq::sockopt::ipv6, true);
  if (options.max_frame_bytes > 0) socket.set(zmq::sockopt::maxmsgsize, options.max_frame_bytes);
  if (kind == Kind::kRouter) socket.set(zmq::sockopt::router_mandatory, true);
  if (!options.watch) return;
  static std::atomic<std::uint64_t> monitors{0};
  const std::string name = "inproc://monitor-" + std::to_string(++monitors);
  // RETRIED also stands for attempts that have no descriptor to close, e.g. a socket file that is
  // not there.
  const int events = ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED;
  SEGUE_CHECK(zmq_socket_monitor(socket.handle(), name.c_str(), events) == 0);
  holder_->events = zmq::socket_t(context.holder_->context, zmq::socket_type::pair);
  holder_->events.set(zmq::sockopt::linger, 0);
  holder_->events.set(zmq::sockopt::rcvhwm, 0);  // as above: it must never have to wait
  holder_->events.connect(name);
}

ZmqSocket::~ZmqSocket() = default;
ZmqSocket::ZmqSocket(ZmqSocket&&) noexcept = default;
ZmqSocket& ZmqSocket::operator=(ZmqSocket&&) noexcept = default;

Status ZmqSocket::bind(const std::string& endpoint) {
  const std::string name = name_in_endpoint(endpoint);
  if (name.empty() || name == "*") return bind_address(endpoint, endpoint);
  // ZeroMQ binds addresses and interfaces, no names.
  const auto addresses = NameLookup::of_system(name);
  if (!addresses.is_ok()) {
    return Status(Code::kInvalidConfig, "cannot listen on " + endpoint + ": the name '" + name +
                                            "' was not found: " + addresses.status().message());
  }
  Status last;
  bool bound = false;
  for (const std::string& address : *addresses) {
    last = bind_address(endpoint_at(endpoint, address), endpoint);
    bound = bound || last.is_ok();
    // A name may stand for addresses of which this machine has not all: IPv6 switched off, say.
    if (!last.is_ok() && zmq_errno() != EADDRNOTAVAIL && zmq_errno() != EAFNOSUPPORT &&
        zmq_errno() != ENODEV) {
      return last;
    }
  }
  if (bound) return Status::ok();
  return Status(last.code(), last.message() + "; '" + name +
                                 "' is not an address of this machine: give 'listen', too");
}

Status ZmqSocket::bind_address(const std::string& address, const std::string& endpoint) {
  try {
    holder_->socket.bind(address);
    return Status::ok();
  } catch (const zmq::error_t& error) {
    return Status(Code::kInvalidConfig, "cannot listen on " + endpoint + ": " + error.what());
  }
}

Status ZmqSocket::connect(const std::string& endpoint) {
  try {
    holder_->socket.connect(endpoint);
    return Status::ok();
  } catch (const zmq::error_t& error) {
    return Status(Code::kInvalidConfig, "cannot connect to " + endpoint + ": " + error.what());
  }
}

std::string ZmqSocket::bound_endpoint() const {
  // Over an IPv6 socket an IPv4 address is tcp://[::ffff:127.0.0.1]:5680.
  std::string endpoint = holder_->socket.get(zmq::sockopt::last_endpoint);
  constexpr std::string_view kMapped = "[::ffff:";
  const std::size_t at = endpoint.find(kMapped);
  const std::size_t end = endpoint.find(']');
  if (at == std::string::npos || end == std::string::npos || end < at) return endpoint;
  const std::string address = endpoint.substr(at + kMapped.size(), end - at - kMapped.size());
  if (address.find('.') == std::string::npos) return endpoint;
  return endpoint.replace(at, end + 1 - at, address);
}

bool ZmqSocket::send(std::string_view peer, std::string header,
                     const std::vector<SharedBytes>& bodies, bool with_bodies, Bound bound) {
  zmq::socket_t& socket = holder_->socket;
  const bool more = with_bodies || !bodies.empty();
  Counted counted;
  if (holder_->max_unread_bytes > 0) {
    counted = {holder_->unread.of(peer), bound};
    if (bound == Bound::kReading && counted.exceeds(holder_->max_unread_bytes)) return false;
  }
  try {
    const auto first = zmq::send_flags::dontwait | zmq::send_flags::sndmore;
    if (holder_->kind == Kind::kRouter) {
      // With ROUTER_MANDATORY the first frame decides; the rest of a message is then always taken.
      if (!socket.send(zmq::const_buffer(peer.data(), peer.size()), first)) return false;
    }
    if (!socket.send(frame_of(std::move(header), counted),
                     more ? first : zmq::send_flags::dontwait))
      return false;
    if (more && !socket.send(frame_of(bodies, counted), zmq::send_flags::dontwait)) return false;
    return true;
  } catch (const zmq::error_t& error) {
    // EHOSTUNREACH: the peer has gone. Anything else means the socket itself is unusable.
    SEGUE_CHECK(error.num() == EHOSTUNREACH || error.num() == EAGAIN || error.num() == EINTR);
    return false;
  }
}

void ZmqSocket::set_linger(std::chrono::milliseconds linger) {
  holder_->socket.set(zmq::sockopt::linger, static_cast<int>(linger.count()));
}

bool ZmqSocket::receive(WireMessage& message) {
  zmq::socket_t& socket = holder_->socket;
  zmq::message_t frame;
  try {
    if (!socket.recv(frame, zmq::recv_flags::dontwait)) return false;
    message.peer.clear();
    message.header = {};
    message.bodies = {};
    message.malformed = false;
    bool more = frame.more();
    if (holder_->kind == Kind::kRouter) {
      message.peer.assign(frame.data<char>(), frame.size());
      if (!more) {
        message.malformed = true;
        return true;
      }
      (void)socket.recv(frame, zmq::recv_flags::dontwait);
      more = frame.more();
    }
    message.header = bytes_of(std::move(frame));
    if (!more) return true;
    zmq::message_t bodies;
    (void)socket.recv(bodies, zmq::recv_flags::dontwait);
    more = bodies.more();
    message.bodies = bytes_of(std::move(bodies));
    while (more) {
      message.malformed = true;
      zmq::message_t surplus;
      (void)socket.recv(surplus, zmq::recv_flags::dontwait);
      more = surplus.more();
    }
    return true;
  } catch (const zmq::error_t& error) {
    SEGUE_CHECK(error.num() == EINTR || error.num() == EAGAIN);
    return false;
  }
}

ZmqSocket::Trouble ZmqSocket::trouble() {
  if (!holder_->events) return Trouble::kNone;
  try {
    // A number that says what happened, then where.
    zmq::message_t event;
    while (holder_->events.recv(event, zmq::recv_flags::dontwait)) {
      const bool more = event.more();
      std::uint16_t what = 0;
      if (event.size() >= sizeof what) std::memcpy(&what, event.data(), sizeof what);
      if (more) (void)holder_->events.recv(event, zmq::recv_flags::dontwait);
      if (what == ZMQ_EVENT_DISCONNECTED) {
        holder_->trouble = Trouble::kLost;
      } else if (holder_->trouble == Trouble::kNone) {
        holder_->trouble = Trouble::kRefused;
      }
    }
  } catch (const zmq::error_t& error) {
    SEGUE_CHECK(error.num() == EINTR || error.num() == EAGAIN);
  }
  return holder_->trouble;
}

Wakeup::Wakeup() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  SEGUE_CHECK(fd_ >= 0);
}

Wakeup::~Wakeup() {
  close(fd_);
}

void Wakeup::signal() {
  const std::uint64_t one = 1;
  // EAGAIN means that it rings already.
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
}

void Wakeup::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read_bytes = read(fd_, &count, sizeof count);
}

struct Poller::Holder {
  std::vector<zmq::pollitem_t> items;
};

Poller::Poller() : holder_(std::make_unique<Holder>()) {}
Poller::~Poller() = default;

void Poller::add(ZmqSocket& socket) {
  holder_->items.push_back({socket.holder_->socket.handle(), 0, ZMQ_POLLIN, 0});
  if (!socket.holder_->events) return;
  holder_->items.push_back({socket.holder_->events.handle(), 0, ZMQ_POLLIN, 0});
}

void Poller::remove(ZmqSocket& socket) {
  void* handle = socket.holder_->socket.handle();
  void* events = socket.holder_->events.handle();
  std::erase_if(holder_->items, [&](const zmq::pollitem_t& item) {
    return item.socket != nullptr && (item.socket == handle || item.socket == events);
  });
}

void Poller::add_fd(int fd) {
  holder_->items.push_back({nullptr, fd, ZMQ_POLLIN, 0});
}

void Poller::remove_fd(int fd) {
  std::erase_if(holder_->items, [fd](const zmq::pollitem_t& item) {
    return item.socket == nullptr && item.fd == fd;
  });
}

void Poller::wait(Duration timeout) {
  auto wait_ms = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  wait_ms = std::max(wait_ms, std::chrono::milliseconds(0));
  try {
    zmq::poll(holder_->items.data(), holder_->items.size(), wait_ms);
  } catch (const zmq::error_t& error) {
    SEGUE_CHECK(error.num() == EINTR);
  }
}

ShutdownSignals::ShutdownSignals() {
  // With standard input, output or error closed, the next descriptors would take their places.
  // What is written to a closed output must fail: nobody has it. Only messages about that may go.
  int null = open("/dev/null", O_RDONLY);
  while (null >= 0 && null < STDERR_FILENO) null = dup(null);
  if (null >= 0) close(null);
  if (null == STDERR_FILENO) static_cast<void>(open("/dev/null", O_WRONLY));
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  SEGUE_CHECK(pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0);
  fd_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  SEGUE_CHECK(fd_ >= 0);
}

ShutdownSignals::~ShutdownSignals() {
  close(fd_);
}

int ShutdownSignals::take() {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace segue
