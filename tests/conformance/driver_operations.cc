// The operations of programs, through the client library.

#include <future>
#include <utility>
#include <vector>

#include "tests/conformance/driver.h"

namespace segue::conformance {
namespace {

constexpr std::chrono::milliseconds kLong{30'000};

template <typename R>
Outcome failure(const R& result) {
  return {{result.error().code}, {}, {}};
}

template <typename R>
Outcome success_of(const R& result) {
  return result ? Outcome{} : failure(result);
}

const char* yes_or_no(bool truth) {
  return truth ? "yes" : "no";
}

std::string name_of(client::Durability durability) {
  switch (durability) {
    case client::Durability::kSync:
      return "sync";
    case client::Durability::kInterval:
      return "interval";
    case client::Durability::kTransient:
      return "transient";
    case client::Durability::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

Outcome Driver::perform(const DeclareExchange& op) {
  declared_.insert(op.name);
  client::ExchangeOptions options;
  options.type = op.type;
  options.durable = op.durable;
  options.auto_delete = op.auto_delete;
  options.internal = op.internal;
  options.arguments = names_.there(op.arguments);
  return success_of(admin(op.session).declare_exchange(names_.there(op.name), options));
}

Outcome Driver::perform(const DeleteExchange& op) {
  return success_of(admin(op.session).delete_exchange(names_.there(op.name), op.if_unused));
}

Outcome Driver::perform(const DeclareQueue& op) {
  declared_.insert(op.name);
  client::QueueOptions options;
  options.durable = op.durable;
  options.exclusive = op.exclusive;
  options.auto_delete = op.auto_delete;
  options.update = op.update;
  options.arguments = names_.there(op.arguments);
  const auto declared = admin(op.session).declare_queue(names_.there(op.name), options);
  if (!declared) return failure(declared);
  Outcome outcome;
  outcome.facts["created"] = yes_or_no(declared->created);
  outcome.facts["updated"] = yes_or_no(declared->updated);
  if (!declared->updated) {
    outcome.facts["ready"] = std::to_string(declared->ready);
    outcome.facts["consumers"] = std::to_string(declared->consumers);
  }
  return outcome;
}

Outcome Driver::perform(const DeleteQueue& op) {
  const auto deleted =
      admin(op.session).delete_queue(names_.there(op.name), {op.if_unused, op.if_empty});
  if (!deleted) return failure(deleted);
  return {{}, {{"messages", std::to_string(*deleted)}}, {}};
}

Outcome Driver::perform(const Purge& op) {
  const auto purged = admin(op.session).purge_queue(names_.there(op.queue));
  if (!purged) return failure(purged);
  return {{}, {{"purged", std::to_string(*purged)}}, {}};
}

Outcome Driver::perform(const Bind& op) {
  client::Binding binding;
  binding.exchange = names_.there(op.exchange);
  (is_queue_name(op.to) ? binding.queue : binding.to_exchange) = names_.there(op.to);
  binding.routing_key = names_.there(op.key);
  binding.arguments = op.arguments;
  return success_of(op.unbind ? admin(op.session).unbind(binding)
                              : admin(op.session).bind(binding));
}

Outcome Driver::perform(const Publish& op) {
  client::Publisher& publisher = connection(op.session).publisher();
  Told& told = *sessions_.at(static_cast<std::size_t>(op.session)).told;
  const std::uint64_t first = publisher.next_seq();
  std::vector<std::future<client::Result<client::Confirmation>>> fates;
  const auto bodies = model_.published();
  for (const std::string& body : bodies) {
    auto message =
        client::Message::to_exchange(names_.there(op.exchange), names_.there(op.key), body);
    message.header.mandatory = op.mandatory;
    message.header.properties.headers = op.headers;
    message.header.properties.priority = static_cast<std::uint32_t>(op.priority);
    message.header.properties.delay = std::chrono::milliseconds(op.delay);
    message.header.properties.group_id = op.group;
    if (op.expiration) {
      message.header.properties.expiration = std::chrono::milliseconds(*op.expiration);
    }
    fates.push_back(publisher.publish_confirmed(std::move(message)));
  }
  Outcome outcome;
  for (std::size_t i = 0; i < fates.size(); ++i) {
    const auto fate = fates[i].get();
    const std::uint64_t seq = first + i;
    std::string& text = outcome.facts[bodies[i].substr(0, bodies[i].find('.'))];
    if (!fate && fate.error().code != ErrorCode::kQueueFull) return failure(fate);
    if (!fate) {
      text = told.wait_for(seq, kLong) ? "overflow of" : "not told of";
      for (const std::string& queue : told.refusing(seq)) text += " " + names_.here(queue);
    } else if (fate->unroutable) {
      text = told.is_returned(seq) ? "unroutable, returned" : "unroutable";
    } else {
      text = "confirmed, " + name_of(fate->durability);
    }
  }
  return outcome;
}

Outcome Driver::perform(const Get& op) {
  const auto got = connection(op.session).get(names_.there(op.queue), op.no_ack);
  if (!got) return failure(got);
  Outcome outcome;
  outcome.facts["found"] = yes_or_no(got->has_value());
  if (!*got) return outcome;
  outcome.messages.push_back(names_.seen(**got));
  if (!op.no_ack) got_ = **got;
  return outcome;
}

Outcome Driver::perform(const Consume& op) {
  client::ConsumerOptions options;
  options.prefetch = static_cast<std::uint32_t>(op.prefetch);
  options.no_ack = op.no_ack;
  options.exclusive = op.exclusive;
  options.priority = op.priority;
  auto consumer = connection(op.session).subscribe(names_.there(op.queue), options);
  if (!consumer) return failure(consumer);
  consumers_.insert_or_assign(op.consumer, *std::move(consumer));
  session_of_[op.consumer] = op.session;
  return {};
}

Outcome Driver::perform(const Cancel& op) {
  consumers_.at(op.consumer).close();
  consumers_.erase(op.consumer);
  return {};
}

Outcome Driver::perform(const Settle& op) {
  const std::optional<client::Delivery>& delivery = deliveries_.at(model_.handle());
  if (!delivery) return {{ErrorCode::kInternalError}, {}, {}};
  switch (op.how) {
    case Settle::How::kAck:
      return success_of(delivery->ack_confirmed().get());
    case Settle::How::kReject:
      delivery->reject();
      break;
    case Settle::How::kRequeue:
      delivery->requeue();
      break;
    case Settle::How::kRelease:
      delivery->release();
      break;
  }
  return {};
}

Outcome Driver::perform(const Browse& op) {
  Outcome outcome;
  client::Admin::BrowsePage page;
  do {
    auto next = op.delayed ? admin(op.session).browse_delayed(names_.there(op.queue), page.through)
                           : admin(op.session).browse(names_.there(op.queue), page.through);
    if (!next) return failure(next);
    page = *std::move(next);
    for (const client::Message& message : page.messages) {
      outcome.messages.push_back(names_.seen(message.header, message.body));
    }
  } while (page.more);
  return outcome;
}

Outcome Driver::perform(const CancelDelayed& op) {
  const std::string queue = names_.there(op.queue);
  // A page with one message tells its place.
  std::uint64_t place = 0;
  for (std::size_t i = 0; i <= model_.cancelled();) {
    const auto page = admin(op.session).browse_delayed(queue, place, 1);
    if (!page) return failure(page);
    place = page->through;
    i += page->messages.size();
    if (!page->more && i <= model_.cancelled()) return {{}, {{"cancelled", "not found"}}, {}};
  }
  const auto cancelled = admin(op.session).cancel_delayed(queue, {{place, place}});
  if (!cancelled) return failure(cancelled);
  return {{}, {{"cancelled", std::to_string(*cancelled)}}, {}};
}

Outcome Driver::perform(const SetPolicy& op) {
  policies_.insert(op.name);
  client::PolicyDescription policy;
  policy.name = names_.prefix() + op.name;
  policy.pattern = names_.pattern_there(op.pattern);
  policy.apply_to = op.apply_to;
  policy.priority = op.priority;
  policy.definition = names_.there(op.definition);
  return success_of(admin(op.session).set_policy(policy));
}

Outcome Driver::perform(const DeletePolicy& op) {
  return success_of(admin(op.session).delete_policy(names_.prefix() + op.name));
}

Outcome Driver::perform(const Reopen& op) {
  close(op.session);
  open(op.session);
  return {};
}

Outcome Driver::perform(const Restart& op) {
  TestCluster& cluster = arena_.cluster();
  std::vector<std::string> ids = cluster.router_ids();
  if (op.nodes) {
    ids = cluster.node_ids();
    if (const auto synced = arena_.sync_logs(); !synced) return failure(synced);
  }
  for (const std::string& id : ids) cluster.kill(id);
  for (const int session : {0, 1}) close(session);
  for (const std::string& id : ids) cluster.start(id);
  if (!cluster.wait_ready()) return {{ErrorCode::kShardUnavailable}, {}, {}};
  for (const int session : {0, 1}) open(session);
  return {};
}

}  // namespace segue::conformance
