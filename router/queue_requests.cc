#include "router/queue_requests.h"

#include "router/errors.h"

namespace segue::router {

// Null: the request has been answered with the reason.
const v1::QueueDefinition* QueueRequestsPath::usable(const RequestContext& context,
                                                     const std::string& name) const {
  const auto queue = lookup_.usable(context, name);
  if (queue) return queue.value();
  context.fail(make_error(queue.status().code(), name, queue.status().message()));
  return nullptr;
}

void QueueRequestsPath::purge(const RequestContext& context, const v1::QueuePurge& request) {
  const v1::QueueDefinition* queue = usable(context, request.name());
  if (queue == nullptr) return;
  v1::QueueRequest question;
  question.set_queue_id(queue->id());
  *question.mutable_purge() = request;
  NodeRequests::Options options;
  options.wait_for_node = true;
  nodes_.send(lookup_.node(*queue), lookup_.node_id(*queue), std::move(question),
              lookup_.catalog().needed_for(QueueId(queue->id())), options,
              [context](v1::QueueReply& answer, const SharedBytes&) {
                if (answer.has_error()) return context.fail(answer.error());
                v1::Reply reply;
                reply.mutable_queue_purge_ok()->set_messages(answer.purged());
                context.reply(std::move(reply));
              });
}

void QueueRequestsPath::status(const RequestContext& context, const v1::QueueStatus& request) {
  const v1::QueueDefinition* queue =
      lookup_.catalog().state().find_queue(context.vhost(), request.name());
  if (queue == nullptr) {
    return context.fail(make_error(
        lookup_.catalog().not_found("no queue " + in_quotes(request.name())), request.name()));
  }
  v1::QueueRequest question;
  question.set_queue_id(queue->id());
  question.mutable_status();
  nodes_.send(lookup_.node(*queue), lookup_.node_id(*queue), std::move(question),
              lookup_.catalog().needed_for(QueueId(queue->id())), {},
              [context, description = lookup_.describe(*queue)](v1::QueueReply& answer,
                                                                const SharedBytes&) {
                v1::Reply reply;
                v1::QueueDescription& full = *reply.mutable_queue_status_ok()->mutable_queue();
                full = description;
                if (!answer.has_error()) QueueLookup::add_counts(answer.queue(), full);
                context.reply(std::move(reply));
              });
}

void QueueRequestsPath::browse(const RequestContext& context, const v1::Browse& request) {
  const v1::QueueDefinition* queue = usable(context, request.queue());
  if (queue == nullptr) return;
  v1::QueueRequest question;
  question.set_queue_id(queue->id());
  *question.mutable_browse() = request;
  NodeRequests::Options options;
  options.repeatable = true;
  options.wait_for_node = true;
  nodes_.send(lookup_.node(*queue), lookup_.node_id(*queue), std::move(question),
              lookup_.catalog().needed_for(QueueId(queue->id())), options,
              [context](v1::QueueReply& answer, const SharedBytes& bodies) {
                if (answer.has_error()) return context.fail(answer.error());
                v1::Reply reply;
                v1::BrowseOk& browsed = *reply.mutable_browse_ok();
                browsed = std::move(*answer.mutable_browse());
                if (!answer.has_delivery()) return context.reply(std::move(reply));
                if (!browsed.mutable_batch()->ParseFromString(answer.delivery().batch())) {
                  return context.fail(
                      make_error(Code::kInternalError, "", "the node's answer cannot be read"));
                }
                context.reply_with_body(std::move(reply), bodies);
              });
}

void QueueRequestsPath::cancel_delayed(const RequestContext& context,
                                       const v1::CancelDelayed& request) {
  const v1::QueueDefinition* queue = usable(context, request.queue());
  if (queue == nullptr) return;
  v1::QueueRequest question;
  question.set_queue_id(queue->id());
  *question.mutable_cancel_delayed() = request;
  NodeRequests::Options options;
  options.wait_for_node = true;
  nodes_.send(lookup_.node(*queue), lookup_.node_id(*queue), std::move(question),
              lookup_.catalog().needed_for(QueueId(queue->id())), options,
              [context](v1::QueueReply& answer, const SharedBytes&) {
                if (answer.has_error()) return context.fail(answer.error());
                v1::Reply reply;
                reply.mutable_cancel_delayed_ok()->set_cancelled(answer.purged());
                context.reply(std::move(reply));
              });
}

void QueueRequestsPath::consume(const RequestContext& context, Session& session,
                                const v1::Consume& request) {
  const v1::QueueDefinition* queue = usable(context, request.queue());
  if (queue == nullptr) return;
  deliveries_.consume(session, request, *queue,
                      [context, number = request.consumer()](const v1::Error* error) {
                        if (error != nullptr) return context.fail(*error);
                        v1::Reply reply;
                        reply.mutable_consume_ok()->set_consumer(number);
                        context.reply(std::move(reply));
                      });
}

void QueueRequestsPath::cancel(const RequestContext& context, Session& session,
                               const v1::Cancel& request) {
  deliveries_.cancel(session, request.consumer(), [context](const v1::Error* error) {
    error != nullptr ? context.fail(*error) : context.done();
  });
}

void QueueRequestsPath::qos(const RequestContext& context, Session& session,
                            const v1::Qos& request) {
  deliveries_.qos(session, request, [context](const v1::Error* error) {
    error != nullptr ? context.fail(*error) : context.done();
  });
}

void QueueRequestsPath::get(const RequestContext& context, Session& session,
                            const v1::Get& request) {
  const v1::QueueDefinition* queue = usable(context, request.queue());
  if (queue == nullptr) return;
  deliveries_.get(session, *queue, request.no_ack(),
                  [context](const v1::Error* error, v1::GetOk& got, const SharedBytes& body) {
                    if (error != nullptr) return context.fail(*error);
                    v1::Reply reply;
                    *reply.mutable_get_ok() = std::move(got);
                    if (!reply.get_ok().found()) return context.reply(std::move(reply));
                    context.reply_with_body(std::move(reply), body);
                  });
}

}  // namespace segue::router
