#include "router/node_requests.h"

#include <utility>
#include <vector>

#include "router/errors.h"

namespace segue::router {

void NodeRequests::fail(std::uint64_t id, const Then& then, Code code, std::string text) {
  v1::QueueReply reply;
  reply.set_request_id(id);
  *reply.mutable_error() = make_error(code, "", std::move(text));
  then(reply, {});
}

std::uint64_t NodeRequests::send(Node* node, const std::string& node_id, v1::QueueRequest request,
                                 CatalogIndex needs, Options options, Then then) {
  if (node == nullptr) {
    fail(0, then, Code::kShardUnavailable,
         "node " + in_quotes(node_id) + " is not in this router's configuration");
    return 0;
  }
  if (!node->up && !options.wait_for_node) {
    fail(0, then, Code::kShardUnavailable, node->unreachable());
    return 0;
  }
  const std::uint64_t id = next_id_++;
  request.set_request_id(id);
  if (node->up) node->outbox.queue_request(request, needs);
  open_.emplace(id, Open{node, std::move(request), needs, options, std::move(then),
                         turn_.now + timeout_, node->up});
  return id;
}

Status NodeRequests::on_replies(Node& node, v1::QueueReplies& replies, const SharedBytes& bodies) {
  std::uint64_t offset = 0;
  for (v1::QueueReply& reply : *replies.mutable_replies()) {
    const std::uint64_t size = reply.delivery().body_bytes();
    if (size > bodies.size() - offset) {
      return Status(Code::kFrameError, "replies with more body bytes than the frame has");
    }
    on_reply(node, reply, bodies.slice(offset, size));
    offset += size;
  }
  return Status::ok();
}

void NodeRequests::on_reply(Node& node, v1::QueueReply& reply, SharedBytes bodies) {
  const auto found = open_.find(reply.request_id());
  if (found == open_.end() || found->second.node != &node || !found->second.sent) return;
  const Then then = std::move(found->second.then);
  open_.erase(found);
  then(reply, std::move(bodies));
}

void NodeRequests::on_node_up(Node& node) {
  for (auto& [id, open] : open_) {
    if (open.node != &node || open.sent) continue;
    open.sent = true;
    node.outbox.queue_request(open.request, open.needs);
  }
}

void NodeRequests::on_node_down(Node& node) {
  std::vector<std::pair<std::uint64_t, Then>> lost;
  for (auto at = open_.begin(); at != open_.end();) {
    Open& open = at->second;
    if (open.node != &node || !open.sent) {
      ++at;
    } else if (open.options.repeatable && open.options.wait_for_node) {
      open.sent = false;
      ++at;
    } else {
      lost.emplace_back(at->first, std::move(open.then));
      at = open_.erase(at);
    }
  }
  for (const auto& [id, then] : lost) {
    fail(id, then, Code::kShardUnavailable,
         "node " + node.id + " went away before it answered: " + node.why_down());
  }
}

void NodeRequests::on_tick() {
  struct Late {
    std::uint64_t id;
    Then then;
    std::string text;
  };
  std::vector<Late> late;
  for (auto at = open_.begin(); at != open_.end();) {
    Open& open = at->second;
    if (open.deadline > turn_.now || (open.sent && open.options.never_forget)) {
      ++at;
      continue;
    }
    const std::string& node = open.node->id;
    late.push_back(
        {at->first, std::move(open.then),
         open.sent ? "node " + node + " has not answered in time" : open.node->unreachable()});
    at = open_.erase(at);
  }
  for (Late& one : late) {
    fail(one.id, one.then, Code::kShardUnavailable, std::move(one.text));
  }
}

}  // namespace segue::router
