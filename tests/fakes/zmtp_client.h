#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "segue/v1/client.pb.h"

namespace segue {

/// A client that speaks ZeroMQ's wire protocol (ZMTP 3.0, NULL) over a plain unix socket, so that a
/// test decides on every byte: frames cut off, a third frame, sizes that are lies, nothing read at
/// all. Reads only while a call waits for something. One thread; every wait has a deadline.
class ZmtpClient {
 public:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds kPatience{20'000};

  /// `endpoint` is "ipc://<path>". `receive_buffer`: bytes that the system takes in for us, 0 for
  /// its default. connected() says whether it worked; nothing is said yet.
  explicit ZmtpClient(const std::string& endpoint, std::uint64_t epoch = 77, int receive_buffer = 0)
      : epoch_(epoch) {
    const std::string path = endpoint.substr(std::string_view("ipc://").size());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return;
    std::memcpy(address.sun_path, path.data(), path.size());
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) vanish();
  }
  ~ZmtpClient() { vanish(); }
  ZmtpClient(const ZmtpClient&) = delete;
  ZmtpClient& operator=(const ZmtpClient&) = delete;

  bool connected() const { return fd_ >= 0; }
  std::uint64_t epoch() const { return epoch_; }
  /// Ends the connection without a word.
  void vanish() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  // ---- bytes

  /// Sends bytes as they are; false when the other end takes no more within the deadline.
  bool send_bytes(std::string_view bytes, Milliseconds timeout = kPatience) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!bytes.empty()) {
      const ssize_t sent =
          fd_ < 0 ? -1 : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (sent == 0 || (errno != EAGAIN && errno != EINTR) || fd_ < 0 ||
                 !wait_for(POLLOUT, deadline)) {
        return false;
      }
    }
    return true;
  }
  /// ZMTP's greeting and READY, and those of the other end read.
  bool greet() {
    std::string greeting("\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16);
    greeting.resize(64, '\0');
    std::string ready("\x05READY\x0bSocket-Type", 18);
    ready += std::string("\0\0\0\x06", 4) + "DEALER";
    if (!send_bytes(greeting) || !send_bytes(std::string("\x04", 1) + size_byte(ready) + ready)) {
      return false;
    }
    return read_exactly(64, deadline()).has_value() && read_frame(deadline()).has_value();
  }
  /// One ZMTP frame; with `more` another of the same message follows.
  static std::string frame(std::string_view body, bool more) {
    std::string out;
    if (body.size() < 256) {
      out += more ? '\x01' : '\x00';
      out += size_byte(body);
    } else {
      out += more ? '\x03' : '\x02';
      out += size_field(body.size());
    }
    return out.append(body);
  }
  /// The 8 bytes of a long frame's size.
  static std::string size_field(std::uint64_t size) {
    std::string out;
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
    return out;
  }
  bool send_message(const std::vector<std::string>& frames) {
    std::string out;
    for (std::size_t i = 0; i < frames.size(); ++i) out += frame(frames[i], i + 1 < frames.size());
    return send_bytes(out);
  }

  // ---- Segue's frames

  /// Gives the frame the epoch and the next sequence.
  v1::ClientFrame stamped(v1::ClientFrame frame) {
    frame.mutable_link()->set_epoch(epoch_);
    frame.mutable_link()->set_sequence(++sequence_);
    return frame;
  }
  bool send(const v1::ClientFrame& frame) {
    return send_message({stamped(frame).SerializeAsString()});
  }
  bool send(const v1::ClientFrame& frame, const std::string& bodies) {
    return send_message({stamped(frame).SerializeAsString(), bodies});
  }
  bool send_hello(std::uint32_t heartbeat_ms = 0) {
    v1::ClientFrame frame;
    frame.mutable_hello()->set_protocol_version(1);
    frame.mutable_hello()->set_client_name("zmtp");
    frame.mutable_hello()->set_heartbeat_ms(heartbeat_ms);
    return send(frame);
  }
  /// Greets, says hello and waits for HelloOk.
  bool open(std::uint32_t heartbeat_ms = 0) {
    return greet() && send_hello(heartbeat_ms) && next().has_hello_ok();
  }
  /// A batch of `count` equal messages to a queue.
  bool publish(const std::string& queue, std::uint64_t first_seq, std::uint32_t count,
               const std::string& body) {
    v1::ClientFrame frame;
    frame.mutable_publish()->set_first_seq(first_seq);
    v1::MessageBatch& batch = *frame.mutable_publish()->mutable_batch();
    batch.add_headers()->set_routing_key(queue);
    std::string bodies;
    for (std::uint32_t i = 0; i < count; ++i) {
      batch.add_sizes(static_cast<std::uint32_t>(body.size()));
      bodies += body;
    }
    return send(frame, bodies);
  }
  bool request(std::uint64_t id, v1::Request request) {
    v1::ClientFrame frame;
    *frame.mutable_request() = std::move(request);
    frame.mutable_request()->set_request_id(id);
    return send(frame);
  }

  /// The next frame that is no heartbeat; an empty one when none comes within the deadline or the
  /// connection ends (ended() tells).
  v1::RouterFrame next(Milliseconds timeout = kPatience) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      v1::RouterFrame frame;
      const auto message = read_message(until);
      if (!message || !frame.ParseFromString(message->front())) return {};
      if (!frame.has_heartbeat()) return frame;
    }
  }
  /// The code of the Close that comes, whatever comes before it; 0 when none comes.
  std::uint32_t next_close(Milliseconds timeout = kPatience) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      v1::RouterFrame frame;
      const auto message = read_message(until);
      if (!message) return 0;
      if (frame.ParseFromString(message->front()) && frame.has_close()) {
        last_text_ = frame.close().text();
        return frame.close().code();
      }
    }
  }
  /// What the last Close said.
  const std::string& last_text() const { return last_text_; }
  /// Waits until the other end closes the connection, reading what comes before.
  bool wait_ended(Milliseconds timeout = kPatience) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (!ended_ && read_exactly(1, until)) {
    }
    return ended_;
  }
  bool ended() const { return ended_; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  static std::string size_byte(std::string_view body) {
    return std::string(1, static_cast<char>(body.size()));
  }
  static TimePoint deadline() { return std::chrono::steady_clock::now() + kPatience; }

  bool wait_for(short events, TimePoint until) {
    const auto left = std::chrono::ceil<Milliseconds>(until - std::chrono::steady_clock::now());
    pollfd one{fd_, events, 0};
    return left.count() > 0 && poll(&one, 1, static_cast<int>(left.count())) > 0;
  }
  std::optional<std::string> read_exactly(std::size_t size, TimePoint until) {
    while (buffer_.size() < size) {
      char bytes[65536];
      const ssize_t count = fd_ < 0 ? 0 : recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (count > 0) {
        buffer_.append(bytes, static_cast<std::size_t>(count));
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        ended_ = true;
        return std::nullopt;
      } else if (!wait_for(POLLIN, until)) {
        return std::nullopt;
      }
    }
    std::string taken = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return taken;
  }
  struct Frame {
    bool more = false;
    bool command = false;
    std::string body;
  };
  std::optional<Frame> read_frame(TimePoint until) {
    const auto flags = read_exactly(1, until);
    if (!flags) return std::nullopt;
    const bool is_long = ((*flags)[0] & 2) != 0;
    const auto size_bytes = read_exactly(is_long ? 8 : 1, until);
    if (!size_bytes) return std::nullopt;
    std::uint64_t size = 0;
    for (const char byte : *size_bytes) size = size << 8 | static_cast<unsigned char>(byte);
    auto body = read_exactly(size, until);
    if (!body) return std::nullopt;
    return Frame{((*flags)[0] & 1) != 0, ((*flags)[0] & 4) != 0, *std::move(body)};
  }
  std::optional<std::vector<std::string>> read_message(TimePoint until) {
    std::vector<std::string> frames;
    for (;;) {
      auto one = read_frame(until);
      if (!one) return std::nullopt;
      if (one->command) continue;
      frames.push_back(std::move(one->body));
      if (!one->more) return frames;
    }
  }

  int fd_ = -1;
  const std::uint64_t epoch_;
  std::uint64_t sequence_ = 0;
  std::string buffer_;
  std::string last_text_;
  bool ended_ = false;
};

}  // namespace segue
