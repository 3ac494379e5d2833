#include "cli/load_producer.h"

#include <sys/prctl.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "common/bytes.h"

namespace segue::cli {

namespace {

// A confirm's handler runs after the message left the window: the slots of some windows are kept.
constexpr std::uint64_t kWindowsKept = 4;
constexpr std::chrono::seconds kNoProgress{60};

}  // namespace

void write_stamp(std::string& body, TimePoint time) {
  if (body.size() < kStampBytes) return;
  store_le(body.data(), static_cast<std::uint64_t>(time.time_since_epoch().count()));
}

TimePoint read_stamp(std::string_view body) {
  return TimePoint(Duration(static_cast<std::int64_t>(load_le<std::uint64_t>(body.data()))));
}

LoadProducer::LoadProducer(Options options)
    : options_(std::move(options)), sent_at_(std::bit_ceil(options_.window * kWindowsKept)) {}

void LoadProducer::on_confirm(const client::ConfirmEvent& event) {
  const TimePoint now = clock_.now();
  std::uint64_t confirmed = 0;
  std::uint64_t rejected = 0;
  for (const client::SeqRange& range : event.confirmed) {
    for (std::uint64_t seq = range.first; seq <= range.last; ++seq) {
      const Duration latency = now - sent_at_[seq & (sent_at_.size() - 1)];
      latency_.record(static_cast<std::uint64_t>(std::max<std::int64_t>(0, latency.count())));
    }
    confirmed += range.count();
  }
  for (const client::Rejection& rejection : event.rejected) {
    if (rejection_.empty()) rejection_ = rejection.error.to_string();
    rejected += rejection.seqs.count();
  }
  last_confirm_ = now;
  confirmed_.fetch_add(confirmed, std::memory_order_relaxed);
  rejected_.fetch_add(rejected, std::memory_order_relaxed);
  settled_.fetch_add(confirmed + rejected, std::memory_order_release);
  settled_.notify_one();
}

bool LoadProducer::finished(TimePoint now) const {
  return options_.count > 0 ? published() >= options_.count : now >= options_.end;
}

// False: the run was stopped meanwhile. The one who stops wakes us with a confirm, or never needs
// to: the window opens or the connection says why not.
bool LoadProducer::wait_for_window(const std::atomic<bool>& stop) {
  const TimePoint deadline = clock_.now() + kNoProgress;
  for (;;) {
    const std::uint64_t settled = settled_.load(std::memory_order_acquire);
    if (published() - settled < options_.window) return true;
    if (stop.load(std::memory_order_relaxed) || clock_.now() > deadline) return false;
    settled_.wait(settled, std::memory_order_acquire);
  }
}

// The time that the next message should be sent at, once that has come.
TimePoint LoadProducer::wait_for_time(const std::atomic<bool>& stop) {
  const TimePoint due =
      options_.start +
      Duration(static_cast<std::int64_t>(options_.offset_ns +
                                         options_.interval_ns * static_cast<double>(published())));
  const TimePoint limit = options_.count > 0 ? due : std::min(due, options_.end);
  while (!stop.load(std::memory_order_relaxed)) {
    const TimePoint now = clock_.now();
    if (now >= limit) break;
    std::this_thread::sleep_until(std::min(limit, now + std::chrono::milliseconds(100)));
  }
  return due;
}

client::Status LoadProducer::publish_all(client::Publisher& publisher,
                                         const std::atomic<bool>& stop) {
  std::vector<client::PreparedHeader> headers;
  for (const std::string& queue : options_.queues) {
    headers.push_back(client::PreparedHeader::to_queue(queue));
  }
  std::string body(options_.size, 'b');
  std::size_t queue = options_.first_queue % headers.size();
  while (!stop.load(std::memory_order_relaxed)) {
    TimePoint time;
    if (options_.interval_ns > 0) {
      if (finished(clock_.now())) break;
      time = wait_for_time(stop);
      if (!wait_for_window(stop)) break;
      if (finished(clock_.now())) break;
    } else {
      if (!wait_for_window(stop)) break;
      time = clock_.now();
      if (finished(time)) break;
    }
    sent_at_[publisher.next_seq() & (sent_at_.size() - 1)] = time;
    write_stamp(body, time);
    const auto seq = publisher.publish(headers[queue], body);
    if (!seq) {
      if (seq.error().code == client::ErrorCode::kWindowFull) continue;
      return seq.error();
    }
    published_.fetch_add(1, std::memory_order_relaxed);
    queue = queue + 1 == headers.size() ? 0 : queue + 1;
  }
  return {};
}

client::Status LoadProducer::run(const std::atomic<bool>& stop) {
  client::ConnectionOptions connection_options = options_.connection;
  // The window is kept here, so that the wait for it is not taken for latency.
  connection_options.max_in_flight_messages = options_.window * 2;
  connection_options.full_timeout = std::chrono::milliseconds(200);
  auto connection = client::Connection::open(std::move(connection_options));
  if (!connection) return connection.error();
  client::Publisher& publisher = connection->publisher();
  // The kernel lets a sleep last 50 us longer than asked for, which would count as latency of the
  // broker: this thread's sleeps end in time.
  if (options_.interval_ns > 0) ::prctl(PR_SET_TIMERSLACK, 1UL);
  publisher.on_confirm([this](const client::ConfirmEvent& event) { on_confirm(event); });
  std::this_thread::sleep_until(options_.start);
  const client::Status published_all = publish_all(publisher, stop);
  const TimePoint deadline = clock_.now() + kNoProgress;
  while (confirmed() + rejected() < published() && clock_.now() < deadline && published_all) {
    (void)publisher.wait_for_confirms(std::chrono::milliseconds(200));
  }
  const client::Status closed = connection->close();
  if (!published_all) return published_all;
  if (confirmed() + rejected() < published() && !closed) return closed;
  return {};
}

}  // namespace segue::cli
