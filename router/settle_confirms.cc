#include "router/settle_confirms.h"

#include "router/errors.h"

namespace segue::router {

SettleConfirms::JoinPtr SettleConfirms::begin(SessionId session, std::uint64_t confirm_id) {
  auto join = std::make_shared<Join>();
  join->session = session;
  join->confirm_id = confirm_id;
  return join;
}

std::uint64_t SettleConfirms::add(const JoinPtr& join, Node& node, ConsumerId consumer) {
  const std::uint64_t id = next_id_++;
  ++join->open;
  ++open_of_session_[join->session];
  open_.emplace(id, Open{&node, consumer, join});
  return id;
}

void SettleConfirms::answer(Join& join) {
  if (join.open > 0) return;
  Session* session = sessions_.find(join.session);
  if (session == nullptr) return;
  v1::RouterFrame frame;
  frame.mutable_settle_ok()->set_confirm_id(join.confirm_id);
  if (join.error.has_value()) *frame.mutable_settle_ok()->mutable_error() = *join.error;
  session->send(frame);
}

void SettleConfirms::close_part(std::map<std::uint64_t, Open>::iterator part,
                                const v1::Error* error) {
  const JoinPtr join = part->second.join;
  open_.erase(part);
  const auto count = open_of_session_.find(join->session);
  if (count != open_of_session_.end() && --count->second == 0) open_of_session_.erase(count);
  if (error != nullptr && !join->error.has_value()) join->error = *error;
  --join->open;
  answer(*join);
}

void SettleConfirms::on_settle_ok(const Node& node, const v1::SettleOk& settle_ok) {
  const auto part = open_.find(settle_ok.confirm_id());
  if (part == open_.end() || part->second.node != &node) return;
  close_part(part, settle_ok.has_error() ? &settle_ok.error() : nullptr);
}

void SettleConfirms::on_node_down(const Node& node) {
  const v1::Error error = make_error(
      Code::kShardUnavailable, "",
      "node " + node.id + " went away before it confirmed the settle: the messages may " +
          "come again, flagged redelivered");
  for (auto part = open_.begin(); part != open_.end();) {
    const auto here = part++;
    if (here->second.node == &node) close_part(here, &error);
  }
}

void SettleConfirms::on_consumer_gone(ConsumerId consumer) {
  const v1::Error error = make_error(Code::kNotFound, "", "the queue was deleted");
  for (auto part = open_.begin(); part != open_.end();) {
    const auto here = part++;
    if (here->second.consumer == consumer) close_part(here, &error);
  }
}

void SettleConfirms::end_session(SessionId session) {
  if (!open_of_session_.contains(session)) return;
  std::erase_if(open_, [&](const auto& part) { return part.second.join->session == session; });
  open_of_session_.erase(session);
}

std::size_t SettleConfirms::open_of(SessionId session) const {
  const auto found = open_of_session_.find(session);
  return found == open_of_session_.end() ? 0 : found->second;
}

}  // namespace segue::router
