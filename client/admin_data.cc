// What Admin does with the data that nodes keep: backups, browsing (class Admin).
#include <future>
#include <memory>
#include <utility>

#include "client/connection_core.h"
#include "client/convert.h"
#include "common/message_batch.h"
#include "segue/admin.h"

namespace segue::client {

namespace {

Error on_io_thread() {
  return {ErrorCode::kNotAllowed,
          {},
          "a call that waits was made on the I/O thread; use its _async form there"};
}

Result<Admin::BrowsePage> page_of(const v1::BrowseOk& wire, const SharedBytes& bodies) {
  Admin::BrowsePage page;
  page.through = wire.through();
  page.more = wire.more();
  page.corrupt = wire.corrupt();
  if (!wire.has_batch()) return page;
  const auto batch =
      MessageBatch::parse(SharedBytes::from(wire.batch().SerializeAsString()), bodies);
  if (!batch.is_ok()) return from_status(batch.status());
  const MessageBatch& messages = **batch;
  page.messages.reserve(messages.count());
  for (std::uint32_t i = 0; i < messages.count(); ++i) {
    const auto header = static_cast<int>(messages.header_number(i));
    if (header >= wire.batch().headers_size()) break;  // checked by parse()
    page.messages.push_back(
        {from_wire(wire.batch().headers(header)), std::string(messages.body(i))});
  }
  return page;
}

v1::Request browse_request(const std::string& queue, std::uint64_t after, std::uint64_t max_bytes,
                           bool delayed) {
  v1::Request request;
  request.mutable_browse()->set_queue(queue);
  request.mutable_browse()->set_after(after);
  request.mutable_browse()->set_max_bytes(max_bytes);
  request.mutable_browse()->set_delayed(delayed);
  return request;
}

std::future<Result<Admin::BrowsePage>> browse_page(ConnectionCore& core, v1::Request request) {
  auto promise = std::make_shared<std::promise<Result<Admin::BrowsePage>>>();
  core.request(std::move(request), true, core.admin_timeout(),
               [promise](const Result<v1::Reply>& reply, const SharedBytes& bodies) {
                 promise->set_value(reply ? page_of(reply->browse_ok(), bodies)
                                          : Result<Admin::BrowsePage>(reply.error()));
               });
  return promise->get_future();
}

}  // namespace

std::future<Result<BackupDescription>> Admin::node_backup_async(BackupAction action,
                                                                const std::string& node,
                                                                const std::string& target) {
  v1::Request request;
  request.mutable_node_backup()->set_action(to_wire(action));
  request.mutable_node_backup()->set_node(node);
  request.mutable_node_backup()->set_target(target);
  auto promise = std::make_shared<std::promise<Result<BackupDescription>>>();
  // A second start would be refused, although the first went well.
  core_.request(
      std::move(request), action != BackupAction::kStart, core_.admin_timeout(),
      [promise](const Result<v1::Reply>& reply, const SharedBytes&) {
        promise->set_value(reply ? Result<BackupDescription>(from_wire(reply->node_backup_ok()))
                                 : Result<BackupDescription>(reply.error()));
      });
  return promise->get_future();
}

Result<BackupDescription> Admin::node_backup(BackupAction action, const std::string& node,
                                             const std::string& target) {
  if (core_.on_io_thread()) return on_io_thread();
  return node_backup_async(action, node, target).get();
}

std::future<Result<Admin::BrowsePage>> Admin::browse_async(const std::string& queue,
                                                           std::uint64_t after,
                                                           std::uint64_t max_bytes) {
  return browse_page(core_, browse_request(queue, after, max_bytes, false));
}

std::future<Result<Admin::BrowsePage>> Admin::browse_delayed_async(const std::string& queue,
                                                                   std::uint64_t after,
                                                                   std::uint64_t max_bytes) {
  return browse_page(core_, browse_request(queue, after, max_bytes, true));
}

Result<Admin::BrowsePage> Admin::browse_delayed(const std::string& queue, std::uint64_t after,
                                                std::uint64_t max_bytes) {
  if (core_.on_io_thread()) return on_io_thread();
  return browse_delayed_async(queue, after, max_bytes).get();
}

std::future<Result<std::uint64_t>> Admin::cancel_delayed_async(
    const std::string& queue, const std::vector<PlaceRange>& places) {
  v1::Request request;
  request.mutable_cancel_delayed()->set_queue(queue);
  for (const PlaceRange& range : places) {
    v1::Range& to = *request.mutable_cancel_delayed()->add_places();
    to.set_first(range.first);
    to.set_last(range.last);
  }
  auto promise = std::make_shared<std::promise<Result<std::uint64_t>>>();
  core_.request(
      std::move(request), false, core_.admin_timeout(),
      [promise](const Result<v1::Reply>& reply, const SharedBytes&) {
        promise->set_value(reply ? Result<std::uint64_t>(reply->cancel_delayed_ok().cancelled())
                                 : Result<std::uint64_t>(reply.error()));
      });
  return promise->get_future();
}

Result<std::uint64_t> Admin::cancel_delayed(const std::string& queue,
                                            const std::vector<PlaceRange>& places) {
  if (core_.on_io_thread()) return on_io_thread();
  return cancel_delayed_async(queue, places).get();
}

Result<Admin::BrowsePage> Admin::browse(const std::string& queue, std::uint64_t after,
                                        std::uint64_t max_bytes) {
  if (core_.on_io_thread()) return on_io_thread();
  return browse_async(queue, after, max_bytes).get();
}

}  // namespace segue::client
