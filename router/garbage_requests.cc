#include "router/garbage_requests.h"

#include <utility>

#include "router/errors.h"

namespace segue::router {

void GarbageRequests::ask_node_of(const RequestContext& context, const std::string& name,
                                  v1::QueueRequest question, Answered answered) {
  const v1::QueueDefinition* queue = lookup_.catalog().state().find_queue(context.vhost(), name);
  if (queue == nullptr) {
    return context.fail(
        make_error(lookup_.catalog().not_found("no queue " + in_quotes(name)), name));
  }
  question.set_queue_id(queue->id());
  const std::string node = lookup_.node_id(*queue);
  requests_.send(lookup_.node(*queue), node, std::move(question),
                 lookup_.catalog().needed_for(QueueId(queue->id())), {},
                 [context, node, answered](v1::QueueReply& answer, const SharedBytes&) {
                   if (answer.has_error()) return context.fail(answer.error());
                   v1::Reply reply;
                   answered(answer, node, reply);
                   context.reply(std::move(reply));
                 });
}

void GarbageRequests::segments(const RequestContext& context, const v1::ListSegments& request) {
  v1::QueueRequest question;
  *question.mutable_list_segments() = request;
  ask_node_of(context, request.queue(), std::move(question),
              [](v1::QueueReply& answer, const std::string& node, v1::Reply& reply) {
                v1::ListSegmentsOk& list = *reply.mutable_list_segments_ok();
                list = std::move(*answer.mutable_segments());
                list.set_node(node);
              });
}

void GarbageRequests::collect(const RequestContext& context, const v1::CollectGarbage& request) {
  if (!request.queue().empty()) return collect_queue(context, request);
  auto gathering = std::make_shared<Gathering>(Gathering{context, {}, 1});
  for (const auto& [id, node] : nodes_.all()) {
    ++gathering->open;
    v1::QueueRequest question;
    *question.mutable_collect_garbage() = request;
    const int place = gathering->all.nodes_size();
    gathering->all.add_nodes()->set_node(id);
    requests_.send(node.get(), id, std::move(question), {}, {},
                   [gathering, place](v1::QueueReply& answer, const SharedBytes&) {
                     v1::GarbageDescription& line = *gathering->all.mutable_nodes(place);
                     const std::string name = line.node();
                     line = std::move(*answer.mutable_garbage());
                     line.set_node(name);
                     if (answer.has_error()) *line.mutable_error() = answer.error();
                     gathered(gathering);
                   });
  }
  gathered(gathering);
}

void GarbageRequests::gathered(const std::shared_ptr<Gathering>& gathering) {
  if (--gathering->open > 0) return;
  v1::Reply reply;
  *reply.mutable_collect_garbage_ok() = std::move(gathering->all);
  gathering->context.reply(std::move(reply));
}

void GarbageRequests::collect_queue(const RequestContext& context,
                                    const v1::CollectGarbage& request) {
  v1::QueueRequest question;
  *question.mutable_collect_garbage() = request;
  ask_node_of(context, request.queue(), std::move(question),
              [](v1::QueueReply& answer, const std::string& node, v1::Reply& reply) {
                v1::GarbageDescription& line = *reply.mutable_collect_garbage_ok()->add_nodes();
                line = std::move(*answer.mutable_garbage());
                line.set_node(node);
              });
}

}  // namespace segue::router
