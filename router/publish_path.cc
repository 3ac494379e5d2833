#include "router/publish_path.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "common/counted.h"
#include "router/errors.h"
#include "router/property_checks.h"
#include "router/reply_to.h"

namespace segue::router {

namespace {

// A header's tables may be nested so deep: a consumer reads them inside four more messages, and
// protobuf's readers stop at 100.
constexpr int kMaxHeaderNesting = 64;
constexpr std::size_t kMaxHeaderBytes = 64 << 10;
// A mixed batch is cut where the lists of who gets which message become this long.
constexpr std::size_t kMaxListedTargets = 256 << 10;
// Headers and sizes of unanswered publishes may take this times the session's credit.
constexpr std::uint64_t kBatchBytesPerCredit = 4;

bool parse_header(std::string_view bytes, v1::MessageHeader& header) {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  input.SetRecursionLimit(kMaxHeaderNesting);
  return header.ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
}

std::uint32_t shard_count(const Route& route) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < route.targets.size(); ++i) {
    if (i == 0 || route.targets[i].shard != route.targets[i - 1].shard) ++count;
  }
  return count;
}

std::uint64_t message_cost(const MessageBatch& batch, std::uint32_t message) {
  return batch.body_size(message) + kMessageCost;
}

}  // namespace

PublishPath::PublishPath(const LimitsConfig& limits, Duration shard_timeout, CatalogView& catalog,
                         NodeTable& nodes, SessionTable& sessions, const Turn& turn, Logger& log)
    : limits_(limits),
      shard_timeout_ms_(static_cast<std::uint32_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(shard_timeout).count())),
      catalog_(catalog),
      sessions_(sessions),
      shards_(nodes, shard_timeout, turn, *this, log) {}

PublishLedger::Options PublishPath::ledger_options(const Session::Identity& identity) const {
  PublishLedger::Options options;
  options.session = identity.id;
  options.producer_id = identity.producer_id;
  options.producer_session = identity.producer_session;
  options.credit_bytes = limits_.publish_credit_bytes;
  options.max_unconfirmed = limits_.max_unconfirmed;
  options.max_batch_bytes = kBatchBytesPerCredit * limits_.publish_credit_bytes;
  return options;
}

// ---- taking in

void PublishPath::on_publish(Session& session, v1::RawPublish& publish, SharedBytes bodies) {
  const std::size_t body_bytes = bodies.size();
  auto batch = MessageBatch::parse(SharedBytes::from(std::move(*publish.mutable_batch())),
                                   std::move(bodies));
  if (!batch) return session.close(Code::kFrameError, batch.status().message());
  const std::uint32_t count = batch.value()->count();
  if (count > limits_.max_batch_messages) {
    return session.close(Code::kFrameError, "publish: a batch of " + counted(count, "message") +
                                                ", " + std::to_string(limits_.max_batch_messages) +
                                                " are allowed");
  }
  const std::uint64_t cost = body_bytes + kMessageCost * count;
  const Status admitted =
      session.ledger()->admit(publish.first_seq(), count, cost, batch.value()->serialized().size());
  if (!admitted) return session.close(admitted.code(), admitted.message());

  Incoming incoming{session, batch.value(), publish.first_seq(), publish.settled_below(), {}};
  if (!read_headers(incoming)) return;
  if (is_uniform(incoming)) {
    publish_uniform(incoming);
  } else {
    publish_mixed(incoming);
  }
  if (session.ledger()->has_answers()) list(session.ledger());
}

bool PublishPath::read_headers(Incoming& incoming) {
  const auto& headers = incoming.batch->distinct_headers();
  incoming.headers.resize(headers.size());
  std::vector<std::size_t> asking;  // for replies, by the pseudo queue's name
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (!parse_header(headers[i], parsed_header_)) {
      incoming.session.close(Code::kFrameError, "publish: header " + std::to_string(i) +
                                                    " of the batch is not a MessageHeader, or its "
                                                    "tables are nested too deep");
      return false;
    }
    Header& header = incoming.headers[i];
    header.mandatory = parsed_header_.mandatory();
    header.too_large = headers[i].size() > kMaxHeaderBytes;
    header.exchange = parsed_header_.exchange();
    header.bad_property = bad_property(parsed_header_.properties()).has_value();
    if (is_reply_to(parsed_header_.properties().reply_to())) asking.push_back(i);
    header.route = catalog_.route(incoming.session.identity().vhost, header.exchange,
                                  {parsed_header_.routing_key(), parsed_header_.properties()});
    // A queue that is known is there; what an exchange's bindings are, or that there is no queue,
    // is not known for sure.
    if (!catalog_.complete() && (!header.exchange.empty() || header.route->targets.empty())) {
      auto unknown = std::make_shared<Route>();
      unknown->status =
          catalog_.not_found("no route through exchange " + in_quotes(header.exchange));
      header.route = std::move(unknown);
      continue;
    }
    if (usage_ == nullptr || header.route->targets.empty()) continue;
    auto full = usage_->refusal(incoming.session.identity().vhost);
    if (full != nullptr) header.route = std::move(full);
  }
  return asking.empty() || name_reply_queue(incoming, asking);
}

// The headers ask for replies: they get the name of the session's own queue.
bool PublishPath::name_reply_queue(Incoming& incoming, const std::vector<std::size_t>& headers) {
  const std::string& name = incoming.session.reply_queue().name;
  if (name.empty()) {
    for (const std::size_t i : headers) incoming.headers[i].replies_nowhere = true;
    return true;
  }
  auto named = with_reply_to(*incoming.batch, headers, name);
  if (named) {
    incoming.batch = *std::move(named);
    return true;
  }
  incoming.session.close(named.status().code(), named.status().message());
  return false;
}

bool PublishPath::is_uniform(const Incoming& incoming) const {
  const Route& first = *incoming.headers[0].route;
  if (!first.status.is_ok() || first.targets.empty()) return false;
  for (const Header& header : incoming.headers) {
    if (header.too_large || header.bad_property || header.replies_nowhere ||
        header.route->targets != first.targets) {
      return false;
    }
  }
  const MessageBatch& batch = *incoming.batch;
  if (batch.bodies().size() <= limits_.max_message_bytes) return true;
  for (std::uint32_t i = 0; i < batch.count(); ++i) {
    if (batch.body_size(i) > limits_.max_message_bytes) return false;
  }
  return true;
}

void PublishPath::publish_uniform(Incoming& incoming) {
  const Route& route = *incoming.headers[0].route;
  std::shared_ptr<SplitBatch> split;
  if (!route.one_shard()) {
    const MessageBatch& batch = *incoming.batch;
    split = std::make_shared<SplitBatch>();
    split->first_seq = incoming.first_seq;
    split->unanswered.assign(batch.count(), static_cast<std::uint16_t>(shard_count(route)));
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      split->costs.push_back(static_cast<std::uint32_t>(message_cost(batch, i)));
    }
  }
  submit(incoming, split_uniform(route), split);
}

void PublishPath::publish_mixed(Incoming& incoming) {
  const std::uint32_t count = incoming.batch->count();
  std::shared_ptr<SplitBatch> split;
  std::vector<const Route*> routes;
  for (std::uint32_t begin = 0; begin < count;) {
    const std::uint32_t end = route_chunk(incoming, begin, routes);
    const bool several_shards = std::any_of(routes.begin(), routes.end(), [](const Route* route) {
      return route != nullptr && !route->one_shard();
    });
    if (several_shards && split == nullptr) {
      split = std::make_shared<SplitBatch>();
      split->first_seq = incoming.first_seq;
      split->unanswered.resize(count);
      split->costs.resize(count);
    }
    for (std::uint32_t i = begin; several_shards && i < end; ++i) {
      const Route* route = routes[i - begin];
      if (route == nullptr) continue;
      split->unanswered[i] = static_cast<std::uint16_t>(shard_count(*route));
      split->costs[i] = static_cast<std::uint32_t>(message_cost(*incoming.batch, i));
    }
    submit(incoming, split_by_shard(routes, begin, count), several_shards ? split : nullptr);
    begin = end;
  }
}

// Finds the routes of the messages from `begin`, and answers those that go nowhere. Returns where
// the next chunk begins.
std::uint32_t PublishPath::route_chunk(Incoming& incoming, std::uint32_t begin,
                                       std::vector<const Route*>& routes) {
  routes.clear();
  std::size_t listed = 0;
  std::uint32_t message = begin;
  for (; message < incoming.batch->count() && (listed < kMaxListedTargets); ++message) {
    if (answer_at_once(incoming, message)) {
      routes.push_back(nullptr);
      continue;
    }
    routes.push_back(incoming.header_of(message).route.get());
    listed += routes.back()->targets.size();
  }
  return message;
}

bool PublishPath::answer_at_once(Incoming& incoming, std::uint32_t message) {
  const Header& header = incoming.header_of(message);
  const std::uint64_t seq = incoming.first_seq + message;
  const std::uint64_t cost = message_cost(*incoming.batch, message);
  PublishLedger& ledger = *incoming.session.ledger();
  const std::uint32_t size = incoming.batch->body_size(message);
  if (size > limits_.max_message_bytes) {
    ledger.reject(seq, seq, cost,
                  make_error(Code::kContentTooLarge, header.exchange,
                             "the message has " + std::to_string(size) + " bytes, " +
                                 std::to_string(limits_.max_message_bytes) + " are allowed"),
                  {});
  } else if (header.too_large) {
    ledger.reject(seq, seq, cost,
                  make_error(Code::kContentTooLarge, header.exchange,
                             "the message's header has more than " +
                                 std::to_string(kMaxHeaderBytes) + " bytes"),
                  {});
  } else if (!header.route->status.is_ok()) {
    const Status& status = header.route->status;
    ledger.reject(seq, seq, cost, make_error(status.code(), header.exchange, status.message()), {});
  } else if (header.bad_property) {
    reject_property(incoming, message);
  } else if (header.replies_nowhere) {
    reject_reply_to(incoming, message);
  } else if (header.route->targets.empty()) {
    if (header.mandatory) send_return(incoming, message);
    ledger.confirm_unroutable(seq, cost);
  } else {
    return false;
  }
  return true;
}

void PublishPath::reject_property(Incoming& incoming, std::uint32_t message) {
  // read_headers() has parsed it before.
  v1::MessageHeader header;
  parse_header(incoming.batch->header(message), header);
  const std::uint64_t seq = incoming.first_seq + message;
  incoming.session.ledger()->reject(seq, seq, message_cost(*incoming.batch, message),
                                    *bad_property(header.properties()), {});
}

void PublishPath::reject_reply_to(Incoming& incoming, std::uint32_t message) {
  const std::uint64_t seq = incoming.first_seq + message;
  incoming.session.ledger()->reject(
      seq, seq, message_cost(*incoming.batch, message),
      make_error(Code::kPreconditionFailed, "reply_to",
                 "the message asks for a reply, and the session does not consume replies: begin to "
                 "consume from amq.reply-to first (after a reconnect, again)"),
      {});
}

void PublishPath::send_return(Incoming& incoming, std::uint32_t message) {
  v1::RouterFrame frame;
  v1::Return& returned = *frame.mutable_return_message();
  returned.set_seq(incoming.first_seq + message);
  // read_headers() has parsed it before.
  parse_header(incoming.batch->header(message), *returned.mutable_header());
  *returned.mutable_error() =
      make_error(Code::kNoRoute, returned.header().exchange(),
                 "no queue is bound to exchange " + in_quotes(returned.header().exchange()) +
                     " for routing key " + in_quotes(returned.header().routing_key()));
  incoming.session.send(frame, {incoming.batch->body_run(message, 1)}, true);
}

void PublishPath::submit(Incoming& incoming, std::vector<ShardPart> parts,
                         const std::shared_ptr<SplitBatch>& split) {
  const std::shared_ptr<PublishLedger>& ledger = incoming.session.ledger();
  for (ShardPart& part : parts) {
    auto publish = std::make_unique<PendingPublish>();
    PartBatch batch = batch_of(part, incoming.batch);
    v1::ShardPublish& wire = publish->wire;
    wire.set_shard(part.shard.value);
    wire.set_producer_id(ledger->options().producer_id);
    wire.set_producer_session(ledger->options().producer_session);
    wire.set_settled_below(incoming.settled_below);
    wire.set_body_bytes(batch.bodies.size());
    wire.set_batch(std::move(batch.batch));
    for (v1::QueueTarget& target : part.targets) *wire.add_targets() = std::move(target);
    publish->count = part.places.empty() ? incoming.batch->count()
                                         : static_cast<std::uint32_t>(part.places.size());
    wire.set_first_seq(incoming.first_seq + (part.places.empty() ? 0 : part.places.front()));
    const bool has_holes =
        !part.places.empty() && part.places.back() - part.places.front() + 1 != publish->count;
    for (std::size_t i = 0; has_holes && i < part.places.size(); ++i) {
      wire.add_seqs(incoming.first_seq + part.places[i]);
    }
    publish->bodies = std::move(batch.bodies);
    publish->needs = part.needs;
    publish->ledger = ledger;
    publish->cost = publish->bodies.size() + kMessageCost * publish->count;
    publish->held_bytes = wire.batch().size() + part.places.size() * sizeof(part.places[0]);
    publish->split = split;
    publish->places = std::move(part.places);
    ledger->hold_batch_bytes(publish->held_bytes);
    shards_.submit(std::move(publish), catalog_.state().node_of(part.shard));
  }
}

// ---- answers

void PublishPath::on_confirms(Node& node, const v1::ShardConfirms& confirms) {
  for (const v1::ShardConfirm& confirm : confirms.confirms()) shards_.on_confirm(node, confirm);
}

/// By place in the publish's batch.
class PublishPath::Refusals {
 public:
  struct Refusal {
    const v1::Error* error = nullptr;
    std::vector<std::string> queues;
  };

  /// All of the messages.
  Refusals(const PublishPath& path, const PendingPublish& publish, const v1::Error& error)
      : path_(path), publish_(publish), all_(&error) {}
  /// Those that the confirm names.
  Refusals(const PublishPath& path, const PendingPublish& publish, const v1::ShardConfirm& confirm)
      : path_(path), publish_(publish) {
    for (const v1::QueueRefusal& refusal : confirm.refusals()) {
      const std::string name = path.catalog_.queue_name(QueueId(refusal.queue_id()));
      for (const std::uint32_t message : refusal.messages()) {
        Refusal& refused = some_[message];
        if (refused.error == nullptr) refused.error = &refusal.error();
        refused.queues.push_back(name);
      }
    }
  }

  bool empty() const { return all_ == nullptr && some_.empty(); }
  /// Nothing if the message was taken.
  std::optional<Refusal> of(std::uint32_t message) const {
    if (all_ != nullptr) return Refusal{all_, path_.queues_of(publish_, message)};
    const auto found = some_.find(message);
    return found == some_.end() ? std::nullopt : std::optional<Refusal>(found->second);
  }

 private:
  const PublishPath& path_;
  const PendingPublish& publish_;
  const v1::Error* const all_ = nullptr;
  std::map<std::uint32_t, Refusal> some_;
};

void PublishPath::on_stored(const PendingPublish& publish, const v1::ShardConfirm& confirm) {
  PublishLedger& ledger = *publish.ledger;
  ledger.release_batch_bytes(publish.held_bytes);
  if (ledger.closed()) return;
  const Refusals refusals(*this, publish, confirm);
  if (publish.split != nullptr) {
    answer_split(publish, refusals, confirm.durability());
  } else if (publish.wire.seqs().empty() && refusals.empty()) {
    const std::uint64_t first = publish.wire.first_seq();
    ledger.confirm(first, first + publish.count - 1, publish.cost, confirm.durability());
  } else {
    answer_each(publish, refusals, confirm.durability());
  }
  list(publish.ledger);
}

void PublishPath::answer_each(const PendingPublish& publish, const Refusals& refusals,
                              v1::Durability durability) {
  PublishLedger& ledger = *publish.ledger;
  std::uint64_t cost = publish.cost;
  for (std::uint32_t i = 0; i < publish.count; ++i) {
    const std::uint64_t seq = publish.seq(i);
    if (const auto refusal = refusals.of(i)) {
      ledger.reject(seq, seq, cost, *refusal->error, refusal->queues);
    } else {
      ledger.confirm(seq, seq, cost, durability);
    }
    cost = 0;
  }
}

void PublishPath::on_refused(const PendingPublish& publish, const v1::Error& error) {
  PublishLedger& ledger = *publish.ledger;
  ledger.release_batch_bytes(publish.held_bytes);
  if (ledger.closed()) return;
  if (error.code() == static_cast<std::uint32_t>(Code::kStaleEpoch)) {
    if (Session* session = sessions_.find(ledger.options().session)) {
      session->close(Code::kStaleEpoch,
                     "a newer session of the same producer id has published: " + error.text());
    }
    return;
  }
  const Refusals refusals(*this, publish, error);
  if (publish.split != nullptr) {
    answer_split(publish, refusals, v1::DURABILITY_UNSPECIFIED);
  } else {
    answer_each(publish, refusals, v1::DURABILITY_UNSPECIFIED);
  }
  list(publish.ledger);
}

void PublishPath::answer_split(const PendingPublish& publish, const Refusals& refusals,
                               v1::Durability durability) {
  SplitBatch& split = *publish.split;
  for (std::uint32_t i = 0; i < publish.count; ++i) {
    const std::uint32_t place = publish.places.empty() ? i : publish.places[i];
    if (auto refused_here = refusals.of(i)) {
      SplitBatch::Refusal& refusal = split.refused[place];
      if (refusal.queues.empty()) refusal.error = *refused_here->error;
      for (std::string& queue : refused_here->queues) refusal.queues.push_back(std::move(queue));
    }
    split.durability = std::max(split.durability, durability);
    if (--split.unanswered[place] > 0) continue;
    const std::uint64_t seq = split.first_seq + place;
    const auto refused = split.refused.find(place);
    if (refused == split.refused.end()) {
      publish.ledger->confirm(seq, seq, split.costs[place], split.durability);
    } else {
      publish.ledger->reject(seq, seq, split.costs[place], refused->second.error,
                             refused->second.queues);
      split.refused.erase(refused);
    }
  }
}

std::vector<std::string> PublishPath::queues_of(const PendingPublish& publish,
                                                std::uint32_t message) const {
  std::vector<std::string> queues;
  for (const v1::QueueTarget& target : publish.wire.targets()) {
    const auto& messages = target.messages();
    if (messages.empty() || std::binary_search(messages.begin(), messages.end(), message)) {
      queues.push_back(catalog_.queue_name(QueueId(target.queue_id())));
    }
  }
  return queues;
}

void PublishPath::on_waiting(SessionId session, ShardId shard, const std::string& reason) {
  notices_.push_back({session, shard, true, reason});
}

void PublishPath::on_resumed(SessionId session, ShardId shard) {
  notices_.push_back({session, shard, false, {}});
}

// ---- towards sessions

void PublishPath::list(const std::shared_ptr<PublishLedger>& ledger) {
  if (ledger->listed) return;
  ledger->listed = true;
  with_answers_.push_back(ledger);
}

void PublishPath::flush(Session& session) {
  PublishLedger& ledger = *session.ledger();
  if (!ledger.has_answers()) return;
  v1::RouterFrame frame;
  ledger.take_answers(*frame.mutable_confirm());
  if (session.ended()) {
    session.send_before_close(frame);
  } else {
    session.send(frame);
  }
}

void PublishPath::end_session(Session& session) {
  session.ledger()->close();
  shards_.forget(*session.ledger());
}

void PublishPath::end_turn() {
  send_notices();
  for (const std::shared_ptr<PublishLedger>& ledger : with_answers_) {
    ledger->listed = false;
    if (ledger->closed()) continue;
    if (Session* session = sessions_.find(ledger->options().session)) flush(*session);
  }
  with_answers_.clear();
}

void PublishPath::send_notices() {
  for (std::size_t i = 0; i < notices_.size();) {
    const Notice& first = notices_[i];
    v1::RouterFrame frame;
    auto* shards = first.waiting ? frame.mutable_blocked()->mutable_shards()
                                 : frame.mutable_unblocked()->mutable_shards();
    if (first.waiting) {
      frame.mutable_blocked()->set_reason(first.reason);
      frame.mutable_blocked()->set_timeout_ms(shard_timeout_ms_);
    }
    for (; i < notices_.size(); ++i) {
      const Notice& next = notices_[i];
      if (next.session != first.session || next.waiting != first.waiting ||
          next.reason != first.reason) {
        break;
      }
      shards->Add(next.shard.value);
    }
    if (Session* session = sessions_.find(first.session)) session->send(frame);
  }
  notices_.clear();
}

std::uint64_t PublishPath::unconfirmed() const {
  std::uint64_t count = 0;
  sessions_.for_each([&](Session& session) { count += session.ledger()->unconfirmed(); });
  return count;
}

}  // namespace segue::router
