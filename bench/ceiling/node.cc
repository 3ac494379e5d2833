#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/ceiling/stages.h"
#include "common/check.h"
#include "common/zmq_socket.h"
#include "segue/v1/client.pb.h"

namespace segue::bench {

namespace {

/// A batch on its way to the file, and back as a confirm.
struct Entry {
  SharedBytes header;
  SharedBytes bodies;
  std::uint64_t first_seq = 0;
  std::uint64_t count = 0;
};

/// Writes what the socket loop hands over; whatever waits when a sync ends is the next group.
class GroupWriter {
 public:
  GroupWriter(SyncFile file, Wakeup& done) : file_(std::move(file)), done_(done) {
    thread_ = std::thread([this] { run(); });
  }
  ~GroupWriter() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void submit(std::vector<Entry>& entries) {
    {
      const std::lock_guard lock(mutex_);
      for (Entry& entry : entries) waiting_.push_back(std::move(entry));
    }
    entries.clear();
    wake_.notify_one();
  }

  void take_written(std::vector<Entry>& to) {
    const std::lock_guard lock(mutex_);
    to.clear();
    to.swap(written_);
  }

 private:
  void run() {
    std::vector<Entry> group;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        group.swap(waiting_);
      }
      write(group);
      {
        const std::lock_guard lock(mutex_);
        for (Entry& entry : group) written_.push_back(std::move(entry));
      }
      group.clear();
      done_.signal();
    }
  }

  void write(const std::vector<Entry>& group) {
    std::vector<std::string_view> pieces;
    std::size_t bytes = 0;
    for (const Entry& entry : group) {
      const std::size_t size = entry.header.size() + entry.bodies.size();
      if (bytes + size > SyncFile::kMaxGroup) {
        sync(pieces);
        pieces.clear();
        bytes = 0;
      }
      pieces.push_back(entry.header.view());
      pieces.push_back(entry.bodies.view());
      bytes += size;
    }
    sync(pieces);
  }

  void sync(const std::vector<std::string_view>& pieces) {
    const Status status = file_.write_group(pieces);
    if (!status.is_ok()) {
      std::fprintf(stderr, "pipeline_ceiling: %s\n", status.to_string().c_str());
      std::_Exit(1);
    }
  }

  SyncFile file_;
  Wakeup& done_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> waiting_;
  std::vector<Entry> written_;
  bool stop_ = false;
  std::thread thread_;
};

class Node {
 public:
  explicit Node(SyncFile file)
      : socket_(context_, ZmqSocket::Kind::kRouter, {}), writer_(std::move(file), wakeup_) {}

  int run(const std::string& listen, const Listening& listening) {
    const Status status = socket_.bind(listen);
    if (!status.is_ok()) {
      std::fprintf(stderr, "pipeline_ceiling: %s\n", status.to_string().c_str());
      return 1;
    }
    listening(socket_.bound_endpoint());
    Poller poller;
    poller.add(socket_);
    poller.add_fd(wakeup_.fd());
    while (!closed_) {
      wakeup_.clear();
      writer_.take_written(written_);
      if (!written_.empty()) confirm();
      const bool any = receive();
      if (!any && written_.empty()) poller.wait(std::chrono::seconds(1));
    }
    return 0;
  }

 private:
  bool receive() {
    WireMessage message;
    while (socket_.receive(message)) {
      frame_.Clear();
      const auto size = static_cast<int>(message.header.size());
      if (!frame_.ParseFromArray(message.header.data(), size)) continue;
      if (frame_.has_close()) closed_ = true;
      if (!frame_.has_publish()) continue;
      router_ = message.peer;
      const v1::Publish& publish = frame_.publish();
      received_.push_back({std::move(message.header), std::move(message.bodies),
                           publish.first_seq(),
                           static_cast<std::uint64_t>(publish.batch().sizes_size())});
    }
    if (received_.empty()) return false;
    writer_.submit(received_);
    return true;
  }

  // One frame for a whole group.
  void confirm() {
    v1::RouterFrame frame;
    frame.mutable_link()->set_epoch(2);
    frame.mutable_link()->set_sequence(++sent_);
    v1::Range* range = nullptr;
    for (const Entry& entry : written_) {
      if (range == nullptr || range->last() + 1 != entry.first_seq) {
        range = frame.mutable_confirm()->add_confirmed();
        range->set_first(entry.first_seq);
      }
      range->set_last(entry.first_seq + entry.count - 1);
    }
    socket_.send(router_, frame.SerializeAsString());
  }

  ZmqContext context_;
  ZmqSocket socket_;
  Wakeup wakeup_;
  GroupWriter writer_;
  v1::ClientFrame frame_;
  std::vector<Entry> received_;
  std::vector<Entry> written_;
  std::string router_;
  std::uint64_t sent_ = 0;
  bool closed_ = false;
};

}  // namespace

int run_node(const std::string& listen, SyncFile file, const Listening& listening) {
  return Node(std::move(file)).run(listen, listening);
}

}  // namespace segue::bench
