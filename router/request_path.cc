#include "router/request_path.h"

#include "router/errors.h"
#include "router/reply_to.h"

namespace segue::router {

void RequestPath::on_request(Session& session, v1::Request& request) {
  const auto open = in_flight_.find(session.id());
  const bool too_many = open != in_flight_.end() && open->second >= max_in_flight_;
  const RequestContext context = begin(session, request.request_id());
  if (too_many) {
    return context.fail(make_error(Code::kResourceError, "",
                                   "the session has " + std::to_string(max_in_flight_) +
                                       " requests open, as many as are allowed; wait for replies"));
  }
  dispatch(context, session, request);
}

RequestContext RequestPath::begin(const Session& session, std::uint64_t request_id) {
  ++in_flight_[session.id()];
  return RequestContext(session.id(), session.identity().vhost,
                        [this, id = session.id(), request_id](
                            v1::Reply& reply, const SharedBytes& body, bool with_bodies) {
                          answer(id, request_id, reply, body, with_bodies);
                        });
}

void RequestPath::answer(SessionId session_id, std::uint64_t request_id, v1::Reply& reply,
                         const SharedBytes& body, bool with_bodies) {
  const auto open = in_flight_.find(session_id);
  if (open != in_flight_.end() && --open->second == 0) in_flight_.erase(open);
  Session* session = sessions_.find(session_id);
  if (session == nullptr) return;
  reply.set_request_id(request_id);
  v1::RouterFrame frame;
  *frame.mutable_reply() = std::move(reply);
  session->send(frame, with_bodies ? std::vector<SharedBytes>{body} : std::vector<SharedBytes>{},
                with_bodies);
}

void RequestPath::dispatch(const RequestContext& context, Session& session, v1::Request& request) {
  switch (request.operation_case()) {
    case v1::Request::kExchangeDeclare:
      return topology_.exchange_declare(context, *request.mutable_exchange_declare());
    case v1::Request::kExchangeDelete:
      return topology_.exchange_delete(context, request.exchange_delete());
    case v1::Request::kQueueDeclare:
      return topology_.queue_declare(context, *request.mutable_queue_declare());
    case v1::Request::kQueueDelete:
      return topology_.queue_delete(context, request.queue_delete());
    case v1::Request::kBind:
      return topology_.bind(context, *request.mutable_bind());
    case v1::Request::kUnbind:
      return topology_.unbind(context, *request.mutable_unbind());
    case v1::Request::kQueuePurge:
      return queues_.purge(context, request.queue_purge());
    case v1::Request::kQueueStatus:
      return queues_.status(context, request.queue_status());
    case v1::Request::kConsume:
      if (is_reply_to(request.consume().queue())) {
        return replies_.consume(context, session, *request.mutable_consume());
      }
      return queues_.consume(context, session, request.consume());
    case v1::Request::kCancel:
      return queues_.cancel(context, session, request.cancel());
    case v1::Request::kQos:
      return queues_.qos(context, session, request.qos());
    case v1::Request::kGet:
      return queues_.get(context, session, request.get());
    case v1::Request::kListQueues:
      return lists_.queues(context, request.list_queues());
    case v1::Request::kListExchanges:
      return lists_.exchanges(context, request.list_exchanges());
    case v1::Request::kListBindings:
      return lists_.bindings(context, request.list_bindings());
    case v1::Request::kListSegments:
      return garbage_.segments(context, request.list_segments());
    case v1::Request::kCollectGarbage:
      return garbage_.collect(context, request.collect_garbage());
    case v1::Request::kNodeBackup:
      return backups_.node_backup(context, request.node_backup());
    case v1::Request::kBrowse:
      return queues_.browse(context, request.browse());
    case v1::Request::kSetPolicy:
      return topology_.set_policy(context, *request.mutable_set_policy());
    case v1::Request::kDeletePolicy:
      return topology_.delete_policy(context, request.delete_policy());
    case v1::Request::kListPolicies:
      return lists_.policies(context, request.list_policies());
    case v1::Request::kVhostDeclare:
      return topology_.vhost_declare(context, *request.mutable_vhost_declare());
    case v1::Request::kVhostDelete:
      return topology_.vhost_delete(context, request.vhost_delete());
    case v1::Request::kListVhosts:
      return lists_.vhosts(context, request.list_vhosts());
    case v1::Request::kCancelDelayed:
      return queues_.cancel_delayed(context, request.cancel_delayed());
    case v1::Request::kClusterStatus: {
      v1::Reply reply;
      *reply.mutable_cluster_status_ok() = cluster_.report();
      return context.reply(std::move(reply));
    }
    case v1::Request::OPERATION_NOT_SET:
      break;
  }
  context.fail(
      make_error(Code::kNotImplemented, "",
                 "this router does not know the requested operation; it speaks version 1"));
}

}  // namespace segue::router
