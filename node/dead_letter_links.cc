#include "node/dead_letter_links.h"

#include <algorithm>
#include <utility>

namespace segue::node {

namespace {

/// A frame is cut here: large enough that its fixed costs vanish.
constexpr std::size_t kFrameBytes = 1 << 20;

}  // namespace

/// The link to one node.
class DeadLetterLinks::Peer final : private NodeLink::Events {
 public:
  Peer(DeadLetterLinks& links, NodeLink::Options options, std::unique_ptr<LinkTransport> transport)
      : answers_(links.answers_),
        transport_(std::move(transport)),
        link_(std::move(options), *transport_, *this, links.random_, links.log_) {}

  NodeLink& link() { return link_; }

  void add(v1::ShardPublish publish, std::vector<SharedBytes> bodies, CatalogIndex needs) {
    const std::size_t bytes = publish.batch().size() + publish.body_bytes();
    if (frames_.empty() || frames_.back().bytes + bytes > kFrameBytes) frames_.emplace_back();
    Frame& frame = frames_.back();
    open_.insert(publish.batch_id());
    frame.bytes += bytes;
    frame.frame.set_catalog_index(std::max(frame.frame.catalog_index(), needs.value));
    *frame.frame.mutable_publishes()->add_publishes() = std::move(publish);
    for (SharedBytes& body : bodies) frame.bodies.push_back(std::move(body));
  }

  void flush(TimePoint now) {
    // Sending may find the link down, which answers everything.
    for (Frame& frame : std::exchange(frames_, {})) {
      if (!link_.send(frame.frame, frame.bodies, now)) return;
    }
  }

 private:
  struct Frame {
    v1::PeerFrame frame;
    std::vector<SharedBytes> bodies;
    std::size_t bytes = 0;
  };

  void on_up(const v1::PeerHelloOk&) override { answers_.on_reachable(); }

  void on_down(const Status&) override {
    frames_.clear();
    for (const std::uint64_t batch_id : std::exchange(open_, {})) answers_.on_lost(batch_id);
  }

  void on_frame(v1::NodeFrame& frame, SharedBytes) override {
    for (const v1::ShardConfirm& confirm : frame.confirms().confirms()) {
      if (open_.erase(confirm.batch_id()) == 0) continue;
      if (confirm.has_error()) {
        answers_.on_refused(confirm.batch_id(), confirm.error().text());
      } else if (!confirm.refusals().empty()) {
        answers_.on_full(confirm.batch_id());
      } else {
        answers_.on_stored(confirm.batch_id());
      }
    }
  }

  DeadLetterAnswers& answers_;
  const std::unique_ptr<LinkTransport> transport_;
  NodeLink link_;
  std::vector<Frame> frames_;
  std::set<std::uint64_t> open_;  // batches that are not answered
};

DeadLetterLinks::DeadLetterLinks(Options options, const CatalogState& catalog,
                                 DeadLetterAnswers& answers, Connect connect, Random& random,
                                 Logger& log)
    : options_(std::move(options)),
      catalog_(catalog),
      answers_(answers),
      connect_(std::move(connect)),
      random_(random),
      log_(log),
      exchanges_(catalog) {}

DeadLetterLinks::~DeadLetterLinks() = default;

CatalogIndex DeadLetterLinks::route(std::string_view vhost, const v1::MessageHeader& header,
                                    std::vector<DeadLetterTarget>& targets) {
  targets.clear();
  // Compiled again after each change: a node routes dead letters only.
  if (std::exchange(compiled_at_, catalog_.index()) != catalog_.index()) exchanges_.clear();
  const v1::ExchangeDefinition* exchange = catalog_.find_exchange(vhost, header.exchange());
  if (exchange == nullptr) return compiled_at_;
  exchanges_.match(*exchange, {header.routing_key(), header.properties()}, queues_);
  for (const QueueId id : queues_) {
    const v1::QueueDefinition* queue = catalog_.find_queue(id);
    if (queue == nullptr) continue;
    targets.push_back({id, ShardId(static_cast<std::uint16_t>(queue->shard())), queue->name()});
  }
  return compiled_at_;
}

DeadLetterLinks::Peer* DeadLetterLinks::peer_of(ShardId shard) {
  const std::string& node = catalog_.node_of(shard);
  const auto known = peers_.find(node);
  if (known != peers_.end()) return known->second.get();
  const auto endpoint = options_.nodes.find(node);
  if (closed_ || endpoint == options_.nodes.end()) return nullptr;
  NodeLink::Options link = options_.link;
  link.node_id = node;
  link.endpoint = endpoint->second;
  auto peer = std::make_unique<Peer>(*this, std::move(link), connect_(endpoint->second));
  return (peers_[node] = std::move(peer)).get();
}

bool DeadLetterLinks::reachable(ShardId shard) {
  Peer* peer = peer_of(shard);
  return peer != nullptr && peer->link().is_up();
}

void DeadLetterLinks::publish(v1::ShardPublish publish, std::vector<SharedBytes> bodies,
                              CatalogIndex needs) {
  const ShardId shard(static_cast<std::uint16_t>(publish.shard()));
  peer_of(shard)->add(std::move(publish), std::move(bodies), needs);
}

bool DeadLetterLinks::poll(TimePoint now) {
  bool more = false;
  for (const auto& [id, peer] : peers_) more |= peer->link().poll(now);
  return more;
}

TimePoint DeadLetterLinks::next_timer() const {
  TimePoint next = TimePoint::max();
  for (const auto& [id, peer] : peers_) next = std::min(next, peer->link().next_timer());
  return next;
}

void DeadLetterLinks::flush(TimePoint now) {
  for (const auto& [id, peer] : peers_) peer->flush(now);
}

void DeadLetterLinks::close(TimePoint now) {
  closed_ = true;
  for (const auto& [id, peer] : peers_) peer->link().close(now);
}

}  // namespace segue::node
