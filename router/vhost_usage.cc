#include "router/vhost_usage.h"

#include <utility>

#include "router/errors.h"

namespace segue::router {

namespace {

constexpr Duration kBetweenLooks = std::chrono::seconds(1);
constexpr std::size_t kMostVhosts = 10'000;

/// With queue 0: of the virtual host that is named.
v1::QueueRequest question_of(const std::string& vhost) {
  v1::QueueRequest question;
  question.mutable_status()->set_name(vhost);
  return question;
}

}  // namespace

void VhostUsage::on_tick() {
  if (turn_.now < next_look_) return;
  next_look_ = turn_.now + kBetweenLooks;
  const auto has_limit = [&](const std::string& vhost) {
    const v1::VhostDefinition* definition = catalog_.state().find_vhost(vhost);
    return definition != nullptr && definition->has_max_bytes();
  };
  std::erase_if(bytes_, [&](const auto& known) { return !has_limit(known.first); });
  std::erase_if(refusals_, [&](const auto& known) { return !has_limit(known.first); });
  for (const v1::VhostDefinition* vhost : catalog_.state().list_vhosts("", kMostVhosts)) {
    if (vhost->has_max_bytes()) ask(vhost->name());
  }
}

void VhostUsage::ask(const std::string& vhost) {
  for (const auto& [id, node] : nodes_.all()) {
    if (!node->up) continue;
    requests_.send(node.get(), id, question_of(vhost), {}, {},
                   [this, vhost, id = id](v1::QueueReply& answer, const SharedBytes&) {
                     if (answer.has_error()) return;
                     bytes_[vhost][id] = answer.queue().bytes();
                     evaluate(vhost);
                   });
  }
}

void VhostUsage::evaluate(const std::string& vhost) {
  const v1::VhostDefinition* definition = catalog_.state().find_vhost(vhost);
  if (definition == nullptr || !definition->has_max_bytes()) return;
  std::uint64_t sum = 0;
  for (const auto& [node, bytes] : bytes_[vhost]) sum += bytes;
  if (sum < definition->max_bytes()) {
    refusals_.erase(vhost);
    return;
  }
  auto refusal = std::make_shared<Route>();
  refusal->status =
      Status(Code::kResourceError,
             "virtual host " + in_quotes(vhost) + " is full: its queues have " +
                 std::to_string(sum) + " bytes, and its max_bytes is " +
                 std::to_string(definition->max_bytes()) + "; consume, or raise the limit");
  refusals_[vhost] = std::move(refusal);
}

void VhostUsage::measure(const std::string& vhost, std::function<void(std::uint64_t bytes)> then) {
  struct Sum {
    std::size_t open = 1;
    std::uint64_t bytes = 0;
    std::function<void(std::uint64_t)> then;
  };
  auto sum = std::make_shared<Sum>();
  sum->then = std::move(then);
  const auto added = [sum] {
    if (--sum->open == 0) sum->then(sum->bytes);
  };
  for (const auto& [id, node] : nodes_.all()) {
    ++sum->open;
    requests_.send(node.get(), id, question_of(vhost), {}, {},
                   [sum, added](v1::QueueReply& answer, const SharedBytes&) {
                     if (!answer.has_error()) sum->bytes += answer.queue().bytes();
                     added();
                   });
  }
  added();
}

}  // namespace segue::router
