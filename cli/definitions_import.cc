#include "cli/definitions_import.h"

#include <future>
#include <memory>

#include "cli/table_output.h"
#include "client/convert.h"

namespace segue::cli {

namespace {

/// Requests that may be on their way at a time.
constexpr std::size_t kWindow = 500;

template <typename Answer>
std::function<client::Status()> waiting_for(std::future<Answer> future) {
  auto answer = std::make_shared<std::future<Answer>>(std::move(future));
  return [answer]() -> client::Status {
    const Answer got = answer->get();
    if (!got) return got.error();
    return {};
  };
}

/// What comes when all before it is answered: virtual hosts, what is in them, bindings of that.
int phase_of(const v1::CatalogOperation& operation) {
  if (operation.has_declare_vhost()) return 0;
  return operation.has_bind() ? 2 : 1;
}

/// Whether the next request will fail as well; else it is a matter of this one object.
bool ends_all(client::ErrorCode code) {
  using enum client::ErrorCode;
  switch (code) {
    case kConnectionForced:
    case kFrameError:
    case kChannelError:
    case kInternalError:
    case kShardUnavailable:
    case kStaleEpoch:
    case kCatalogUnavailable:
    case kTimeout:
    case kClosed:
    case kDisconnected:
      return true;
    default:
      return false;
  }
}

client::VhostOptions options_of(const v1::VhostDefinition& vhost) {
  client::VhostOptions options;
  if (vhost.has_max_queues()) options.max_queues = vhost.max_queues();
  if (vhost.has_max_sessions()) options.max_sessions = vhost.max_sessions();
  if (vhost.has_max_bytes()) options.max_bytes = vhost.max_bytes();
  return options;
}

client::ExchangeOptions options_of(const v1::ExchangeDefinition& exchange) {
  client::ExchangeOptions options;
  options.type = exchange.type();
  options.durable = exchange.durable();
  options.auto_delete = exchange.auto_delete();
  options.internal = exchange.internal();
  options.arguments = client::from_wire(exchange.arguments());
  return options;
}

client::QueueOptions options_of(const v1::QueueDefinition& queue) {
  client::QueueOptions options;
  options.durable = queue.durable();
  options.auto_delete = queue.auto_delete();
  options.arguments = client::from_wire(queue.arguments());
  return options;
}

}  // namespace

void DefinitionsImport::plan(const Definitions& wanted, const Definitions& current) {
  const CatalogState there = catalog_of(current);
  for (const auto& [name, vhost] : current.vhosts) vhosts_.insert(name);
  for (DefinedObject& object : objects_of(wanted, sessions_.home())) {
    const Compared compared = compare(object.operation, there);
    if (compared.state == Compared::State::kEqual) {
      ++equal_;
    } else {
      jobs_.push_back({std::move(object), compared.state == Compared::State::kDifferent});
    }
  }
}

bool DefinitionsImport::stopped() const {
  return failure_ || exit_code_ || console_.stop_requested();
}

void DefinitionsImport::run(
    const std::function<void(const std::string& object, const std::string& why)>& on_refusal) {
  on_refusal_ = on_refusal;
  std::deque<std::pair<const Job*, Answer>> waiting;
  const auto finish_one = [&] {
    const auto [job, wait] = std::move(waiting.front());
    waiting.pop_front();
    finished(*job, wait());
  };
  int phase = 0;
  for (const Job& job : jobs_) {
    if (stopped()) break;
    if (std::exchange(phase, phase_of(job.wanted.operation)) != phase) {
      while (!waiting.empty()) finish_one();
    }
    if (waiting.size() >= kWindow) finish_one();
    if (auto answer = ask(job)) waiting.emplace_back(&job, std::move(*answer));
  }
  while (!waiting.empty()) finish_one();
}

std::optional<DefinitionsImport::Answer> DefinitionsImport::ask(const Job& job) {
  const v1::CatalogOperation& operation = job.wanted.operation;
  if (operation.has_declare_vhost()) {
    const v1::VhostDefinition& vhost = operation.declare_vhost().vhost();
    client::VhostOptions options = options_of(vhost);
    options.update = job.exists ? options_.update : operation.declare_vhost().update();
    return waiting_for(sessions_.own().admin().declare_vhost_async(vhost.name(), options));
  }
  if (!vhosts_.contains(job.wanted.vhost)) {
    client::Error missing;
    missing.code = client::ErrorCode::kNotFound;
    missing.text = "there is no virtual host '" + job.wanted.vhost + "'";
    finished(job, missing);
    return std::nullopt;
  }
  int exit_code = 0;
  client::Connection* const connection = sessions_.in(job.wanted.vhost, exit_code);
  if (connection == nullptr) {
    exit_code_ = exit_code;
    return std::nullopt;
  }
  client::Admin& admin = connection->admin();
  if (operation.has_declare_exchange()) {
    const v1::ExchangeDefinition& exchange = operation.declare_exchange().exchange();
    return waiting_for(admin.declare_exchange_async(exchange.name(), options_of(exchange)));
  }
  if (operation.has_declare_queue()) {
    const v1::QueueDefinition& queue = operation.declare_queue().queue();
    client::QueueOptions options = options_of(queue);
    options.update = options_.update;
    return waiting_for(admin.declare_queue_async(queue.name(), options));
  }
  if (operation.has_set_policy()) {
    if (job.exists && !options_.update) {
      client::Error different;
      different.code = client::ErrorCode::kPreconditionFailed;
      different.text = "it is there and different; give --update to replace it";
      finished(job, different);
      return std::nullopt;
    }
    return waiting_for(admin.set_policy_async(client::from_wire(operation.set_policy())));
  }
  const v1::BindingDefinition& binding = operation.bind();
  return waiting_for(
      admin.bind_async({binding.exchange(), binding.queue(), binding.routing_key(),
                        client::from_wire(binding.arguments()), binding.to_exchange()}));
}

void DefinitionsImport::finished(const Job& job, const client::Status& status) {
  if (status) {
    ++(job.exists ? changed_ : made_);
    if (job.wanted.operation.has_declare_vhost()) vhosts_.insert(job.wanted.vhost);
  } else if (!ends_all(status.error().code)) {
    refusals_.emplace_back(job.wanted.text, status.error().text);
    on_refusal_(job.wanted.text, status.error().text);
  } else if (!failure_) {
    failure_ = status.error();
  }
}

}  // namespace segue::cli
