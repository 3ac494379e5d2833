#include <cstdio>

#include "bench/ceiling/stages.h"
#include "common/zmq_socket.h"
#include "segue/v1/client.pb.h"

namespace segue::bench {

namespace {

class Router {
 public:
  Router(const std::string& listen, const std::string& node, const Listening& listening)
      : front_(context_, ZmqSocket::Kind::kRouter, {}),
        back_(context_, ZmqSocket::Kind::kDealer, {.linger = std::chrono::seconds(1)}) {
    status_ = front_.bind(listen);
    if (status_.is_ok()) status_ = back_.connect(node);
    if (status_.is_ok()) listening(front_.bound_endpoint());
  }

  int run() {
    if (!status_.is_ok()) {
      std::fprintf(stderr, "pipeline_ceiling: %s\n", status_.to_string().c_str());
      return 1;
    }
    Poller poller;
    poller.add(front_);
    poller.add(back_);
    while (!closed_) {
      bool any = false;
      WireMessage message;
      while (back_.receive(message)) {
        any = true;
        confirm_back(message);
      }
      while (front_.receive(message)) {
        any = true;
        pass_on(message);
      }
      if (!any) poller.wait(std::chrono::seconds(1));
    }
    return 0;
  }

 private:
  void pass_on(WireMessage& message) {
    in_.Clear();
    if (!in_.ParseFromArray(message.header.data(), static_cast<int>(message.header.size()))) return;
    client_ = message.peer;
    out_.Clear();
    out_.mutable_link()->set_epoch(2);
    out_.mutable_link()->set_sequence(++sent_);
    if (in_.has_publish()) {
      const v1::Publish& from = in_.publish();
      v1::Publish& to = *out_.mutable_publish();
      to.set_first_seq(from.first_seq());
      // As a broker has to: the batch for one node is put together from parts of those that came.
      for (const v1::MessageHeader& header : from.batch().headers()) {
        *to.mutable_batch()->add_headers() = header;
      }
      for (const std::uint32_t index : from.batch().header_index()) {
        to.mutable_batch()->add_header_index(index);
      }
      for (const std::uint32_t size : from.batch().sizes()) to.mutable_batch()->add_sizes(size);
    } else {
      out_.mutable_close();
      closed_ = true;
    }
    back_.send("", out_.SerializeAsString(), {std::move(message.bodies)}, out_.has_publish());
  }

  void confirm_back(const WireMessage& message) {
    answer_.Clear();
    if (!answer_.ParseFromArray(message.header.data(), static_cast<int>(message.header.size()))) {
      return;
    }
    confirm_.Clear();
    confirm_.mutable_link()->set_epoch(1);
    confirm_.mutable_link()->set_sequence(++answered_);
    for (const v1::Range& range : answer_.confirm().confirmed()) {
      *confirm_.mutable_confirm()->add_confirmed() = range;
    }
    front_.send(client_, confirm_.SerializeAsString());
  }

  ZmqContext context_;
  ZmqSocket front_;
  ZmqSocket back_;
  Status status_;
  std::string client_;
  v1::ClientFrame in_;
  v1::ClientFrame out_;
  v1::RouterFrame answer_;
  v1::RouterFrame confirm_;
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
  bool closed_ = false;
};

}  // namespace

int run_router(const std::string& listen, const std::string& node, const Listening& listening) {
  return Router(listen, node, listening).run();
}

}  // namespace segue::bench
