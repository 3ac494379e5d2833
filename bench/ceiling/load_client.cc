#include "bench/ceiling/load_client.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

#include "common/check.h"
#include "common/clock.h"
#include "common/zmq_socket.h"
#include "segue/v1/client.pb.h"

namespace segue::bench {

namespace {

constexpr auto kSilence = std::chrono::seconds(10);

class LoadClient {
 public:
  explicit LoadClient(const Load& load)
      : load_(load),
        socket_(context_, ZmqSocket::Kind::kDealer, {.linger = std::chrono::seconds(1)}) {
    body_ = SharedBytes::from(std::string(load.size * load.batch, 'x'));
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    SEGUE_CHECK(timer_ >= 0);
  }
  ~LoadClient() { ::close(timer_); }

  Result<LoadResult> run(const std::string& router) {
    SEGUE_RETURN_IF_ERROR(socket_.connect(router));
    Poller poller;
    poller.add(socket_);
    poller.add_fd(timer_);
    start_ = clock_.now();
    last_progress_ = start_;
    end_ = load_.count == 0 ? start_ + load_.duration : TimePoint::max();
    for (;;) {
      const TimePoint now = clock_.now();
      const bool any = receive(now);
      if (any) last_progress_ = now;
      const bool sending = load_.count == 0 ? now < end_ : sent_ < load_.count;
      if (!sending && confirmed_ == sent_) break;
      const bool sent = sending && send(now);
      if (any || sent) continue;
      if (confirmed_ < sent_ && now - last_progress_ > kSilence) {
        return Status(Code::kTimeout, "no confirm came back for 10 s");
      }
      if (confirmed_ == sent_) last_progress_ = now;
      wait(poller, sending);
    }
    result_.confirmed = confirmed_;
    result_.seconds = std::chrono::duration<double>(clock_.now() - start_).count();
    v1::ClientFrame frame;
    frame.mutable_close();
    socket_.send("", frame.SerializeAsString());
    return std::move(result_);
  }

 private:
  struct Sent {
    std::uint64_t last_seq;
    TimePoint intended;
  };

  TimePoint due(std::uint64_t message) const {
    return start_ + std::chrono::nanoseconds(static_cast<std::int64_t>(
                        1e9 * static_cast<double>(message) / static_cast<double>(load_.rate)));
  }

  bool send(TimePoint now) {
    std::uint64_t count = std::min(load_.batch, load_.window - (sent_ - confirmed_));
    if (load_.count > 0) count = std::min(count, load_.count - sent_);
    // A part of a batch would only make more frames of the same work.
    if (count < std::min(load_.batch, load_.window) && confirmed_ < sent_ && load_.rate == 0) {
      return false;
    }
    TimePoint intended = now;
    if (load_.rate > 0) {
      intended = due(sent_);
      if (now < intended || count == 0) return false;
      count = 1;
    }
    frame_.Clear();
    frame_.mutable_link()->set_epoch(1);
    frame_.mutable_link()->set_sequence(++frames_);
    v1::Publish& publish = *frame_.mutable_publish();
    publish.set_first_seq(sent_ + 1);
    publish.mutable_batch()->add_headers()->set_routing_key("ceiling");
    for (std::uint64_t i = 0; i < count; ++i) {
      publish.mutable_batch()->add_sizes(static_cast<std::uint32_t>(load_.size));
    }
    if (!socket_.send("", frame_.SerializeAsString(), {body_.slice(0, load_.size * count)}, true)) {
      --frames_;
      return false;
    }
    sent_ += count;
    in_flight_.push_back({sent_, intended});
    return true;
  }

  bool receive(TimePoint now) {
    bool any = false;
    WireMessage message;
    while (socket_.receive(message)) {
      any = true;
      answer_.Clear();
      const auto size = static_cast<int>(message.header.size());
      if (!answer_.ParseFromArray(message.header.data(), size)) continue;
      for (const v1::Range& range : answer_.confirm().confirmed()) confirm(range.last(), now);
    }
    return any;
  }

  // The pipeline keeps the order, so the last of a range stands for all before it.
  void confirm(std::uint64_t last, TimePoint now) {
    while (!in_flight_.empty() && in_flight_.front().last_seq <= last) {
      const Sent& sent = in_flight_.front();
      const auto latency = static_cast<std::uint64_t>((now - sent.intended).count());
      result_.latency_ns.record(latency, sent.last_seq - confirmed_);
      confirmed_ = sent.last_seq;
      in_flight_.pop_front();
    }
  }

  // The poller counts in milliseconds; a timer of the kernel wakes it to the point.
  void wait(Poller& poller, bool sending) {
    if (sending && load_.rate > 0) {
      const auto at = due(sent_).time_since_epoch().count();
      itimerspec timer{};
      timer.it_value = {.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
      ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &timer, nullptr);
    }
    poller.wait(std::chrono::seconds(1));
    std::uint64_t expirations = 0;
    if (::read(timer_, &expirations, sizeof expirations) < 0) expirations = 0;
  }

  const Load load_;
  const SystemClock clock_;
  ZmqContext context_;
  ZmqSocket socket_;
  int timer_;
  SharedBytes body_;
  v1::ClientFrame frame_;
  v1::RouterFrame answer_;
  std::deque<Sent> in_flight_;
  LoadResult result_;
  TimePoint start_;
  TimePoint end_;
  TimePoint last_progress_;
  std::uint64_t sent_ = 0;
  std::uint64_t confirmed_ = 0;
  std::uint64_t frames_ = 0;
};

}  // namespace

Result<LoadResult> run_load(const std::string& router, const Load& load) {
  return LoadClient(load).run(router);
}

}  // namespace segue::bench
