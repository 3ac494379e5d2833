#include "router/backup_requests.h"

#include <utility>

#include "router/errors.h"

namespace segue::router {

void BackupRequests::node_backup(const RequestContext& context, const v1::NodeBackup& request) {
  Node* const node = nodes_.find(request.node());
  if (node == nullptr) {
    return context.fail(
        make_error(Code::kNotFound, request.node(),
                   "node " + in_quotes(request.node()) + " is not in this router's configuration"));
  }
  v1::QueueRequest question;
  *question.mutable_backup() = request;
  requests_.send(node, node->id, std::move(question), {}, {},
                 [context](v1::QueueReply& answer, const SharedBytes&) {
                   if (answer.has_error()) return context.fail(answer.error());
                   v1::Reply reply;
                   *reply.mutable_node_backup_ok() = std::move(*answer.mutable_backup());
                   context.reply(std::move(reply));
                 });
}

}  // namespace segue::router
