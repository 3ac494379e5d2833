// What the client library itself costs: publishes and deliveries against a router in memory that
// does nothing but answer. No sockets, so that only the library is measured.
//
//   client_bench [SECONDS]

#include <poll.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "client/connection_core.h"
#include "common/message_batch.h"
#include "segue/v1/client.pb.h"

namespace segue::client {
namespace {

/// Confirms every publish, answers every request, and keeps a consumer supplied. All calls come
/// from the client's I/O thread.
class AnsweringTransport final : public RouterTransport {
 public:
  explicit AnsweringTransport(Wakeup& wakeup) : wakeup_(wakeup) {}

  segue::Status connect(const std::string&) override { return segue::Status::ok(); }
  void disconnect() override {}
  bool send(std::string header, const std::vector<SharedBytes>&, bool) override {
    v1::ClientFrame frame;
    if (!frame.ParseFromString(header)) std::abort();
    answer(frame);
    return true;
  }
  std::string_view broken() override { return {}; }
  bool receive(WireMessage& message) override {
    if (deliver_ && outstanding_ < kPrefetch) push_delivery();
    if (inbox_.empty()) return false;
    message = std::move(inbox_.front());
    inbox_.pop_front();
    return true;
  }
  void wait(Duration timeout) override {
    if (!inbox_.empty() || (deliver_ && outstanding_ < kPrefetch)) return;
    pollfd fd{wakeup_.fd(), POLLIN, 0};
    poll(&fd, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count()));
  }

 private:
  static constexpr std::uint64_t kPrefetch = 2'000;
  static constexpr std::uint32_t kPerFrame = 100;
  static constexpr std::size_t kBodyBytes = 1024;

  void answer(const v1::ClientFrame& frame) {
    epoch_ = frame.link().epoch();
    v1::RouterFrame reply;
    if (frame.has_hello()) {
      reply.mutable_hello_ok()->set_publish_credit(~0ull >> 1);
      reply.mutable_hello_ok()->set_heartbeat_ms(60'000);
    } else if (frame.has_publish()) {
      v1::Range* range = reply.mutable_confirm()->add_confirmed();
      range->set_first(frame.publish().first_seq());
      range->set_last(range->first() +
                      static_cast<std::uint64_t>(frame.publish().batch().sizes_size()) - 1);
    } else if (frame.has_request()) {
      reply.mutable_reply()->set_request_id(frame.request().request_id());
      deliver_ = frame.request().has_consume();
    } else if (frame.has_settle()) {
      for (const auto& tags : frame.settle().settled()) {
        outstanding_ -= tags.tags().last() - tags.tags().first() + 1;
      }
      return;
    } else {
      return;
    }
    push(std::move(reply), {});
  }
  void push_delivery() {
    v1::RouterFrame frame;
    frame.mutable_deliver()->set_consumer(1);
    frame.mutable_deliver()->set_first_tag(next_tag_);
    auto* messages = frame.mutable_deliver()->mutable_batch()->mutable_messages();
    messages->add_headers()->set_routing_key("q");
    for (std::uint32_t i = 0; i < kPerFrame; ++i) messages->add_sizes(kBodyBytes);
    next_tag_ += kPerFrame;
    outstanding_ += kPerFrame;
    push(std::move(frame), bodies_);
  }
  void push(v1::RouterFrame frame, SharedBytes bodies) {
    frame.mutable_link()->set_epoch(epoch_);
    frame.mutable_link()->set_sequence(++sequence_);
    inbox_.push_back({"", SharedBytes::from(frame.SerializeAsString()), std::move(bodies), false});
  }

  Wakeup& wakeup_;
  std::deque<WireMessage> inbox_;
  std::uint64_t epoch_ = 0;
  std::uint64_t sequence_ = 0;
  bool deliver_ = false;
  std::uint64_t next_tag_ = 1;
  std::uint64_t outstanding_ = 0;
  const SharedBytes bodies_ = SharedBytes::from(std::string(kPerFrame * kBodyBytes, 'b'));
};

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Time since it was made: on the wall, of this thread, of the process.
struct Stopwatch {
  double wall = seconds_of(CLOCK_MONOTONIC);
  double thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

  void report(const char* what, std::uint64_t messages) const {
    const double count = static_cast<double>(messages);
    const double took = seconds_of(CLOCK_MONOTONIC) - wall;
    const double own = seconds_of(CLOCK_THREAD_CPUTIME_ID) - thread;
    const double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process;
    std::printf("%-34s %11.0f/s   caller %6.0f ns   I/O thread %6.0f ns\n", what, count / took,
                own / count * 1e9, (all - own) / count * 1e9);
  }
};

Connection connect(std::size_t window) {
  ConnectionOptions options;
  options.max_in_flight_messages = window;
  auto connection = ConnectionCore::open(
      options, [](Wakeup& wakeup) { return std::make_unique<AnsweringTransport>(wakeup); });
  return *std::move(connection);
}

void bench_publish(const char* what, std::size_t size, double seconds, bool as_message_header) {
  Connection connection = connect(1'000);
  MessageHeader header;
  header.routing_key = "q";
  const PreparedHeader prepared(header);
  const std::string body(size, 'b');
  const Stopwatch watch;
  std::uint64_t count = 0;
  while (seconds_of(CLOCK_MONOTONIC) - watch.wall < seconds) {
    for (int i = 0; i < 1'000; ++i, ++count) {
      const auto seq = as_message_header ? connection.publisher().publish(header, body)
                                         : connection.publisher().publish(prepared, body);
      if (!seq) std::abort();
    }
  }
  if (!connection.publisher().wait_for_confirms()) std::abort();
  watch.report(what, count);
}

void bench_consume(double seconds) {
  Connection connection = connect(1'000);
  ConsumerOptions options;
  options.prefetch = 2'000;
  auto consumer = connection.subscribe("q", options);
  const Stopwatch watch;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  while (seconds_of(CLOCK_MONOTONIC) - watch.wall < seconds) {
    auto taken = consumer->next_batch(1'000, std::chrono::seconds(5));
    if (!taken) std::abort();
    for (std::size_t i = 0; i < taken->size(); ++i) bytes += taken->body(i).size();
    count += taken->size();
    taken->ack();
  }
  watch.report("consume and ack, 1 KiB, batches", count);
  if (bytes != count * 1024) std::abort();
}

}  // namespace
}  // namespace segue::client

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  using namespace segue::client;
  bench_publish("publish 100 B, prepared header", 100, seconds, false);
  bench_publish("publish 100 B, MessageHeader", 100, seconds, true);
  bench_publish("publish 1 KiB, prepared header", 1024, seconds, false);
  bench_publish("publish 16 KiB, prepared header", 16 * 1024, seconds, false);
  bench_consume(seconds);
}
