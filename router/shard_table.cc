#include "router/shard_table.h"

#include <algorithm>
#include <utility>

#include "router/errors.h"

namespace segue::router {

namespace {

// A batch id is a rising number with the shard below.
constexpr int kShardBits = 12;
static_assert(kMaxShards <= (1 << kShardBits));

constexpr Duration kFirstBackoff = std::chrono::milliseconds(50);
constexpr Duration kLongestBackoff = std::chrono::seconds(1);

// The node may take the same publish later.
bool is_passing(const v1::Error& error) {
  return error.code() == static_cast<std::uint32_t>(Code::kShardBlocked) ||
         error.code() == static_cast<std::uint32_t>(Code::kShardUnavailable);
}

}  // namespace

ShardTable::ShardTable(NodeTable& nodes, Duration timeout, const Turn& turn, Listener& listener,
                       Logger& log)
    : nodes_(nodes), timeout_(timeout), turn_(turn), listener_(listener), log_(log) {}

ShardTable::Peer& ShardTable::peer_of(Node& node) {
  Peer& peer = peers_[&node];
  peer.node = &node;
  return peer;
}

ShardTable::Line& ShardTable::line_of(ShardId shard, const std::string& node_id) {
  const auto [found, added] = lines_.try_emplace(shard);
  Line& line = found->second;
  if (added || (line.pending.empty() && line.node_id != node_id)) {
    line.shard = shard;
    line.node_id = node_id;
    Node* node = nodes_.find(node_id);
    line.peer = node == nullptr ? nullptr : &peer_of(*node);
    line.unavailable_since = turn_.now;
  }
  return line;
}

std::string ShardTable::unavailable_reason(const Line& line) const {
  if (line.peer == nullptr) {
    return "node " + in_quotes(line.node_id) + " is not in this router's configuration";
  }
  const Node& node = *line.peer->node;
  if (!node.up) return node.unreachable();
  if (!line.peer->blocked_reason.empty()) {
    return "node " + node.id + " takes no publishes: " + line.peer->blocked_reason;
  }
  return line.held ? line.held_reason : std::string();
}

std::string ShardTable::unavailable_reason(ShardId shard, Node* node) const {
  const auto line = lines_.find(shard);
  if (line != lines_.end()) return unavailable_reason(line->second);
  if (node == nullptr) return "its node is not in this router's configuration";
  if (!node->up) return node->unreachable();
  return node->state.blocked_reason();
}

bool ShardTable::available(const Line& line) const {
  return line.peer != nullptr && line.peer->node->up && line.peer->blocked_reason.empty() &&
         !line.held;
}

bool ShardTable::lasting(const Line& line) const {
  return line.peer != nullptr && line.peer->node->up && line.peer->node->state.refuses_publishes();
}

bool ShardTable::has_room(const Peer& peer, std::uint64_t cost) const {
  // A batch larger than the whole window goes alone.
  return peer.in_flight_bytes == 0 || peer.in_flight_bytes + cost <= peer.window_bytes;
}

std::size_t ShardTable::pending() const {
  std::size_t count = 0;
  for (const auto& [shard, line] : lines_) count += line.pending.size();
  return count;
}

// ---- sending

void ShardTable::submit(std::unique_ptr<PendingPublish> publish, const std::string& node_id) {
  Line& line = line_of(publish->shard(), node_id);
  const std::uint64_t batch_id = next_number_++ << kShardBits | line.shard.value;
  publish->wire.set_batch_id(batch_id);
  publish->arrived = turn_.now;
  if (lasting(line)) {
    listener_.on_refused(*publish, refusal(line, *publish));
    return;
  }
  ++publish->ledger->pending;
  PendingPublish& added = *publish;
  line.pending.emplace_hint(line.pending.end(), batch_id, std::move(publish));
  mark_unsent(line, added);
  if (available(line)) {
    run(line);
  } else {
    tell_waiting(line, added, unavailable_reason(line));
  }
}

void ShardTable::mark_unsent(Line& line, PendingPublish& publish) {
  publish.sent = false;
  const std::uint64_t batch_id = publish.wire.batch_id();
  line.next_unsent = line.unsent == 0 ? batch_id : std::min(line.next_unsent, batch_id);
  ++line.unsent;
}

void ShardTable::run(Line& line) {
  if (line.unsent == 0) return;
  if (!line.runnable) {
    line.runnable = true;
    line.peer->runnable.push_back(&line);
  }
  pump(*line.peer);
}

void ShardTable::pump(Peer& peer) {
  // Shards take turns, so that a long queue of one does not hold up the others.
  while (!peer.runnable.empty()) {
    Line& line = *peer.runnable.front();
    if (line.unsent == 0 || !available(line)) {
      line.runnable = false;
      peer.runnable.pop_front();
      continue;
    }
    PendingPublish& next = *line.pending.find(line.next_unsent)->second;
    if (!has_room(peer, next.cost)) return;
    peer.runnable.pop_front();
    send(line, next);
    if (line.unsent > 0) {
      peer.runnable.push_back(&line);
    } else {
      line.runnable = false;
    }
  }
}

void ShardTable::send(Line& line, PendingPublish& publish) {
  publish.sent = true;
  ++line.in_flight;
  ++in_flight_;
  line.peer->in_flight_bytes += publish.cost;
  --line.unsent;
  const auto next = std::next(line.pending.find(publish.wire.batch_id()));
  line.next_unsent = next == line.pending.end() ? 0 : next->first;
  publish.wire.set_resumes(std::exchange(line.resumes, false));
  line.peer->node->outbox.publish(publish.wire, publish.bodies, publish.needs);
}

// ---- answers

void ShardTable::on_confirm(Node& node, const v1::ShardConfirm& confirm) {
  const ShardId shard(static_cast<std::uint16_t>(confirm.batch_id() & ((1 << kShardBits) - 1)));
  const auto known = lines_.find(shard);
  if (known == lines_.end()) return;
  Line& line = known->second;
  const auto found = line.pending.find(confirm.batch_id());
  if (found == line.pending.end() || !found->second->sent || line.peer == nullptr ||
      line.peer->node != &node) {
    return;
  }
  if (confirm.has_error()) {
    on_refusal(line, found, confirm);
  } else {
    if (line.held) refuse_overtaken(line, *found->second);
    line.backoff = kFirstBackoff;
    listener_.on_stored(*found->second, confirm);
    answered(line, found);
  }
  if (line.held) try_again(line);
  pump(*line.peer);
}

void ShardTable::on_refusal(Line& line, Pending::iterator found, const v1::ShardConfirm& confirm) {
  const v1::Error& error = confirm.error();
  const bool passing = is_passing(error);
  if (passing) hold(line, error);
  if (passing && !confirm.refused() && !found->second->ledger->closed()) {
    keep_refused(line, *found->second);
  } else {
    listener_.on_refused(*found->second, error);
    answered(line, found);
  }
}

void ShardTable::answered(Line& line, Pending::iterator found) {
  PendingPublish& publish = *found->second;
  --line.in_flight;
  --in_flight_;
  line.peer->in_flight_bytes -= publish.cost;
  --publish.ledger->pending;
  line.pending.erase(found);
}

// The node refuses everything behind a refused one, until it is told that this is known.
void ShardTable::hold(Line& line, const v1::Error& error) {
  if (line.held) return;
  if (available(line)) line.unavailable_since = turn_.now;
  line.held = true;
  line.held_reason = "node " + line.node_id + ": " + error.text();
  line.backoff = std::clamp(line.backoff, kFirstBackoff, kLongestBackoff);
  line.retry_at = turn_.now + line.backoff;
  line.backoff *= 2;
  tell_waiting(line);
}

void ShardTable::keep_refused(Line& line, PendingPublish& publish) {
  --line.in_flight;
  --in_flight_;
  line.peer->in_flight_bytes -= publish.cost;
  publish.sent_before = true;
  mark_unsent(line, publish);
  tell_waiting(line, publish, line.held_reason);
}

void ShardTable::refuse_overtaken(Line& line, const PendingPublish& stored) {
  for (auto earlier = line.pending.begin();
       earlier != line.pending.end() && earlier->first < stored.wire.batch_id();) {
    const PendingPublish& publish = *earlier->second;
    if (publish.sent || publish.ledger != stored.ledger) {
      ++earlier;
      continue;
    }
    listener_.on_refused(publish, refusal(line, publish));
    earlier = remove_unsent(line, earlier);
  }
}

ShardTable::Pending::iterator ShardTable::remove_unsent(Line& line, Pending::iterator found) {
  --line.unsent;
  --found->second->ledger->pending;
  const bool was_next = found->first == line.next_unsent;
  auto next = line.pending.erase(found);
  if (was_next) {
    auto unsent = next;
    while (unsent != line.pending.end() && unsent->second->sent) ++unsent;
    line.next_unsent = unsent == line.pending.end() ? 0 : unsent->first;
  }
  return next;
}

void ShardTable::try_again(Line& line) {
  // What was sent after the refused one is answered first; then the order is ours again.
  if (line.in_flight > 0 || turn_.now < line.retry_at) return;
  line.held = false;
  line.held_reason.clear();
  line.resumes = true;
  if (available(line)) resume(line);
}

v1::Error ShardTable::refusal(const Line& line, const PendingPublish& publish) const {
  const bool reachable = line.peer != nullptr && line.peer->node->up;
  std::string text = "shard " + std::to_string(line.shard.value) + ": " + unavailable_reason(line);
  if (!reachable && publish.sent_before) {
    text += "; it was on the way when the node went away and may have been stored";
  }
  return make_error(reachable ? Code::kShardBlocked : Code::kShardUnavailable, "", std::move(text));
}

// ---- nodes

void ShardTable::on_node_up(Node& node) {
  Peer& peer = peer_of(node);
  peer.window_bytes = node.hello.publish_window_bytes();
  peer.in_flight_bytes = 0;
  peer.blocked_reason = node.state.blocked_reason();
  for (auto& [shard, line] : lines_) {
    if (line.peer != &peer) continue;
    if (peer.blocked_reason.empty()) {
      resume(line);
    } else if (lasting(line)) {
      refuse_unsent(line, Duration::zero());
    }
  }
}

void ShardTable::on_node_down(Node& node) {
  Peer& peer = peer_of(node);
  peer.in_flight_bytes = 0;
  for (Line* line : peer.runnable) line->runnable = false;
  peer.runnable.clear();
  for (auto& [shard, line] : lines_) {
    if (line.peer != &peer) continue;
    in_flight_ -= line.in_flight;
    line.in_flight = 0;
    line.held = false;
    line.resumes = false;
    for (auto publish = line.pending.begin(); publish != line.pending.end();) {
      if (publish->second->sent) {
        publish->second->sent_before = true;
        mark_unsent(line, *publish->second);
      }
      const bool nobody_waits = publish->second->ledger->closed();
      publish = nobody_waits ? remove_unsent(line, publish) : std::next(publish);
    }
    became_unavailable(line);
  }
}

void ShardTable::on_node_state(Node& node) {
  Peer& peer = peer_of(node);
  const bool was_blocked = !peer.blocked_reason.empty();
  const bool is_blocked = !node.state.blocked_reason().empty();
  peer.blocked_reason = node.state.blocked_reason();
  if (was_blocked == is_blocked && !is_blocked) return;
  if (was_blocked != is_blocked) {
    log_.warn(is_blocked ? "node_blocked" : "node_unblocked",
              {{"node", node.id}, {"reason", peer.blocked_reason}});
  }
  for (auto& [shard, line] : lines_) {
    if (line.peer != &peer) continue;
    if (!is_blocked) {
      if (line.held) {
        try_again(line);
      } else {
        resume(line);
      }
    } else if (!was_blocked) {
      became_unavailable(line);
    } else if (lasting(line)) {
      refuse_unsent(line, Duration::zero());
    }
  }
}

void ShardTable::became_unavailable(Line& line) {
  line.unavailable_since = turn_.now;
  if (lasting(line)) {
    refuse_unsent(line, Duration::zero());
  } else {
    tell_waiting(line);
  }
}

void ShardTable::tell_waiting(Line& line) {
  if (line.unsent == 0) return;
  const std::string reason = unavailable_reason(line);
  for (const auto& [batch_id, publish] : line.pending) {
    if (!publish->sent) tell_waiting(line, *publish, reason);
  }
}

void ShardTable::tell_waiting(Line& line, const PendingPublish& publish,
                              const std::string& reason) {
  const SessionId session = publish.ledger->options().session;
  if (line.told.insert(session).second) listener_.on_waiting(session, line.shard, reason);
}

void ShardTable::resume(Line& line) {
  for (const SessionId session : line.told) listener_.on_resumed(session, line.shard);
  line.told.clear();
  run(line);
}

void ShardTable::forget(PublishLedger& ledger) {
  for (auto& [shard, line] : lines_) {
    line.told.erase(ledger.options().session);
    if (ledger.pending == 0) continue;
    for (auto publish = line.pending.begin(); publish != line.pending.end();) {
      const bool drop = !publish->second->sent && publish->second->ledger.get() == &ledger;
      publish = drop ? remove_unsent(line, publish) : std::next(publish);
    }
  }
}

void ShardTable::refuse_unsent(Line& line, Duration waited) {
  for (auto publish = line.pending.begin(); publish != line.pending.end();) {
    if (publish->second->sent) {
      ++publish;
      continue;
    }
    const TimePoint since = std::max(publish->second->arrived, line.unavailable_since);
    if (turn_.now - since < waited) return;
    listener_.on_refused(*publish->second, refusal(line, *publish->second));
    publish = remove_unsent(line, publish);
  }
}

void ShardTable::on_tick() {
  for (auto& [shard, line] : lines_) {
    if (line.held) try_again(line);
    if (line.unsent > 0 && !available(line)) refuse_unsent(line, timeout_);
  }
}

}  // namespace segue::router
