#include "cli/demo/demo_run.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/exit_codes.h"
#include "cli/table_output.h"

namespace segue::cli::demo {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The node is away for so long at least, while publishing goes on.
constexpr milliseconds kOutage{1000};
constexpr milliseconds kLook{20};
// How far publishing goes, in parts of a hundred, before what comes next: the node dies at 25, and
// is back before 60 are passed; the router ends at 60, or some more, and 10 are left for
// afterwards.
constexpr std::uint64_t kNodeDies = 25;
constexpr std::uint64_t kNodeIsBack = 60;
constexpr std::uint64_t kRouterEnds = 90;
// Unless told otherwise the whole is published in some ten seconds.
constexpr std::uint64_t kSeconds = 10;
constexpr std::uint64_t kLeastRate = 2000;

std::string in_seconds(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

std::string per_second(std::uint64_t count, Duration time) {
  const double elapsed = std::max(0.001, std::chrono::duration<double>(time).count());
  return grouped(static_cast<std::uint64_t>(static_cast<double>(count) / elapsed)) + "/s";
}

}  // namespace

DemoRun::DemoRun(Console& console, const RecordFile& file, DemoOptions options)
    : console_(console),
      file_(file),
      options_(std::move(options)),
      start_(clock_.now()),
      plan_(file.records().size(), options_.producers, options_.messages),
      books_(file, plan_, queue_plans(file.kind())),
      rate_(options_.rate > 0 ? options_.rate : std::max(kLeastRate, plan_.total() / kSeconds)) {
  for (const QueuePlan& plan : queue_plans(file.kind())) queues_.push_back({plan, 0, {}});
}

int DemoRun::run(DemoDirectory& directory) {
  say("the file: " + printable(options_.file_name) + ", " + grouped(file_.records().size()) +
      (file_.kind() == RecordFile::Kind::kPackages ? " packages, " : " lines, ") +
      human_bytes(file_.bytes()));
  const bool whole = start_cluster(directory.path()) && declare_queues() && start_clients() &&
                     lose_a_node() && restart_the_router() && finish_publishing() &&
                     wait_for_empty_queues();
  if (!pace_) {
    // Nothing was published: there is nothing to report.
    stop_cluster();
    return exit_code_;
  }
  stop_clients();
  stop_cluster();
  // Stopped by hand in the middle: nothing can be said about what was under way.
  if (exit_code_ == kExitInterrupted) return exit_code_;
  const int code = report();
  if (code != kExitOk || !whole) {
    directory.keep();
    say("what is left of the cluster, with its logs: " + directory.path());
  }
  return code;
}

bool DemoRun::start_cluster(const std::string& directory) {
  Result<std::unique_ptr<DemoCluster>> cluster = DemoCluster::start(directory, options_.binaries);
  if (!cluster) return give_up(kExitRefused, cluster.status().message());
  cluster_ = std::move(cluster).value();
  return wait_until("the cluster to be up", [&] {
    if (!connection_) {
      client::ConnectionOptions options;
      options.routers = {cluster_->router_endpoint()};
      options.client_name = "demo";
      options.connect_timeout = milliseconds(500);
      client::Result<client::Connection> connection = client::Connection::open(std::move(options));
      if (!connection) return false;
      connection_.emplace(std::move(connection).value());
    }
    return DemoCluster::serves_everything(*connection_);
  });
}

bool DemoRun::declare_queues() {
  say("a router and " + counted(cluster_->node_ids().size(), "node") +
      " are up: " + cluster_->router_endpoint());
  client::Admin& admin = connection_->admin();
  admin.set_timeout(seconds(20));
  client::ExchangeOptions topic;
  topic.type = "topic";
  const client::Status declared = admin.declare_exchange(kExchange, topic);
  if (!declared) {
    return give_up(kExitRefused, "cannot declare exchange '" + std::string(kExchange) +
                                     "': " + declared.error().to_string());
  }
  std::set<std::string> nodes;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (!declare_queue(i)) return false;
    nodes.insert(queues_[i].node);
  }
  if (nodes.size() < cluster_->node_ids().size()) {
    fail(Check::kPlacement, "the queues sit on " + std::to_string(nodes.size()) + " of " +
                                counted(cluster_->node_ids().size(), "node"));
  }
  say(counted(queues_.size(), "queue") + " on " + counted(nodes.size(), "node") +
      " are bound to the topic exchange '" + kExchange + "'");
  return true;
}

bool DemoRun::declare_queue(std::size_t index) {
  PlacedQueue& queue = queues_[index];
  client::Admin& admin = connection_->admin();
  const client::Result<client::DeclaredQueue> declared = admin.declare_queue(queue.plan.name);
  if (!declared) {
    return give_up(kExitRefused, "cannot declare queue '" + queue.plan.name +
                                     "': " + declared.error().to_string());
  }
  queue.shard = declared->shard;
  queue.node = declared->node;
  for (const std::string& pattern : queue.plan.patterns) {
    const client::Status bound = admin.bind({kExchange, queue.plan.name, pattern, {}});
    if (bound) continue;
    return give_up(kExitRefused, "cannot bind queue '" + queue.plan.name + "' by '" + pattern +
                                     "': " + bound.error().to_string());
  }
  return true;
}

bool DemoRun::start_clients() {
  const std::string& router = cluster_->router_endpoint();
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    auto consumer = QueueConsumer::start(router, queues_[i].plan.name, i, books_);
    if (!consumer) {
      return give_up(kExitRefused, "cannot consume queue '" + queues_[i].plan.name +
                                       "': " + consumer.error().to_string());
    }
    consumers_.push_back(std::move(consumer).value());
  }
  publishing_since_ = clock_.now();
  pace_.emplace(rate_, publishing_since_);
  const ProducerContext context{file_, plan_, books_, *pace_, router, options_.deadline};
  for (std::size_t i = 0; i < plan_.producers(); ++i) {
    auto producer = Producer::start(context, i);
    if (!producer) {
      return give_up(kExitRefused, "cannot connect producer " + std::to_string(i + 1) + ": " +
                                       producer.error().to_string());
    }
    producers_.push_back(std::move(producer).value());
  }
  say(std::to_string(plan_.producers()) + " producers publish " +
      counted(plan_.total(), "message") + " (" + grouped(plan_.passes()) + " passes), " +
      grouped(rate_) + "/s at first; each queue is consumed");
  return true;
}

std::string DemoRun::choose_victim() {
  if (!options_.victim.empty()) return options_.victim;
  // The busiest queue whose node does not hold the one that everything goes into, so that some
  // messages need not wait for the node's return.
  const PlacedQueue* busiest = nullptr;
  std::uint64_t most = 0;
  for (std::size_t i = 1; i < queues_.size(); ++i) {
    const auto messages = books_.with([&](const Checker& checker) { return checker.expected(i); });
    if (queues_[i].node == queues_[0].node || messages <= most) continue;
    most = messages;
    busiest = &queues_[i];
  }
  return busiest != nullptr ? busiest->node : queues_[0].node;
}

std::string DemoRun::queues_of(const std::string& node) const {
  std::string names;
  for (const PlacedQueue& queue : queues_) {
    if (queue.node == node) names += (names.empty() ? "" : ", ") + queue.plan.name;
  }
  return names.empty() ? "no queues" : names;
}

bool DemoRun::lose_a_node() {
  const std::uint64_t total = plan_.total();
  pace_->set_limit(total * kNodeIsBack / 100);
  if (!wait_until("a quarter of the confirms",
                  [&] { return confirmed() >= total * kNodeDies / 100; })) {
    return false;
  }
  const std::string victim = choose_victim();
  const std::uint64_t before = confirmed();
  const Status killed = cluster_->kill(victim);
  if (!killed.is_ok()) return fail(Check::kProcesses, killed.message());
  const TimePoint died = clock_.now();
  say("SIGKILL for node " + victim + " (" + queues_of(victim) + ") after " + grouped(before) +
      " confirms");
  // Not before the router knows: what it had sent to the node is then on its way again.
  if (!wait_until("the router to miss node " + victim, [&] {
        return clock_.now() >= died + kOutage && DemoCluster::misses(*connection_, victim);
      })) {
    return false;
  }
  const std::uint64_t during = confirmed() - before;
  const Status started = cluster_->start_again(victim);
  if (!started.is_ok()) return fail(Check::kProcesses, started.message());
  say("node " + victim + " was missed and is started again; in " + in_seconds(clock_.now() - died) +
      " without it " + counted(during, "message") + " were confirmed");
  const TimePoint back = clock_.now();
  if (!wait_until("node " + victim + " to serve its shards",
                  [&] { return DemoCluster::serves_everything(*connection_); })) {
    return false;
  }
  say("node " + victim + " serves its shards, " + in_seconds(clock_.now() - back) + " later");
  return true;
}

bool DemoRun::restart_the_router() {
  const std::uint64_t total = plan_.total();
  const std::string router = DemoCluster::kRouter;
  pace_->set_limit(total * kRouterEnds / 100);
  if (!wait_until("more than half of the confirms",
                  [&] { return confirmed() >= total * kNodeIsBack / 100; })) {
    return false;
  }
  const TimePoint since = clock_.now();
  const Status ended = cluster_->terminate(router);
  if (!ended.is_ok()) return fail(Check::kProcesses, ended.message());
  const Status started = cluster_->start_again(router);
  if (!started.is_ok()) return fail(Check::kProcesses, started.message());
  say("router " + router + " was stopped and is started again");
  const std::uint64_t before = confirmed();
  pace_->set_limit(total);
  if (!wait_until("router " + router + " to take up its work", [&] {
        const std::uint64_t now = confirmed();
        return DemoCluster::serves_everything(*connection_) && (now > before || now == total);
      })) {
    return false;
  }
  say("clients are connected again and confirms come, " + in_seconds(clock_.now() - since) +
      " after it began to stop");
  return true;
}

bool DemoRun::finish_publishing() {
  pace_->lift_rate();
  if (!wait_until("every message to be confirmed and consumed", [&] {
        return books_.with([](const Checker& checker) { return checker.complete(); });
      })) {
    return false;
  }
  say("everything is confirmed and consumed");
  return true;
}

bool DemoRun::queues_are_empty() {
  connection_->admin().set_timeout(seconds(2));
  for (const PlacedQueue& queue : queues_) {
    const auto status = connection_->admin().queue_status(queue.plan.name);
    if (!status || !status->available || status->ready + status->unacked > 0) return false;
  }
  return true;
}

bool DemoRun::wait_for_empty_queues() {
  constexpr seconds kSettling{10};
  publishing_time_ = clock_.now() - publishing_since_;
  const TimePoint until = clock_.now() + kSettling;
  bool empty = false;
  if (!wait_until("the queues to be empty", [&] {
        empty = queues_are_empty();
        return empty || clock_.now() >= until;
      })) {
    return false;
  }
  if (empty) return true;
  for (const PlacedQueue& queue : queues_) {
    const auto status = connection_->admin().queue_status(queue.plan.name);
    if (!status) {
      fail(Check::kLeftOver, "queue '" + queue.plan.name + "': " + status.error().to_string());
    } else if (!status->available || status->ready + status->unacked > 0) {
      fail(Check::kLeftOver, "queue '" + queue.plan.name + "' has " + grouped(status->ready) +
                                 " ready and " + grouped(status->unacked) + " unacked messages");
    }
  }
  return true;
}

void DemoRun::stop_clients() {
  console_.end_progress();
  if (publishing_time_.count() == 0) publishing_time_ = clock_.now() - publishing_since_;
  pace_->stop();
  producers_.clear();
  for (const auto& consumer : consumers_) consumer->stop();
  connection_.reset();
}

void DemoRun::stop_cluster() {
  connection_.reset();
  if (!cluster_) return;
  if (!cluster_->stop()) {
    fail(Check::kProcesses, "not every process stopped in time in the end");
  }
}

int DemoRun::report() {
  std::vector<QueueReport> rows;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const PlacedQueue& queue = queues_[i];
    rows.push_back({queue.plan.name, queue.plan.patterns, queue.shard, queue.node,
                    books_.with([&](const Checker& checker) { return checker.counts(i); }),
                    i < consumers_.size() ? consumers_[i]->active() : Duration{0}});
  }
  const std::uint64_t all = confirmed();
  const std::vector<Finding> findings =
      books_.with([](Checker& checker) { return checker.finish(); });
  console_.write("\n" + report_table(rows) + "\n" + counted(all, "message") + " confirmed in " +
                 in_seconds(publishing_time_) + ", " + per_second(all, publishing_time_) + "\n" +
                 report_findings(findings));
  console_.flush();
  if (exit_code_ != kExitOk) return exit_code_;
  return all_passed(findings) ? kExitOk : kExitRefused;
}

std::uint64_t DemoRun::confirmed() {
  return books_.with([](const Checker& checker) { return checker.confirmed(); });
}

void DemoRun::tell_progress(const std::string& waiting_for) {
  std::uint64_t consumed = 0;
  std::uint64_t expected = 0;
  books_.with([&](const Checker& checker) {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      consumed += checker.counts(i).consumed;
      expected += checker.expected(i);
    }
  });
  console_.progress("[" + in_seconds(clock_.now() - start_) + "] confirmed " +
                    grouped(confirmed()) + " of " + grouped(plan_.total()) + ", consumed " +
                    grouped(consumed) + " of " + grouped(expected) + "; waiting for " +
                    waiting_for);
}

bool DemoRun::wait_until(const std::string& waiting_for, const std::function<bool()>& done) {
  while (!done()) {
    if (console_.stop_requested()) return give_up(kExitInterrupted, "interrupted");
    const std::vector<std::string> deaths = cluster_->unexpected_deaths();
    for (const std::string& death : deaths) {
      say(death);
      fail(Check::kProcesses, death.substr(0, death.find('\n')));
    }
    if (!deaths.empty()) return give_up(kExitRefused, "a process died by itself");
    if (clock_.now() - start_ >= options_.deadline) {
      tell_queues();
      return give_up(kExitTimeout, "not done within " + in_seconds(options_.deadline) +
                                       ", waiting for " + waiting_for + " with " +
                                       grouped(confirmed()) + " of " +
                                       counted(plan_.total(), "message") +
                                       " confirmed; --deadline gives it more time");
    }
    tell_progress(waiting_for);
    console_.wait_readable(-1, static_cast<int>(kLook.count()));
  }
  return true;
}

void DemoRun::tell_queues() {
  if (!connection_) return;
  connection_->admin().set_timeout(seconds(2));
  for (std::size_t i = 0; i < consumers_.size(); ++i) {
    const std::string& name = queues_[i].plan.name;
    const auto status = connection_->admin().queue_status(name);
    say("queue " + name + ": " +
        (status ? grouped(status->ready) + " ready, " + grouped(status->unacked) + " unacked, " +
                      counted(status->consumers, "consumer") + ", " +
                      grouped(status->delivered_total) + " delivered"
                : status.error().to_string()) +
        "; " + grouped(consumers_[i]->buffered()) + " arrived and not taken yet");
  }
}

bool DemoRun::give_up(int exit_code, const std::string& why) {
  exit_code_ = exit_code;
  console_.note("segue: the demo stops early: " + why);
  return false;
}

bool DemoRun::fail(Check check, const std::string& what) {
  books_.with([&](Checker& checker) { checker.fail(check, what); });
  return false;
}

void DemoRun::say(const std::string& line) {
  console_.write("[" + in_seconds(clock_.now() - start_) + "] " + line + "\n");
  console_.flush();
}

}  // namespace segue::cli::demo
