#include "tests/conformance/model.h"

#include <algorithm>

namespace segue::conformance {
namespace {

Outcome failed(std::set<ErrorCode> errors) {
  return {std::move(errors), {}, {}};
}

const char* yes_or_no(bool truth) {
  return truth ? "yes" : "no";
}

/// How durable a message is in the queue when it is confirmed: the least of several counts.
std::string least_durability(const std::set<std::string>& names,
                             const std::map<std::string, ModelQueue>& queues) {
  bool interval = false;
  for (const std::string& name : names) {
    const ModelQueue& queue = queues.at(name);
    if (!queue.as.durable) return "transient";
    interval = interval || queue.number("x-durability");
  }
  return interval ? "interval" : "sync";
}

/// Arguments that cannot be changed in place.
Table fixed(const Table& arguments) {
  Table table;
  for (const auto& [name, value] : arguments) {
    if (!can_change(name)) table[name] = value;
  }
  return table;
}

}  // namespace

std::optional<Outcome> Model::apply(const Operation& operation) {
  events_.clear();
  delivered_.clear();
  ended_.clear();
  deleted_ = forwarded_ = lost_letters_ = left_open_ = false;
  auto outcome = std::visit([this](const auto& op) { return perform(op); }, operation);
  if (!outcome) return std::nullopt;
  put_in_force();
  settle_down();
  if (left_open_ || is_a_race()) return std::nullopt;
  return outcome;
}

bool Model::is_a_race() const {
  // A letter may come before or after a queue is gone.
  if (deleted_ && forwarded_) return true;
  // And before or after a policy is in force where it goes.
  if (alternates_changed_ && forwarded_) return true;
  for (const std::string& queue : changed_) {
    if (changed_.size() > 1 && events_.contains(queue) && events_.at(queue).arrived > 0)
      return true;
  }
  return std::any_of(events_.begin(), events_.end(), [](const auto& entry) {
    const Events& of = entry.second;
    const bool shows = of.delivered || of.died;
    return (of.arrived > 0 && of.sources.size() > 1) || (of.came_back > 1 && shows) ||
           (of.came_back > 0 && of.arrived > 0 && shows);
  });
}

Model::Numbers Model::numbers(const ModelQueue& queue) const {
  Numbers numbers;
  numbers.ready = queue.ready.size();
  numbers.letters = queue.letter_count();
  numbers.consumers = queue.consumers.size();
  numbers.delayed = queue.resting.size();
  numbers.ids = queue.window.size();
  for (const Handle& handle : handles_) {
    if (handle.queue_id == queue.id && handle.state == Handle::State::kOpen) ++numbers.unacked;
  }
  return numbers;
}

bool Model::has_dead_letter_exchanges() const {
  return std::any_of(queues_.begin(), queues_.end(), [](const auto& entry) {
    return entry.second.text("x-dead-letter-exchange").has_value();
  });
}

std::set<ErrorCode> Model::cannot_use(const std::string& queue, int session) const {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return {ErrorCode::kNotFound};
  if (found->second.as.exclusive && found->second.as.session != session) {
    return {ErrorCode::kResourceLocked};
  }
  return {};
}

std::optional<Outcome> Model::perform(const DeclareExchange& op) {
  return failed(topology_.declare(op));
}

std::optional<Outcome> Model::perform(const DeleteExchange& op) {
  return failed(topology_.remove(op));
}

std::optional<Outcome> Model::perform(const Bind& op) {
  std::set<ErrorCode> queue_errors;
  if (is_queue_name(op.to)) queue_errors = cannot_use(op.to, op.session);
  const bool locked = queue_errors.contains(ErrorCode::kResourceLocked);
  ModelTopology changed = topology_;
  std::set<ErrorCode> errors =
      op.unbind ? changed.unbind(op) : changed.bind(op, queues_.contains(op.to));
  if (locked) errors.insert(ErrorCode::kResourceLocked);
  if (errors.empty()) topology_ = changed;
  return failed(errors);
}

std::set<ErrorCode> Model::cannot_declare(const DeclareQueue& wanted) const {
  std::set<ErrorCode> errors;
  if (wanted.name.starts_with("amq.")) errors.insert(ErrorCode::kAccessRefused);
  if (!make_sense(wanted.arguments)) errors.insert(ErrorCode::kPreconditionFailed);
  const auto found = queues_.find(wanted.name);
  if (found == queues_.end()) {
    if (max_queues_ && queues_.size() >= *max_queues_) errors.insert(ErrorCode::kResourceError);
    return errors;
  }
  const DeclareQueue& is = found->second.as;
  if (is.exclusive && is.session != wanted.session) errors.insert(ErrorCode::kResourceLocked);
  const bool equal_arguments = wanted.update ? fixed(is.arguments) == fixed(wanted.arguments)
                                             : is.arguments == wanted.arguments;
  const bool equal = is.durable == wanted.durable && is.exclusive == wanted.exclusive &&
                     is.auto_delete == wanted.auto_delete && equal_arguments;
  if (!equal) errors.insert(ErrorCode::kPreconditionFailed);
  return errors;
}

std::optional<Outcome> Model::perform(const DeclareQueue& op) {
  if (auto errors = cannot_declare(op); !errors.empty()) return failed(std::move(errors));
  const auto [at, created] = queues_.try_emplace(op.name);
  ModelQueue& queue = at->second;
  Outcome outcome;
  outcome.facts["created"] = yes_or_no(created);
  const bool updated = !created && queue.as.arguments != op.arguments;
  outcome.facts["updated"] = yes_or_no(updated);
  if (created) {
    queue.as = op;
    queue.id = next_id_++;
  }
  queue.as.arguments = op.arguments;
  if (!updated) {
    outcome.facts["ready"] = std::to_string(queue.ready.size());
    outcome.facts["consumers"] = std::to_string(queue.consumers.size());
  }
  return outcome;
}

std::optional<Outcome> Model::perform(const DeleteQueue& op) {
  Outcome outcome;
  outcome.facts["messages"] = "0";
  const auto found = queues_.find(op.name);
  if (found == queues_.end()) return outcome;
  std::set<ErrorCode> errors = cannot_use(op.name, op.session);
  const Numbers is = numbers(found->second);
  const bool refused = (op.if_unused && is.consumers > 0) ||
                       (op.if_empty && is.ready + is.unacked + is.letters + is.delayed > 0);
  if (refused) errors.insert(ErrorCode::kPreconditionFailed);
  if (!errors.empty()) return failed(std::move(errors));
  outcome.facts["messages"] = std::to_string(is.ready);
  delete_queue(op.name);
  return outcome;
}

std::optional<Outcome> Model::perform(const Purge& op) {
  if (auto errors = cannot_use(op.queue, op.session); !errors.empty()) {
    return failed(std::move(errors));
  }
  ModelQueue& queue = queues_.at(op.queue);
  const Numbers is = numbers(queue);
  Outcome outcome;
  outcome.facts["purged"] =
      std::to_string(is.ready + (mistake_ == Mistake::kPurgeCountsUnacked ? is.unacked : 0));
  queue.ready.clear();
  if (mistake_ == Mistake::kDelayedCanBePurged) queue.resting.clear();
  return outcome;
}

std::optional<Outcome> Model::perform(const Publish& op) {
  published_.clear();
  for (int i = 0; i < op.count; ++i) {
    std::string body = "m" + std::to_string(++publish_count_);
    body.resize(std::max(body.size(), static_cast<std::size_t>(op.bytes)), '.');
    published_.push_back(std::move(body));
  }
  std::set<ErrorCode> errors;
  const auto id = op.headers.find("x-deduplication-id");
  if (id != op.headers.end() && id->second.as<std::string>() == nullptr) {
    errors.insert(ErrorCode::kPreconditionFailed);
  }
  if (!op.exchange.empty()) {
    const auto found = topology_.exchanges().find(op.exchange);
    if (found == topology_.exchanges().end()) {
      errors.insert(ErrorCode::kNotFound);
    } else if (found->second.internal) {
      errors.insert(ErrorCode::kAccessRefused);
    }
  }
  if (!errors.empty()) return failed(std::move(errors));
  Seen message;
  message.exchange = op.exchange;
  message.key = op.key;
  message.headers = op.headers;
  message.priority = op.priority;
  message.expiration = op.expiration;
  message.delay = op.delay;
  message.group = op.group;
  std::set<std::string> there;
  for (const auto& [name, queue] : queues_) there.insert(name);
  const auto targets = topology_.route(message, there);
  if (!targets) return std::nullopt;
  Outcome outcome;
  for (const std::string& body : published_) {
    message.body = body;
    outcome.facts[body.substr(0, body.find('.'))] =
        publish_one(op, *targets, message, body == published_.front());
  }
  return outcome;
}

std::string Model::publish_one(const Publish& op, const std::set<std::string>& targets,
                               const Seen& message, bool first) {
  if (targets.empty()) return op.mandatory ? "unroutable, returned" : "unroutable";
  std::string refused;
  for (const std::string& name : targets) {
    ModelQueue& queue = queues_.at(name);
    if (queue.remembers(op.headers) && mistake_ != Mistake::kRepeatsAreLetIn) continue;
    if (op.delay > 0) {
      queue.remember(op.headers);
      queue.resting.push_back(queue.arrived(message));
      queue.resting.back().due = op.delay < kRestsForever;
      continue;
    }
    if (queue.rejects() && !queue.has_room(message.body.size())) {
      refused += " " + name;
      // The first ones may have left before this one came, and have made room.
      if (!first && (next_consumer(queue) != nullptr || op.expiration == 0 ||
                     queue.number("x-message-ttl") == 0)) {
        left_open_ = true;
      }
      if (queue.buries()) die(queue, queue.arrived(message), "maxlen");
      continue;
    }
    queue.remember(op.headers);
    queue.append(message);
    events_[name].sources.insert("publish");
    ++events_[name].arrived;
  }
  if (!refused.empty()) return "overflow of" + refused;
  return "confirmed, " + least_durability(targets, queues_);
}

std::optional<Outcome> Model::perform(const Get& op) {
  if (auto errors = cannot_use(op.queue, op.session); !errors.empty()) {
    return failed(std::move(errors));
  }
  ModelQueue& queue = queues_.at(op.queue);
  const bool exclusive = std::any_of(queue.consumers.begin(), queue.consumers.end(),
                                     [](const auto& entry) { return entry.second.as.exclusive; });
  if (exclusive) return std::nullopt;
  queue.used = true;
  Outcome outcome;
  const auto next =
      std::find_if(queue.ready.begin(), queue.ready.end(), [&](const ModelMessage& message) {
        const Handle* holder = holder_of(queue, message);
        return holder == nullptr || (!holder->consumer && holder->session == op.session);
      });
  outcome.facts["found"] = yes_or_no(next != queue.ready.end());
  if (next == queue.ready.end()) return outcome;
  ModelMessage message = *next;
  queue.ready.erase(next);
  outcome.messages.push_back(message.seen);
  if (!op.no_ack) {
    handle_ = handles_.size();
    hold(queue, std::move(message), op.session);
  }
  return outcome;
}

std::optional<Outcome> Model::perform(const Consume& op) {
  for (const auto& [name, queue] : queues_) {
    if (queue.consumers.contains(op.consumer)) return std::nullopt;
  }
  if (auto errors = cannot_use(op.queue, op.session); !errors.empty()) {
    return failed(std::move(errors));
  }
  ModelQueue& queue = queues_.at(op.queue);
  const bool is_exclusive =
      std::any_of(queue.consumers.begin(), queue.consumers.end(),
                  [](const auto& entry) { return entry.second.as.exclusive; });
  if (is_exclusive || (op.exclusive && !queue.consumers.empty())) {
    return failed({ErrorCode::kAccessRefused});
  }
  queue.used = true;
  queue.consumers[op.consumer] = ModelConsumer{op, 0, 1, next_id_++};
  return Outcome{};
}

std::optional<Outcome> Model::perform(const Cancel& op) {
  for (auto& [name, queue] : queues_) {
    if (queue.consumers.erase(op.consumer) == 0) continue;
    if (queue.as.auto_delete && queue.consumers.empty()) delete_queue(std::string(name));
    return Outcome{};
  }
  return std::nullopt;
}

std::optional<Outcome> Model::perform(const Settle& op) {
  const auto wanted = op.again ? Handle::State::kSettled : Handle::State::kOpen;
  if (op.again && op.how != Settle::How::kAck) return std::nullopt;  // nobody is told
  int before = 0;
  std::size_t at = handles_.size();
  while (at > 0 && (handles_[at - 1].state != wanted || before++ < op.newest)) --at;
  if (at == 0) return std::nullopt;
  handle_ = at - 1;
  if (op.again) return failed({ErrorCode::kPreconditionFailed});
  Handle& handle = handles_[handle_];
  handle.state = Handle::State::kSettled;
  if (ModelConsumer* consumer = consumer_of(handle)) --consumer->unsettled;
  if (op.how == Settle::How::kReject) die(*queue_of(handle), handle.message, "rejected");
  if (op.how == Settle::How::kRequeue) give_back(handle, true);
  if (op.how == Settle::How::kRelease) give_back(handle, false);
  return Outcome{};
}

std::optional<Outcome> Model::perform(const Browse& op) {
  if (auto errors = cannot_use(op.queue, op.session); !errors.empty()) {
    return failed(std::move(errors));
  }
  ModelQueue all = queues_.at(op.queue);
  if (op.delayed) {
    Outcome outcome;
    for (const ModelMessage& message : all.resting) outcome.messages.push_back(message.seen);
    return outcome;
  }
  for (const Handle& handle : handles_) {
    if (handle.queue_id == all.id && handle.state == Handle::State::kOpen) all.put(handle.message);
  }
  Outcome outcome;
  for (const ModelMessage& message : all.ready) {
    // One whose time is over is not seen, although it is kept while somebody holds it.
    if (!all.expires_at_once(message)) outcome.messages.push_back(message.seen);
  }
  return outcome;
}

std::optional<Outcome> Model::perform(const CancelDelayed& op) {
  if (auto errors = cannot_use(op.queue, op.session); !errors.empty()) {
    return failed(std::move(errors));
  }
  std::vector<ModelMessage>& resting = queues_.at(op.queue).resting;
  if (static_cast<std::size_t>(op.newest) >= resting.size()) return std::nullopt;
  cancelled_ = resting.size() - 1 - static_cast<std::size_t>(op.newest);
  resting.erase(resting.begin() + static_cast<std::ptrdiff_t>(cancelled_));
  Outcome outcome;
  outcome.facts["cancelled"] = "1";
  return outcome;
}

std::optional<Outcome> Model::perform(const Reopen& op) {
  end_session(op.session);
  return Outcome{};
}

std::optional<Outcome> Model::perform(const Restart& op) {
  for (const auto& [name, queue] : queues_) {
    // Such a queue waits for a while whether its consumers come back.
    if (queue.as.auto_delete && !queue.consumers.empty()) return std::nullopt;
    if (!op.nodes) continue;
    for (const auto& [lane, letters] : queue.letters) {
      // A transient queue that has the letter of a durable one, and others do not yet.
      if (!letters.empty() && !letters.front().at.empty()) return std::nullopt;
    }
  }
  if (op.nodes) crash_nodes();
  for (const int session : {0, 1}) end_session(session);
  return Outcome{};
}

}  // namespace segue::conformance
