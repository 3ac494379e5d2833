#include "router/list_requests.h"

#include <algorithm>

namespace segue::router {

namespace {

constexpr std::size_t kMaxPage = 1000;
// A page is cut where it becomes this large, whatever its limit.
constexpr std::size_t kMaxPageBytes = 4 << 20;
constexpr std::size_t kMaxCounting = 4;

std::size_t page_limit(std::uint32_t wanted) {
  return wanted == 0 ? kMaxPage : std::min<std::size_t>(wanted, kMaxPage);
}

}  // namespace

void ListRequests::queues(const RequestContext& context, const v1::ListQueues& request) {
  const CatalogState& state = lookup_.catalog().state();
  const std::size_t limit = page_limit(request.limit());
  const auto found = state.list_queues(context.vhost(), request.after(), limit + 1);
  auto counting = std::make_shared<Counting>(Counting{context, {}, 0});
  std::size_t bytes = 0;
  for (const v1::QueueDefinition* queue : found) {
    if (static_cast<std::size_t>(counting->list.queues_size()) == limit || bytes > kMaxPageBytes) {
      counting->list.set_more(true);
      break;
    }
    v1::QueueDescription& description = *counting->list.add_queues();
    description = lookup_.describe(*queue);
    bytes += description.ByteSizeLong();
  }
  if (request.names_only() || counting->list.queues().empty()) {
    v1::Reply reply;
    *reply.mutable_list_queues_ok() = std::move(counting->list);
    return context.reply(std::move(reply));
  }
  if (running_ < kMaxCounting) {
    start_counting(counting);
  } else {
    waiting_.push_back(counting);
  }
}

void ListRequests::start_counting(const std::shared_ptr<Counting>& counting) {
  ++running_;
  // One more than there are queues: an answer may come at once.
  counting->open = static_cast<std::size_t>(counting->list.queues_size()) + 1;
  for (int i = 0; i < counting->list.queues_size(); ++i) {
    const QueueId id(counting->list.queues(i).id());
    const v1::QueueDefinition* queue = lookup_.catalog().state().find_queue(id);
    if (queue == nullptr) {  // deleted while the list waited
      counted(counting);
      continue;
    }
    v1::QueueRequest question;
    question.set_queue_id(id.value);
    question.mutable_status();
    nodes_.send(lookup_.node(*queue), lookup_.node_id(*queue), std::move(question),
                lookup_.catalog().needed_for(id), {},
                [this, counting, i](v1::QueueReply& answer, const SharedBytes&) {
                  if (!answer.has_error()) {
                    QueueLookup::add_counts(answer.queue(), *counting->list.mutable_queues(i));
                  }
                  counted(counting);
                });
  }
  counted(counting);
}

void ListRequests::counted(const std::shared_ptr<Counting>& counting) {
  if (--counting->open > 0) return;
  --running_;
  v1::Reply reply;
  *reply.mutable_list_queues_ok() = std::move(counting->list);
  counting->context.reply(std::move(reply));
  if (running_ < kMaxCounting && !waiting_.empty()) {
    const std::shared_ptr<Counting> next = waiting_.front();
    waiting_.pop_front();
    start_counting(next);
  }
}

void ListRequests::exchanges(const RequestContext& context, const v1::ListExchanges& request) {
  const CatalogState& state = lookup_.catalog().state();
  const std::size_t limit = page_limit(request.limit());
  v1::Reply reply;
  v1::ListExchangesOk& list = *reply.mutable_list_exchanges_ok();
  for (const auto* exchange : state.list_exchanges(context.vhost(), request.after(), limit + 1)) {
    if (static_cast<std::size_t>(list.exchanges_size()) == limit) {
      list.set_more(true);
      break;
    }
    v1::ExchangeDescription& description = *list.add_exchanges();
    description.set_name(exchange->name());
    description.set_type(exchange->type());
    description.set_durable(exchange->durable());
    description.set_auto_delete(exchange->auto_delete());
    description.set_internal(exchange->internal());
    description.set_bindings(state.bindings_from(exchange->vhost(), exchange->name()).size());
    *description.mutable_arguments() = exchange->arguments();
  }
  context.reply(std::move(reply));
}

void ListRequests::bindings(const RequestContext& context, const v1::ListBindings& request) {
  const CatalogState& state = lookup_.catalog().state();
  const std::size_t limit = page_limit(request.limit());
  v1::Reply reply;
  v1::ListBindingsOk& list = *reply.mutable_list_bindings_ok();
  std::size_t bytes = 0;
  const auto add = [&](const v1::BindingDefinition& binding) {
    if (binding.vhost() != context.vhost()) return true;
    if (!request.exchange().empty() && binding.exchange() != request.exchange()) return true;
    if (!request.queue().empty() && binding.queue() != request.queue()) return true;
    if (!request.to_exchange().empty() && binding.to_exchange() != request.to_exchange()) {
      return true;
    }
    if (static_cast<std::size_t>(list.bindings_size()) == limit || bytes > kMaxPageBytes) {
      list.set_more(true);
      return false;
    }
    v1::BindingDescription& description = *list.add_bindings();
    description.set_exchange(binding.exchange());
    description.set_queue(binding.queue());
    description.set_to_exchange(binding.to_exchange());
    description.set_routing_key(binding.routing_key());
    description.set_number(binding.number());
    *description.mutable_arguments() = binding.arguments();
    bytes += description.ByteSizeLong();
    return true;
  };
  if (!request.exchange().empty() || !request.queue().empty() || !request.to_exchange().empty()) {
    const auto numbers = !request.queue().empty()
                             ? state.bindings_to(context.vhost(), request.queue())
                         : !request.to_exchange().empty()
                             ? state.bindings_to_exchange(context.vhost(), request.to_exchange())
                             : state.bindings_from(context.vhost(), request.exchange());
    for (const std::uint64_t number : numbers) {
      if (number > request.after_number() && !add(*state.find_binding(number))) break;
    }
    return context.reply(std::move(reply));
  }
  std::uint64_t after = request.after_number();
  for (bool go_on = true; go_on;) {
    const auto found = state.list_bindings(after, kMaxPage);
    for (const v1::BindingDefinition* binding : found) {
      after = binding->number();
      if (!(go_on = add(*binding))) break;
    }
    go_on = go_on && found.size() == kMaxPage;
  }
  context.reply(std::move(reply));
}

void ListRequests::policies(const RequestContext& context, const v1::ListPolicies& request) {
  const std::size_t limit = page_limit(request.limit());
  v1::Reply reply;
  v1::ListPoliciesOk& list = *reply.mutable_list_policies_ok();
  std::size_t bytes = 0;
  for (const auto* policy :
       lookup_.catalog().state().policies().list(context.vhost(), request.after(), limit + 1)) {
    if (static_cast<std::size_t>(list.policies_size()) == limit || bytes > kMaxPageBytes) {
      list.set_more(true);
      break;
    }
    *list.add_policies() = *policy;
    bytes += policy->ByteSizeLong();
  }
  context.reply(std::move(reply));
}

void ListRequests::vhosts(const RequestContext& context, const v1::ListVhosts& request) {
  struct Gathering {
    v1::ListVhostsOk list;
    std::size_t open = 1;
  };
  const CatalogState& state = lookup_.catalog().state();
  const std::size_t limit = page_limit(request.limit());
  auto gathering = std::make_shared<Gathering>();
  const auto gathered = [gathering, context] {
    if (--gathering->open > 0) return;
    v1::Reply reply;
    *reply.mutable_list_vhosts_ok() = std::move(gathering->list);
    context.reply(std::move(reply));
  };
  for (const v1::VhostDefinition* vhost : state.list_vhosts(request.after(), limit + 1)) {
    const int place = gathering->list.vhosts_size();
    if (static_cast<std::size_t>(place) == limit) {
      gathering->list.set_more(true);
      break;
    }
    v1::VhostDescription& description = *gathering->list.add_vhosts();
    *description.mutable_definition() = *vhost;
    description.set_queues(state.queue_count(vhost->name()));
    description.set_sessions(sessions_.size(vhost->name()));
    ++gathering->open;
    usage_.measure(vhost->name(), [gathering, gathered, place](std::uint64_t bytes) {
      gathering->list.mutable_vhosts(place)->set_bytes(bytes);
      gathered();
    });
  }
  gathered();
}

}  // namespace segue::router
