#include "tests/conformance/driver.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

namespace segue::conformance {
namespace {

/// Whether what nodes do with dead letters may be different after it.
bool changes_topology(const Operation& operation) {
  return !std::holds_alternative<Publish>(operation) && !std::holds_alternative<Get>(operation) &&
         !std::holds_alternative<Settle>(operation) && !std::holds_alternative<Purge>(operation) &&
         !std::holds_alternative<Browse>(operation) &&
         !std::holds_alternative<CancelDelayed>(operation);
}

bool changes_policies(const Operation& operation) {
  return std::holds_alternative<SetPolicy>(operation) ||
         std::holds_alternative<DeletePolicy>(operation);
}

/// Lines of both that are not in the other.
std::string compare(const std::set<std::string>& expected, const std::set<std::string>& observed) {
  std::string difference;
  for (const std::string& line : expected) {
    if (!observed.contains(line)) difference += "not there: " + line + "\n";
  }
  for (const std::string& line : observed) {
    if (!expected.contains(line)) difference += "should not be there: " + line + "\n";
  }
  return difference;
}

std::string text_of(const Model::Numbers& numbers) {
  return std::to_string(numbers.ready) + " ready, " + std::to_string(numbers.unacked) +
         " unacked, " + std::to_string(numbers.letters) + " dead letters, " +
         std::to_string(numbers.consumers) + " consumers, " + std::to_string(numbers.delayed) +
         " delayed, " + std::to_string(numbers.ids) + " ids";
}

std::string differs(const std::string& what, const std::string& expected,
                    const std::string& observed) {
  return what + "\n    expected: " + expected + "\n    observed: " + observed + "\n";
}

}  // namespace

Driver::Driver(Arena& arena, const std::string& prefix, const Options& options)
    : arena_(arena), names_(prefix), options_(options), model_(options.mistake) {
  if (!options_.vhost.empty()) {
    client::VhostOptions limits;
    limits.max_queues = options_.max_queues;
    (void)arena_.admin().declare_vhost(options_.vhost, limits);
  }
  model_.limit_queues(options_.max_queues);
  watcher_ = std::make_unique<client::Connection>(
      arena_.connect(names_.prefix() + "watcher", options_.vhost));
  for (int session = 0; session < 2; ++session) open(session);
}

Driver::~Driver() {
  for (int session = 0; session < 2; ++session) close(session);
  if (!options_.vhost.empty()) {
    (void)watcher_->close();
    (void)arena_.admin().delete_vhost(options_.vhost);
    return;
  }
  client::Admin& admin = watcher_->admin();
  for (const std::string& name : declared_) {
    const std::string there = names_.there(name);
    if (is_queue_name(name)) {
      (void)admin.delete_queue(there);
    } else {
      (void)admin.delete_exchange(there);
    }
  }
  for (const std::string& name : policies_) (void)admin.delete_policy(names_.prefix() + name);
}

void Driver::open(int session) {
  Session& of = sessions_.at(static_cast<std::size_t>(session));
  of.connection = std::make_unique<client::Connection>(
      arena_.connect(names_.prefix() + "s" + std::to_string(session), options_.vhost));
  of.told = std::make_shared<Told>();
  of.told->listen(of.connection->publisher(), of.told);
}

void Driver::close(int session) {
  Session& of = sessions_.at(static_cast<std::size_t>(session));
  if (of.connection) (void)of.connection->close();
  std::erase_if(consumers_,
                [&](const auto& entry) { return session_of_.at(entry.first) == session; });
  of.connection.reset();
}

std::string Driver::run(const Program& program) {
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (std::string difference = step(program[i]); !difference.empty()) {
      return "at operation " + std::to_string(i + 1) + ": " + difference;
    }
  }
  return finish();
}

std::string Driver::finish() {
  if (std::string difference = compare_lists(); !difference.empty()) {
    return "at the end: " + difference;
  }
  std::string difference = empty_queues();
  return difference.empty() ? "" : "after the end: " + difference;
}

/// Ends sessions, and looks at and takes all that queues hold.
std::string Driver::empty_queues() {
  Program rest;
  for (int session = 0; session < 2; ++session) rest.push_back(Reopen{session});
  for (const auto& [name, queue] : model_.queues()) rest.push_back(Browse{0, name});
  for (const Operation& operation : rest) {
    if (std::string difference = step(operation); !difference.empty()) return difference;
  }
  for (const auto& queue : std::map(model_.queues())) {
    // What comes to it meanwhile, comes from the letters of others.
    for (int i = 0; i < 200; ++i) {
      const auto now = model_.queues().find(queue.first);
      if (now == model_.queues().end() || now->second.ready.empty()) break;
      const std::string difference = step(Get{0, queue.first, i % 2 == 0});
      if (!difference.empty()) return difference;
    }
  }
  return "";
}

std::string Driver::step(const Operation& operation) {
  Model next = model_;
  const auto expected = next.apply(operation);
  if (!expected) return "";
  model_ = std::move(next);
  ++performed_;
  got_.reset();
  const Outcome observed = std::visit([this](const auto& op) { return perform(op); }, operation);
  std::string difference;
  if (!fits(*expected, observed)) {
    difference = differs("the outcome", to_text(*expected), to_text(observed));
  }
  deliveries_.resize(model_.handles().size());
  if (got_ && difference.empty()) deliveries_[model_.handle()] = got_;
  if (difference.empty()) difference = take_deliveries();
  if (difference.empty()) difference = see_ends();
  if (difference.empty()) difference = wait_for_numbers();
  // Until it is logged that they died, letters are not counted yet: as if they were gone already.
  if (difference.empty() && model_.lost_letters()) {
    if (const auto synced = arena_.sync_logs(); !synced) difference = synced.error().to_string();
    if (difference.empty()) difference = wait_for_numbers();
  }
  if (difference.empty()) difference = see_nothing_more();
  const bool syncs = changes_policies(operation) ||
                     (changes_topology(operation) && model_.has_dead_letter_exchanges());
  if (difference.empty() && syncs) {
    if (const auto synced = arena_.sync_catalogs(); !synced)
      difference = synced.error().to_string();
  }
  if (const auto dead = arena_.cluster().check(); !dead.empty()) {
    difference += dead.front() + " ended by itself\n";
  }
  return difference.empty() ? "" : to_text(operation) + "\n  " + difference;
}

std::string Driver::take_deliveries() {
  for (const Model::Delivered& expected : model_.delivered()) {
    const std::string to = "what c" + std::to_string(expected.consumer) + " is given";
    const auto delivery = consumers_.at(expected.consumer).next(options_.patience);
    if (!delivery) return differs(to, to_text(expected.seen), delivery.error().to_string());
    const Seen observed = names_.seen(*delivery);
    if (!fits(expected.seen, observed)) {
      return differs(to, to_text(expected.seen), to_text(observed));
    }
    if (expected.handle) deliveries_[*expected.handle] = *delivery;
  }
  return "";
}

std::string Driver::see_ends() {
  for (const int consumer : model_.ended()) {
    const auto delivery = consumers_.at(consumer).next(options_.patience);
    if (delivery || delivery.error().code != ErrorCode::kNotFound) {
      return differs("what c" + std::to_string(consumer) + " is told", "NOT_FOUND",
                     delivery ? to_text(names_.seen(*delivery)) : delivery.error().to_string());
    }
    consumers_.erase(consumer);
  }
  return "";
}

std::string Driver::see_nothing_more() const {
  for (const auto& [number, consumer] : consumers_) {
    if (consumer.buffered() > 0) {
      return "c" + std::to_string(number) + " is given more than expected\n";
    }
  }
  return "";
}

std::string Driver::wait_for_numbers() {
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  for (;;) {
    std::string difference = compare_numbers();
    if (difference.empty() || std::chrono::steady_clock::now() >= deadline) return difference;
    std::this_thread::yield();
  }
}

std::string Driver::compare_numbers() {
  std::vector<std::pair<std::string, std::future<client::Result<client::QueueDescription>>>> asked;
  for (const std::string& name : declared_) {
    if (!is_queue_name(name)) continue;
    asked.emplace_back(name, watcher_->admin().queue_status_async(names_.there(name)));
  }
  std::string difference;
  for (auto& [name, answer] : asked) {
    const auto status = answer.get();
    const auto known = model_.queues().find(name);
    const std::string expected =
        known == model_.queues().end() ? "NOT_FOUND" : text_of(model_.numbers(known->second));
    std::string observed;
    if (!status) {
      observed = client::error_code_name(status.error().code);
    } else if (!status->available) {
      observed = "its node does not answer";
    } else {
      observed = text_of({status->ready, status->unacked, status->dead_lettering, status->consumers,
                          status->delayed, status->dedupe_entries});
    }
    if (observed != expected) difference = differs("queue " + name, expected, observed);
  }
  return difference;
}

std::string Driver::compare_lists() {
  std::set<std::string> expected;
  std::set<std::string> observed;
  const auto queue_line = [](const auto& queue, const std::string& name, const Table& arguments) {
    return to_text(Operation(DeclareQueue{0, name, queue.durable, queue.exclusive,
                                          queue.auto_delete, false, arguments}));
  };
  const auto exchange_line = [](const auto& exchange, const std::string& name,
                                const Table& arguments) {
    return to_text(Operation(DeclareExchange{0, name, exchange.type, exchange.durable,
                                             exchange.auto_delete, exchange.internal, arguments}));
  };
  for (const auto& [name, queue] : model_.queues()) {
    expected.insert(queue_line(queue.as, name, queue.as.arguments));
  }
  for (const auto& [name, exchange] : model_.topology().exchanges()) {
    expected.insert(exchange_line(exchange, name, exchange.arguments));
  }
  for (const auto& binding : model_.topology().bindings()) {
    expected.insert(to_text(
        Operation(Bind{0, false, binding.exchange, binding.to, binding.key, binding.arguments})));
  }
  const auto queues = watcher_->admin().list_all_queues(true);
  const auto exchanges = watcher_->admin().list_all_exchanges();
  const auto bindings = watcher_->admin().list_all_bindings();
  if (!queues || !exchanges || !bindings) return "the lists are not to be had\n";
  const auto ours = [&](const std::string& name) { return name.starts_with(names_.prefix()); };
  for (const auto& queue : *queues) {
    if (!ours(queue.name)) continue;
    observed.insert(queue_line(queue, names_.here(queue.name), names_.here(queue.arguments)));
  }
  for (const auto& exchange : *exchanges) {
    if (!ours(exchange.name)) continue;
    observed.insert(
        exchange_line(exchange, names_.here(exchange.name), names_.here(exchange.arguments)));
  }
  for (const auto& binding : *bindings) {
    if (!ours(binding.exchange)) continue;
    const std::string& to = binding.to_exchange.empty() ? binding.queue : binding.to_exchange;
    observed.insert(
        to_text(Operation(Bind{0, false, names_.here(binding.exchange), names_.here(to),
                               names_.here(binding.routing_key), names_.here(binding.arguments)})));
  }
  return compare(expected, observed) + compare_policies();
}

std::string Driver::compare_policies() {
  std::set<std::string> expected;
  std::set<std::string> observed;
  for (const auto& [name, policy] : model_.policies()) {
    SetPolicy shown = policy;
    shown.session = 0;
    expected.insert(to_text(Operation(shown)));
  }
  const auto policies = watcher_->admin().list_all_policies();
  if (!policies) return "the policies are not to be had\n";
  for (const auto& policy : *policies) {
    if (!policy.name.starts_with(names_.prefix())) continue;
    observed.insert(to_text(
        Operation(SetPolicy{0, names_.here(policy.name), names_.pattern_here(policy.pattern),
                            policy.apply_to, policy.priority, names_.here(policy.definition)})));
  }
  for (const auto& [name, queue] : model_.queues()) {
    for (const auto& [argument, value] : queue.in_force) {
      expected.insert(name + " has " + argument + " " + to_text(value));
    }
    const auto status = watcher_->admin().queue_status(names_.there(name));
    if (!status) continue;
    for (const client::EffectiveSetting& setting : status->effective) {
      const auto* text = setting.value.as<std::string>();
      observed.insert(name + " has " + setting.name + " " +
                      to_text(text == nullptr ? setting.value : Value(names_.here(*text))));
    }
  }
  return compare(expected, observed);
}

}  // namespace segue::conformance
