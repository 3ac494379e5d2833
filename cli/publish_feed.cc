#include "cli/publish_feed.h"

#include "cli/table_output.h"

namespace segue::cli {

namespace {

using std::chrono::steady_clock;

// How long a call may wait before it looks for Ctrl-C again.
constexpr std::chrono::milliseconds kSlice{200};
constexpr std::chrono::seconds kNoProgress{60};

std::uint64_t total(std::span<const client::SeqRange> ranges) {
  std::uint64_t count = 0;
  for (const client::SeqRange& range : ranges) count += range.count();
  return count;
}

}  // namespace

PublishFeed::PublishFeed(Console& console, client::Connection& connection)
    : console_(console), connection_(connection) {
  connection_.publisher().on_confirm(
      [this](const client::ConfirmEvent& event) { on_confirm(event); });
}

PublishFeed::~PublishFeed() {
  connection_.publisher().on_confirm({});
}

void PublishFeed::on_confirm(const client::ConfirmEvent& event) {
  const std::lock_guard lock(mutex_);
  counts_.confirmed += total(event.confirmed);
  counts_.unroutable += total(event.unroutable);
  for (const client::Rejection& rejection : event.rejected) {
    counts_.rejected += rejection.seqs.count();
    if (counts_.any_reason) continue;
    counts_.any_reason = true;
    counts_.code = rejection.error.code;
    counts_.reason = rejection.error.to_string();
    for (const std::string& queue : rejection.queues) {
      counts_.queues += (counts_.queues.empty() ? "" : ", ") + queue;
    }
  }
}

template <typename Attempt>
client::Status PublishFeed::retry_while_full(const Attempt& attempt) {
  for (;;) {
    const client::Result<std::uint64_t> seq = attempt();
    if (seq) {
      const std::lock_guard lock(mutex_);
      ++counts_.published;
      return {};
    }
    if (seq.error().code != client::ErrorCode::kWindowFull) return seq.error();
    if (console_.stop_requested()) {
      return client::Error{client::ErrorCode::kClosed, {}, "interrupted"};
    }
    show_progress(-1);
  }
}

client::Status PublishFeed::publish(const client::PreparedHeader& header, std::string_view body) {
  return retry_while_full([&] { return connection_.publisher().publish(header, body); });
}

client::Status PublishFeed::publish(client::Message message) {
  return retry_while_full(
      [&] { return connection_.publisher().publish(message.header, message.body); });
}

bool PublishFeed::wait_for_confirms() {
  std::uint64_t open_before = 0;
  auto last_progress = steady_clock::now();
  for (;;) {
    (void)connection_.publisher().wait_for_confirms(kSlice);
    const std::uint64_t open = counts().open();
    if (open == 0) return true;
    show_progress(-1);
    const auto now = steady_clock::now();
    if (open != open_before) last_progress = now;
    open_before = open;
    if (console_.stop_requested() || now - last_progress > kNoProgress) return false;
  }
}

PublishFeed::Counts PublishFeed::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void PublishFeed::show_progress(int share) {
  if (!console_.error_is_terminal()) return;
  const auto now = steady_clock::now();
  if (now - last_shown_ < std::chrono::milliseconds(100)) return;
  last_shown_ = now;
  const Counts now_counts = counts();
  std::string line =
      grouped(now_counts.published) + " published, " + grouped(now_counts.confirmed) + " confirmed";
  if (share >= 0) line += " (" + std::to_string(share) + " %)";
  const client::BlockedState blocked = connection_.blocked();
  if (blocked.blocked) line += "; held back: " + printable(blocked.reason);
  if (connection_.state() == client::ConnectionState::kConnecting) line += "; reconnecting";
  console_.progress(line);
}

}  // namespace segue::cli
