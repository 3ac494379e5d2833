#include "tests/conformance/arena.h"

#include <future>
#include <vector>

namespace segue::conformance {

bool Arena::start() {
  cluster_.start_all();
  if (!cluster_.wait_ready()) return false;
  connection_ = std::make_unique<client::Connection>(connect("arena"));
  for (int i = 0; queues_.size() < cluster_.node_ids().size(); ++i) {
    const std::string name = "arena-" + std::to_string(i);
    const auto declared = admin().declare_queue(name);
    if (!declared) return false;
    queues_.emplace(declared->node, name);
  }
  return true;
}

client::Connection Arena::connect(const std::string& name, const std::string& vhost) const {
  client::ConnectionOptions options = cluster_.connection_options(name);
  options.vhost = vhost;
  options.close_timeout = std::chrono::seconds(1);
  return client::Connection::open(std::move(options)).value();
}

client::Status Arena::sync_catalogs() {
  // A change in place is answered when the queue's node has come to it.
  client::QueueOptions options;
  options.update = true;
  options.arguments = {{"x-max-length", 1 + ++changes_}, {"x-overflow", "drop-head"}};
  std::vector<std::future<client::Result<client::DeclaredQueue>>> answers;
  for (const auto& [node, name] : queues_) {
    answers.push_back(admin().declare_queue_async(name, options));
  }
  client::Status all;
  for (auto& answer : answers) {
    if (const auto declared = answer.get(); !declared) all = declared.error();
  }
  return all;
}

client::Status Arena::sync_logs() {
  // A node has one log, and confirms when it is synced.
  client::Status all;
  for (const auto& [node, name] : queues_) {
    auto confirmed =
        connection_->publisher().publish_confirmed(client::Message::to_queue(name, "sync")).get();
    if (!confirmed) all = confirmed.error();
    if (const auto purged = admin().purge_queue(name); !purged) all = purged.error();
  }
  return all;
}

}  // namespace segue::conformance
