// What Admin does with virtual hosts (class Admin).
#include <future>
#include <iterator>
#include <utility>

#include "client/admin_calls.h"
#include "client/convert.h"
#include "segue/admin.h"

namespace segue::client {

namespace {

VhostDescription described(const v1::VhostDescription& wire) {
  const v1::VhostDefinition& limits = wire.definition();
  VhostDescription vhost;
  vhost.name = limits.name();
  if (limits.has_max_queues()) vhost.max_queues = limits.max_queues();
  if (limits.has_max_sessions()) vhost.max_sessions = limits.max_sessions();
  if (limits.has_max_bytes()) vhost.max_bytes = limits.max_bytes();
  vhost.queues = wire.queues();
  vhost.sessions = wire.sessions();
  vhost.bytes = wire.bytes();
  return vhost;
}

}  // namespace

std::future<Status> Admin::declare_vhost_async(const std::string& name,
                                               const VhostOptions& options) {
  v1::Request request;
  v1::VhostDeclare* declare = request.mutable_vhost_declare();
  declare->set_update(options.update);
  v1::VhostDefinition* vhost = declare->mutable_vhost();
  vhost->set_name(name);
  if (options.max_queues) vhost->set_max_queues(*options.max_queues);
  if (options.max_sessions) vhost->set_max_sessions(*options.max_sessions);
  if (options.max_bytes) vhost->set_max_bytes(*options.max_bytes);
  return ask(core_, std::move(request));
}

Status Admin::declare_vhost(const std::string& name, const VhostOptions& options) {
  return wait<void>(core_, [&] { return declare_vhost_async(name, options); });
}

std::future<Status> Admin::delete_vhost_async(const std::string& name) {
  v1::Request request;
  request.mutable_vhost_delete()->set_name(name);
  return ask(core_, std::move(request));
}

Status Admin::delete_vhost(const std::string& name) {
  return wait<void>(core_, [&] { return delete_vhost_async(name); });
}

std::future<Result<Admin::VhostPage>> Admin::list_vhosts_async(const ListOptions& options) {
  v1::Request request;
  request.mutable_list_vhosts()->set_after(options.after);
  request.mutable_list_vhosts()->set_limit(options.limit);
  return ask<VhostPage>(core_, std::move(request), true, [](const v1::Reply& reply) {
    VhostPage page;
    for (const auto& vhost : reply.list_vhosts_ok().vhosts()) {
      page.vhosts.push_back(described(vhost));
    }
    page.more = reply.list_vhosts_ok().more();
    return page;
  });
}

Result<Admin::VhostPage> Admin::list_vhosts(const ListOptions& options) {
  return wait<VhostPage>(core_, [&] { return list_vhosts_async(options); });
}

Result<std::vector<VhostDescription>> Admin::list_all_vhosts() {
  std::vector<VhostDescription> all;
  ListOptions options;
  while (true) {
    Result<VhostPage> page = list_vhosts(options);
    if (!page) return page.error();
    std::move(page->vhosts.begin(), page->vhosts.end(), std::back_inserter(all));
    if (!page->more || page->vhosts.empty()) return all;
    options.after = all.back().name;
  }
}

}  // namespace segue::client
