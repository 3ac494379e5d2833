#include "router/catalog_requests.h"

#include <vector>

#include "router/errors.h"

namespace segue::router {

void CatalogRequests::send(v1::CatalogOperation operation, Then then) {
  const std::uint64_t id = next_id_++;
  Open& open = open_
                   .emplace(id, Open{v1::CatalogRequest(), std::move(then), nullptr,
                                     turn_.now + leader_wait_, false})
                   .first->second;
  open.request.set_request_id(id);
  *open.request.mutable_operation() = std::move(operation);
  if (Node* leader = nodes_.catalog_leader()) send_to(*leader, open);
}

void CatalogRequests::send_to(Node& leader, Open& open) {
  open.sent_to = &leader;
  open.deadline = turn_.now + timeout_;
  leader.outbox.catalog_request(open.request);
}

void CatalogRequests::on_reply(v1::CatalogReply& reply) {
  const auto found = open_.find(reply.request_id());
  if (found == open_.end()) return;
  const Then then = std::move(found->second.then);
  open_.erase(found);
  then(*reply.mutable_outcome());
}

void CatalogRequests::on_node_up(Node& node) {
  if (!node.leads_catalog()) return;
  for (auto& [id, open] : open_) {
    if (open.sent_to == nullptr) send_to(node, open);
  }
}

void CatalogRequests::on_node_down(Node& node) {
  for (auto& [id, open] : open_) {
    if (open.sent_to != &node) continue;
    open.sent_to = nullptr;
    open.asked_before = true;
    open.deadline = turn_.now + leader_wait_;
  }
}

void CatalogRequests::on_tick() {
  std::vector<std::pair<Then, v1::CatalogOutcome>> late;
  for (auto at = open_.begin(); at != open_.end();) {
    Open& open = at->second;
    if (open.deadline > turn_.now) {
      ++at;
      continue;
    }
    std::string text = open.sent_to != nullptr
                           ? "the node that leads the catalog has not answered in time"
                       : nodes_.leader_is_behind()
                           ? "the node that leads the catalog lost its data, or has an old copy of "
                             "it: nothing can be declared, bound or deleted until it is given the "
                             "catalog.db of another node (docs/operations.md)"
                           : "the node that leads the catalog is not reachable: nothing can be "
                             "declared, bound or deleted until it is back";
    if (open.sent_to != nullptr || open.asked_before) {
      text += "; the operation may have been done";
    }
    v1::CatalogOutcome outcome;
    *outcome.mutable_error() = make_error(Code::kCatalogUnavailable, "", std::move(text));
    late.emplace_back(std::move(open.then), std::move(outcome));
    at = open_.erase(at);
  }
  for (auto& [then, outcome] : late) then(outcome);
}

}  // namespace segue::router
