#include "segue/admin.h"

#include <utility>

#include "client/admin_calls.h"
#include "client/connection_core.h"
#include "client/convert.h"

namespace segue::client {

namespace {

DeclaredQueue declared(const v1::Reply& reply) {
  const v1::QueueDeclareOk& wire = reply.queue_declare_ok();
  return {wire.name(), wire.ready(),   wire.consumers(), wire.shard(),
          wire.node(), wire.created(), wire.updated()};
}

}  // namespace

void Admin::set_timeout(std::chrono::milliseconds timeout) {
  core_.set_admin_timeout(timeout);
}

// ---- queues

std::future<Result<DeclaredQueue>> Admin::declare_queue_async(const std::string& name,
                                                              const QueueOptions& options) {
  if (Status fine = check_table(options.arguments); !fine)
    return refused<DeclaredQueue>(fine.error());
  v1::Request request;
  v1::QueueDeclare* declare = request.mutable_queue_declare();
  declare->set_name(name);
  declare->set_durable(options.durable);
  declare->set_exclusive(options.exclusive);
  declare->set_auto_delete(options.auto_delete);
  declare->set_update(options.update);
  to_wire(options.arguments, declare->mutable_arguments());
  // Without a name a second declaration would make a second queue.
  return ask<DeclaredQueue>(core_, std::move(request), !name.empty(), declared);
}

Result<DeclaredQueue> Admin::declare_queue(const std::string& name, const QueueOptions& options) {
  return wait<DeclaredQueue>(core_, [&] { return declare_queue_async(name, options); });
}

std::future<Result<DeclaredQueue>> Admin::find_queue_async(const std::string& name) {
  v1::Request request;
  request.mutable_queue_declare()->set_name(name);
  request.mutable_queue_declare()->set_passive(true);
  return ask<DeclaredQueue>(core_, std::move(request), true, declared);
}

Result<DeclaredQueue> Admin::find_queue(const std::string& name) {
  return wait<DeclaredQueue>(core_, [&] { return find_queue_async(name); });
}

std::future<Result<std::uint64_t>> Admin::delete_queue_async(const std::string& name,
                                                             const DeleteQueueOptions& options) {
  v1::Request request;
  request.mutable_queue_delete()->set_name(name);
  request.mutable_queue_delete()->set_if_unused(options.if_unused);
  request.mutable_queue_delete()->set_if_empty(options.if_empty);
  return ask<std::uint64_t>(core_, std::move(request), false, [](const v1::Reply& reply) {
    return reply.queue_delete_ok().messages();
  });
}

Result<std::uint64_t> Admin::delete_queue(const std::string& name,
                                          const DeleteQueueOptions& options) {
  return wait<std::uint64_t>(core_, [&] { return delete_queue_async(name, options); });
}

std::future<Result<std::uint64_t>> Admin::purge_queue_async(const std::string& name) {
  v1::Request request;
  request.mutable_queue_purge()->set_name(name);
  return ask<std::uint64_t>(core_, std::move(request), false, [](const v1::Reply& reply) {
    return reply.queue_purge_ok().messages();
  });
}

Result<std::uint64_t> Admin::purge_queue(const std::string& name) {
  return wait<std::uint64_t>(core_, [&] { return purge_queue_async(name); });
}

std::future<Result<QueueDescription>> Admin::queue_status_async(const std::string& name) {
  v1::Request request;
  request.mutable_queue_status()->set_name(name);
  return ask<QueueDescription>(core_, std::move(request), true, [](const v1::Reply& reply) {
    return from_wire(reply.queue_status_ok().queue());
  });
}

Result<QueueDescription> Admin::queue_status(const std::string& name) {
  return wait<QueueDescription>(core_, [&] { return queue_status_async(name); });
}

// ---- exchanges and bindings

std::future<Status> Admin::declare_exchange_async(const std::string& name,
                                                  const ExchangeOptions& options) {
  if (Status fine = check_table(options.arguments); !fine) return refused<void>(fine.error());
  v1::Request request;
  v1::ExchangeDeclare* declare = request.mutable_exchange_declare();
  declare->set_name(name);
  declare->set_type(options.type);
  declare->set_durable(options.durable);
  declare->set_auto_delete(options.auto_delete);
  declare->set_internal(options.internal);
  to_wire(options.arguments, declare->mutable_arguments());
  return ask(core_, std::move(request));
}

Status Admin::declare_exchange(const std::string& name, const ExchangeOptions& options) {
  return wait<void>(core_, [&] { return declare_exchange_async(name, options); });
}

std::future<Status> Admin::find_exchange_async(const std::string& name) {
  v1::Request request;
  request.mutable_exchange_declare()->set_name(name);
  request.mutable_exchange_declare()->set_passive(true);
  return ask(core_, std::move(request));
}

Status Admin::find_exchange(const std::string& name) {
  return wait<void>(core_, [&] { return find_exchange_async(name); });
}

std::future<Status> Admin::delete_exchange_async(const std::string& name, bool if_unused) {
  v1::Request request;
  request.mutable_exchange_delete()->set_name(name);
  request.mutable_exchange_delete()->set_if_unused(if_unused);
  return ask<void>(core_, std::move(request), false, nullptr);
}

Status Admin::delete_exchange(const std::string& name, bool if_unused) {
  return wait<void>(core_, [&] { return delete_exchange_async(name, if_unused); });
}

std::future<Status> Admin::bind_async(const Binding& binding) {
  if (Status fine = check_table(binding.arguments); !fine) return refused<void>(fine.error());
  v1::Request request;
  v1::Bind* bind = request.mutable_bind();
  bind->set_exchange(binding.exchange);
  bind->set_queue(binding.queue);
  bind->set_to_exchange(binding.to_exchange);
  bind->set_routing_key(binding.routing_key);
  to_wire(binding.arguments, bind->mutable_arguments());
  return ask(core_, std::move(request));
}

Status Admin::bind(const Binding& binding) {
  return wait<void>(core_, [&] { return bind_async(binding); });
}

std::future<Status> Admin::unbind_async(const Binding& binding) {
  if (Status fine = check_table(binding.arguments); !fine) return refused<void>(fine.error());
  v1::Request request;
  v1::Unbind* unbind = request.mutable_unbind();
  unbind->set_exchange(binding.exchange);
  unbind->set_queue(binding.queue);
  unbind->set_to_exchange(binding.to_exchange);
  unbind->set_routing_key(binding.routing_key);
  to_wire(binding.arguments, unbind->mutable_arguments());
  return ask(core_, std::move(request));
}

Status Admin::unbind(const Binding& binding) {
  return wait<void>(core_, [&] { return unbind_async(binding); });
}

// ---- lists

std::future<Result<Admin::QueuePage>> Admin::list_queues_async(const ListOptions& options) {
  v1::Request request;
  v1::ListQueues* list = request.mutable_list_queues();
  list->set_after(options.after);
  list->set_limit(options.limit);
  list->set_names_only(options.names_only);
  return ask<QueuePage>(core_, std::move(request), true, [](const v1::Reply& reply) {
    QueuePage page;
    for (const auto& queue : reply.list_queues_ok().queues()) {
      page.queues.push_back(from_wire(queue));
    }
    page.more = reply.list_queues_ok().more();
    return page;
  });
}

Result<Admin::QueuePage> Admin::list_queues(const ListOptions& options) {
  return wait<QueuePage>(core_, [&] { return list_queues_async(options); });
}

Result<std::vector<QueueDescription>> Admin::list_all_queues(bool names_only) {
  std::vector<QueueDescription> all;
  ListOptions options;
  options.names_only = names_only;
  while (true) {
    Result<QueuePage> page = list_queues(options);
    if (!page) return page.error();
    std::move(page->queues.begin(), page->queues.end(), std::back_inserter(all));
    if (!page->more || page->queues.empty()) return all;
    options.after = all.back().name;
  }
}

std::future<Result<Admin::ExchangePage>> Admin::list_exchanges_async(const ListOptions& options) {
  v1::Request request;
  request.mutable_list_exchanges()->set_after(options.after);
  request.mutable_list_exchanges()->set_limit(options.limit);
  return ask<ExchangePage>(core_, std::move(request), true, [](const v1::Reply& reply) {
    ExchangePage page;
    for (const auto& exchange : reply.list_exchanges_ok().exchanges()) {
      page.exchanges.push_back(from_wire(exchange));
    }
    page.more = reply.list_exchanges_ok().more();
    return page;
  });
}

Result<Admin::ExchangePage> Admin::list_exchanges(const ListOptions& options) {
  return wait<ExchangePage>(core_, [&] { return list_exchanges_async(options); });
}

Result<std::vector<ExchangeDescription>> Admin::list_all_exchanges() {
  std::vector<ExchangeDescription> all;
  ListOptions options;
  while (true) {
    Result<ExchangePage> page = list_exchanges(options);
    if (!page) return page.error();
    std::move(page->exchanges.begin(), page->exchanges.end(), std::back_inserter(all));
    if (!page->more || page->exchanges.empty()) return all;
    options.after = all.back().name;
  }
}

std::future<Result<Admin::BindingPage>> Admin::list_bindings_async(
    const ListBindingsOptions& options) {
  v1::Request request;
  v1::ListBindings* list = request.mutable_list_bindings();
  list->set_exchange(options.exchange);
  list->set_queue(options.queue);
  list->set_to_exchange(options.to_exchange);
  list->set_after_number(options.after_number);
  list->set_limit(options.limit);
  return ask<BindingPage>(core_, std::move(request), true, [](const v1::Reply& reply) {
    BindingPage page;
    for (const auto& binding : reply.list_bindings_ok().bindings()) {
      page.bindings.push_back(from_wire(binding));
    }
    page.more = reply.list_bindings_ok().more();
    return page;
  });
}

Result<Admin::BindingPage> Admin::list_bindings(const ListBindingsOptions& options) {
  return wait<BindingPage>(core_, [&] { return list_bindings_async(options); });
}

Result<std::vector<BindingDescription>> Admin::list_all_bindings(const std::string& exchange,
                                                                 const std::string& queue) {
  std::vector<BindingDescription> all;
  ListBindingsOptions options;
  options.exchange = exchange;
  options.queue = queue;
  while (true) {
    Result<BindingPage> page = list_bindings(options);
    if (!page) return page.error();
    std::move(page->bindings.begin(), page->bindings.end(), std::back_inserter(all));
    if (!page->more || page->bindings.empty()) return all;
    options.after_number = all.back().number;
  }
}

// ---- files and garbage

std::future<Result<Admin::SegmentPage>> Admin::list_segments_async(
    const ListSegmentsOptions& options) {
  v1::Request request;
  v1::ListSegments* list = request.mutable_list_segments();
  list->set_queue(options.queue);
  list->set_after(options.after);
  list->set_priority(options.priority);
  list->set_limit(options.limit);
  return ask<SegmentPage>(core_, std::move(request), true, [](const v1::Reply& reply) {
    return SegmentPage{from_wire(reply.list_segments_ok()), reply.list_segments_ok().more()};
  });
}

Result<Admin::SegmentPage> Admin::list_segments(const ListSegmentsOptions& options) {
  return wait<SegmentPage>(core_, [&] { return list_segments_async(options); });
}

Result<QueueSegments> Admin::list_all_segments(const std::string& queue) {
  QueueSegments all;
  ListSegmentsOptions options;
  options.queue = queue;
  while (true) {
    Result<SegmentPage> page = list_segments(options);
    if (!page) return page.error();
    std::vector<SegmentDescription> before = std::move(all.segments);
    all = std::move(page->files);
    all.segments.insert(all.segments.begin(), std::make_move_iterator(before.begin()),
                        std::make_move_iterator(before.end()));
    if (!page->more || all.segments.empty()) return all;
    options.after = all.segments.back().first;
    options.priority = all.segments.back().priority;
  }
}

std::future<Result<std::vector<GarbageDescription>>> Admin::collect_garbage_async(
    GarbageAction action, const std::string& queue) {
  v1::Request request;
  v1::CollectGarbage* collect = request.mutable_collect_garbage();
  collect->set_action(to_wire(action));
  collect->set_queue(queue);
  return ask<std::vector<GarbageDescription>>(
      core_, std::move(request), true, [](const v1::Reply& reply) {
        std::vector<GarbageDescription> nodes;
        for (const auto& node : reply.collect_garbage_ok().nodes()) {
          nodes.push_back(from_wire(node));
        }
        return nodes;
      });
}

Result<std::vector<GarbageDescription>> Admin::collect_garbage(GarbageAction action,
                                                               const std::string& queue) {
  return wait<std::vector<GarbageDescription>>(
      core_, [&] { return collect_garbage_async(action, queue); });
}

std::future<Result<ClusterDescription>> Admin::cluster_status_async() {
  v1::Request request;
  request.mutable_cluster_status();
  return ask<ClusterDescription>(core_, std::move(request), true, [](const v1::Reply& reply) {
    return from_wire(reply.cluster_status_ok());
  });
}

Result<ClusterDescription> Admin::cluster_status() {
  return wait<ClusterDescription>(core_, [&] { return cluster_status_async(); });
}

}  // namespace segue::client
