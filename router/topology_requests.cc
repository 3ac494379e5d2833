#include "router/topology_requests.h"

#include "router/errors.h"

namespace segue::router {

void TopologyRequests::change(const RequestContext& context, v1::CatalogOperation operation,
                              Done then) {
  *operation.mutable_asker() = lookup_.owner(context.session());
  leader_.send(
      std::move(operation), [this, context, then = std::move(then)](v1::CatalogOutcome& outcome) {
        if (outcome.has_error()) return context.fail(outcome.error());
        const CatalogIndex index(outcome.index());
        const auto when = [context, then, outcome](bool reached) {
          if (reached) return then(outcome);
          context.fail(make_error(Code::kTimeout, "",
                                  "done at catalog index " + std::to_string(outcome.index()) +
                                      ", which this router has not reached yet"));
        };
        catalog_.when_reached(index, turn_.now + view_timeout_, when);
      });
}

void TopologyRequests::change(const RequestContext& context, v1::CatalogOperation operation) {
  change(context, std::move(operation), [context](const v1::CatalogOutcome& outcome) {
    v1::Reply reply;
    reply.set_catalog_index(outcome.index());
    context.reply(std::move(reply));
  });
}

void TopologyRequests::exchange_declare(const RequestContext& context,
                                        v1::ExchangeDeclare& request) {
  if (request.passive()) {
    if (catalog_.state().find_exchange(context.vhost(), request.name()) != nullptr) {
      return context.done();
    }
    return context.fail(
        make_error(catalog_.not_found("no exchange " + in_quotes(request.name())), request.name()));
  }
  v1::CatalogOperation operation;
  v1::ExchangeDefinition& exchange = *operation.mutable_declare_exchange()->mutable_exchange();
  exchange.set_vhost(context.vhost());
  exchange.set_name(std::move(*request.mutable_name()));
  exchange.set_type(std::move(*request.mutable_type()));
  exchange.set_durable(request.durable());
  exchange.set_auto_delete(request.auto_delete());
  exchange.set_internal(request.internal());
  exchange.mutable_arguments()->swap(*request.mutable_arguments());
  change(context, std::move(operation));
}

void TopologyRequests::exchange_delete(const RequestContext& context,
                                       const v1::ExchangeDelete& request) {
  v1::CatalogOperation operation;
  operation.mutable_delete_exchange()->set_vhost(context.vhost());
  operation.mutable_delete_exchange()->set_name(request.name());
  operation.mutable_delete_exchange()->set_if_unused(request.if_unused());
  change(context, std::move(operation));
}

void TopologyRequests::queue_declare(const RequestContext& context, v1::QueueDeclare& request) {
  if (request.passive()) {
    const auto queue = lookup_.usable(context, request.name());
    if (!queue) {
      return context.fail(
          make_error(queue.status().code(), request.name(), queue.status().message()));
    }
    return reply_declared(context, *queue.value(), {}, 0);
  }
  v1::CatalogOperation operation;
  v1::QueueDefinition& queue = *operation.mutable_declare_queue()->mutable_queue();
  queue.set_vhost(context.vhost());
  queue.set_name(std::move(*request.mutable_name()));
  queue.set_durable(request.durable());
  queue.set_exclusive(request.exclusive());
  queue.set_auto_delete(request.auto_delete());
  queue.mutable_arguments()->swap(*request.mutable_arguments());
  if (request.exclusive()) *queue.mutable_owner() = lookup_.owner(context.session());
  operation.mutable_declare_queue()->set_update(request.update());
  change(context, std::move(operation), [this, context](const v1::CatalogOutcome& outcome) {
    v1::QueueDeclareOk declared;
    declared.set_created(outcome.created());
    declared.set_updated(outcome.updated());
    reply_declared(context, outcome.queue(), std::move(declared), outcome.index());
  });
}

void TopologyRequests::reply_declared(const RequestContext& context,
                                      const v1::QueueDefinition& queue, v1::QueueDeclareOk known,
                                      std::uint64_t index) {
  v1::Reply reply;
  reply.set_catalog_index(index);
  const bool created = known.created();
  // What was changed is in force when the client hears of it.
  const CatalogIndex needed =
      std::max(catalog_.needed_for(QueueId(queue.id())), CatalogIndex(known.updated() ? index : 0));
  v1::QueueDeclareOk& declared = *reply.mutable_queue_declare_ok();
  declared = std::move(known);
  declared.set_name(queue.name());
  declared.set_shard(queue.shard());
  declared.set_node(lookup_.node_id(queue));
  if (created) return context.reply(std::move(reply));  // empty, without consumers

  v1::QueueRequest request;
  request.set_queue_id(queue.id());
  request.mutable_status()->set_declared(index > 0);
  NodeRequests::Options options;
  options.wait_for_node = true;
  options.repeatable = true;
  nodes_.send(lookup_.node(queue), lookup_.node_id(queue), std::move(request), needed, options,
              [context, reply](v1::QueueReply& counts, const SharedBytes&) {
                if (counts.has_error()) return context.fail(counts.error());
                v1::Reply full = reply;
                full.mutable_queue_declare_ok()->set_ready(counts.queue().ready());
                full.mutable_queue_declare_ok()->set_consumers(counts.queue().consumers());
                context.reply(std::move(full));
              });
}

void TopologyRequests::queue_delete(const RequestContext& context, const v1::QueueDelete& request) {
  const auto found = lookup_.usable(context, request.name());
  if (!found && found.status().code() == Code::kNotFound) {
    // As with AMQP's brokers: what is gone is deleted.
    v1::Reply reply;
    reply.mutable_queue_delete_ok();
    return context.reply(std::move(reply));
  }
  if (!found) {
    return context.fail(
        make_error(found.status().code(), request.name(), found.status().message()));
  }
  const v1::QueueDefinition& queue = *found.value();
  const bool conditions = request.if_unused() || request.if_empty();
  v1::QueueRequest question;
  question.set_queue_id(queue.id());
  *question.mutable_check_delete() = request;
  NodeRequests::Options options;
  options.wait_for_node = conditions;
  options.repeatable = true;
  nodes_.send(lookup_.node(queue), lookup_.node_id(queue), std::move(question),
              catalog_.needed_for(QueueId(queue.id())), options,
              [this, context, queue, conditions](v1::QueueReply& answer, const SharedBytes&) {
                // Without conditions only the count is missing.
                const bool away =
                    answer.has_error() &&
                    answer.error().code() == static_cast<std::uint32_t>(Code::kShardUnavailable);
                if (answer.has_error() && (conditions || !away)) {
                  return context.fail(answer.error());
                }
                delete_queue(context, queue, answer.queue().ready());
              });
}

void TopologyRequests::delete_queue(const RequestContext& context, const v1::QueueDefinition& queue,
                                    std::uint64_t messages) {
  v1::CatalogOperation operation;
  operation.mutable_delete_queue()->set_vhost(queue.vhost());
  operation.mutable_delete_queue()->set_name(queue.name());
  operation.mutable_delete_queue()->set_id(queue.id());
  change(context, std::move(operation), [context, messages](const v1::CatalogOutcome& outcome) {
    v1::Reply reply;
    reply.set_catalog_index(outcome.index());
    reply.mutable_queue_delete_ok()->set_messages(messages);
    context.reply(std::move(reply));
  });
}

void TopologyRequests::bind(const RequestContext& context, v1::Bind& request) {
  v1::CatalogOperation operation;
  v1::BindingDefinition& binding = *operation.mutable_bind();
  binding.set_vhost(context.vhost());
  binding.set_exchange(std::move(*request.mutable_exchange()));
  binding.set_queue(std::move(*request.mutable_queue()));
  binding.set_to_exchange(std::move(*request.mutable_to_exchange()));
  binding.set_routing_key(std::move(*request.mutable_routing_key()));
  binding.mutable_arguments()->swap(*request.mutable_arguments());
  change(context, std::move(operation));
}

void TopologyRequests::unbind(const RequestContext& context, v1::Unbind& request) {
  v1::CatalogOperation operation;
  v1::BindingDefinition& binding = *operation.mutable_unbind();
  binding.set_vhost(context.vhost());
  binding.set_exchange(std::move(*request.mutable_exchange()));
  binding.set_queue(std::move(*request.mutable_queue()));
  binding.set_to_exchange(std::move(*request.mutable_to_exchange()));
  binding.set_routing_key(std::move(*request.mutable_routing_key()));
  binding.mutable_arguments()->swap(*request.mutable_arguments());
  change(context, std::move(operation));
}

void TopologyRequests::set_policy(const RequestContext& context, v1::PolicyDefinition& request) {
  v1::CatalogOperation operation;
  operation.mutable_set_policy()->Swap(&request);
  operation.mutable_set_policy()->set_vhost(context.vhost());
  change(context, std::move(operation));
}

void TopologyRequests::delete_policy(const RequestContext& context,
                                     const v1::PolicyDelete& request) {
  v1::CatalogOperation operation;
  operation.mutable_delete_policy()->set_vhost(context.vhost());
  operation.mutable_delete_policy()->set_name(request.name());
  change(context, std::move(operation));
}

void TopologyRequests::vhost_declare(const RequestContext& context, v1::VhostDeclare& request) {
  v1::CatalogOperation operation;
  operation.mutable_declare_vhost()->mutable_vhost()->Swap(request.mutable_vhost());
  operation.mutable_declare_vhost()->set_update(request.update());
  change(context, std::move(operation));
}

void TopologyRequests::vhost_delete(const RequestContext& context, const v1::VhostDelete& request) {
  v1::CatalogOperation operation;
  operation.set_delete_vhost(request.name());
  change(context, std::move(operation));
}

}  // namespace segue::router
