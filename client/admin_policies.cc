// What Admin does with policies (class Admin).
#include <future>
#include <iterator>
#include <utility>

#include "client/admin_calls.h"
#include "client/convert.h"
#include "segue/admin.h"

namespace segue::client {

std::future<Status> Admin::set_policy_async(const PolicyDescription& policy) {
  if (Status fine = check_table(policy.definition); !fine) return refused<void>(fine.error());
  v1::Request request;
  v1::PolicyDefinition* wire = request.mutable_set_policy();
  wire->set_name(policy.name);
  wire->set_pattern(policy.pattern);
  wire->set_apply_to(policy.apply_to);
  wire->set_priority(policy.priority);
  to_wire(policy.definition, wire->mutable_definition());
  return ask(core_, std::move(request));
}

Status Admin::set_policy(const PolicyDescription& policy) {
  return wait<void>(core_, [&] { return set_policy_async(policy); });
}

std::future<Status> Admin::delete_policy_async(const std::string& name) {
  v1::Request request;
  request.mutable_delete_policy()->set_name(name);
  return ask(core_, std::move(request));
}

Status Admin::delete_policy(const std::string& name) {
  return wait<void>(core_, [&] { return delete_policy_async(name); });
}

std::future<Result<Admin::PolicyPage>> Admin::list_policies_async(const ListOptions& options) {
  v1::Request request;
  request.mutable_list_policies()->set_after(options.after);
  request.mutable_list_policies()->set_limit(options.limit);
  return ask<PolicyPage>(core_, std::move(request), true, [](const v1::Reply& reply) {
    PolicyPage page;
    for (const auto& policy : reply.list_policies_ok().policies()) {
      page.policies.push_back(from_wire(policy));
    }
    page.more = reply.list_policies_ok().more();
    return page;
  });
}

Result<Admin::PolicyPage> Admin::list_policies(const ListOptions& options) {
  return wait<PolicyPage>(core_, [&] { return list_policies_async(options); });
}

Result<std::vector<PolicyDescription>> Admin::list_all_policies() {
  std::vector<PolicyDescription> all;
  ListOptions options;
  while (true) {
    Result<PolicyPage> page = list_policies(options);
    if (!page) return page.error();
    std::move(page->policies.begin(), page->policies.end(), std::back_inserter(all));
    if (!page->more || page->policies.empty()) return all;
    options.after = all.back().name;
  }
}

}  // namespace segue::client
