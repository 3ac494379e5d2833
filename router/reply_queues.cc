#include "router/reply_queues.h"

#include "router/errors.h"

namespace segue::router {

void ReplyQueues::consume(const RequestContext& context, Session& session, v1::Consume& request) {
  if (!request.no_ack()) {
    return context.fail(make_error(Code::kPreconditionFailed, request.queue(),
                                   "replies come without acknowledgement: consume from " +
                                       in_quotes(request.queue()) + " with no_ack"));
  }
  Session::ReplyQueue& mine = session.reply_queue();
  if (mine.being_made) {
    return context.fail(
        make_error(Code::kAccessRefused, request.queue(),
                   "the session is beginning to consume replies; wait for its answer"));
  }
  if (!mine.name.empty()) {
    request.set_queue(mine.name);
    request.set_exclusive(true);
    return queues_.consume(context, session, request);
  }
  mine.being_made = true;
  v1::QueueDeclare declare;
  declare.set_exclusive(true);
  const RequestContext making(
      context.session(), context.vhost(),
      [this, context, request](v1::Reply& made, const SharedBytes&, bool) mutable {
        on_made(context, request, made);
      });
  topology_.queue_declare(making, declare);
}

void ReplyQueues::on_made(const RequestContext& context, v1::Consume& request,
                          const v1::Reply& made) {
  Session* session = sessions_.find(context.session());
  // Without its session the queue goes as any exclusive one.
  if (session == nullptr || session->ended()) return context.done();
  session->reply_queue().being_made = false;
  if (made.has_error()) return context.fail(made.error());
  session->reply_queue().name = made.queue_declare_ok().name();
  request.set_queue(made.queue_declare_ok().name());
  // A second consumer would get some of the first one's replies.
  request.set_exclusive(true);
  queues_.consume(context, *session, request);
}

}  // namespace segue::router
