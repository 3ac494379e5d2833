#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/arena.h"
#include "tests/conformance/model.h"
#include "tests/conformance/names.h"
#include "tests/conformance/told.h"

namespace segue::conformance {

/// Runs one program on an arena, and compares what comes of each operation with the model. Nothing
/// of it is left when the object goes. One thread.
class Driver {
 public:
  struct Options {
    Mistake mistake = Mistake::kNone;
    /// For what happens a moment later.
    std::chrono::milliseconds patience{20'000};
    /// Made for the program; empty: the one that is always there.
    std::string vhost{};
    /// Of the virtual host.
    std::optional<std::uint64_t> max_queues{};
  };
  /// `prefix`: of the names of queues and exchanges, another for each program.
  Driver(Arena& arena, const std::string& prefix, const Options& options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// The first difference, for people; empty: there is none.
  std::string run(const Program& program);
  /// The same bit by bit: one operation, and what is left to compare at the end.
  std::string step(const Operation& operation);
  std::string finish();
  /// Operations of programs that were carried out; the others made no sense, or left it open what
  /// comes of them.
  int performed() const { return performed_; }

 private:
  struct Session {
    std::unique_ptr<client::Connection> connection;
    std::shared_ptr<Told> told;
  };

  std::string empty_queues();
  std::string compare_lists();
  /// Of policies, and of what is in force.
  std::string compare_policies();

  Outcome perform(const DeclareExchange& op);
  Outcome perform(const DeleteExchange& op);
  Outcome perform(const DeclareQueue& op);
  Outcome perform(const DeleteQueue& op);
  Outcome perform(const Purge& op);
  Outcome perform(const Bind& op);
  Outcome perform(const Publish& op);
  Outcome perform(const Get& op);
  Outcome perform(const Consume& op);
  Outcome perform(const Cancel& op);
  Outcome perform(const Settle& op);
  Outcome perform(const Browse& op);
  Outcome perform(const CancelDelayed& op);
  Outcome perform(const SetPolicy& op);
  Outcome perform(const DeletePolicy& op);
  Outcome perform(const Reopen& op);
  Outcome perform(const Restart& op);

  client::Admin& admin(int session) { return connection(session).admin(); }
  client::Connection& connection(int session) {
    return *sessions_.at(static_cast<std::size_t>(session)).connection;
  }
  void open(int session);
  void close(int session);

  /// Takes what the model says that consumers are given; a difference, or nothing.
  std::string take_deliveries();
  std::string see_ends();
  std::string see_nothing_more() const;
  /// Waits until the queues' numbers are those of the model.
  std::string wait_for_numbers();
  /// How the numbers differ now.
  std::string compare_numbers();

  Arena& arena_;
  Names names_;
  const Options options_;
  Model model_;
  std::unique_ptr<client::Connection> watcher_;
  std::array<Session, 2> sessions_;
  std::map<int, client::Consumer> consumers_;
  std::map<int, int> session_of_;                            // of a consumer
  std::vector<std::optional<client::Delivery>> deliveries_;  // as the model's handles
  std::optional<client::Delivery> got_;
  std::set<std::string> declared_;
  std::set<std::string> policies_;
  int performed_ = 0;
};

}  // namespace segue::conformance
