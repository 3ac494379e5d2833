#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/cluster_definitions.h"
#include "common/definitions.h"

namespace segue::cli {

/// Asks the cluster for what a document has and it does not: some at a time, virtual hosts first
/// and bindings last. One thread.
class DefinitionsImport {
 public:
  struct Options {
    bool update = false;  // change what is different where that can be done in place
  };

  DefinitionsImport(Console& console, VhostSessions& sessions, Options options)
      : console_(console), sessions_(sessions), options_(options) {}

  /// What is to be done about `wanted`, given what is there.
  void plan(const Definitions& wanted, const Definitions& current);
  /// Does it, until all is answered, nothing more can be done, or the run shall stop.
  /// `on_refusal` is told of each object that the cluster refuses, and why.
  void run(
      const std::function<void(const std::string& object, const std::string& why)>& on_refusal);

  std::size_t equal() const { return equal_; }
  std::size_t made() const { return made_; }
  std::size_t changed() const { return changed_; }
  const std::vector<std::pair<std::string, std::string>>& refusals() const { return refusals_; }
  /// Neither made nor refused: what was left when something failed.
  std::size_t not_done() const { return jobs_.size() - made_ - changed_ - refusals_.size(); }
  /// What failed beside refusals.
  const std::optional<client::Error>& failure() const { return failure_; }
  /// Of a session that could not be opened, which was told.
  const std::optional<int>& exit_code() const { return exit_code_; }

 private:
  using Answer = std::function<client::Status()>;  // waits for it
  struct Job {
    DefinedObject wanted;
    bool exists = false;
  };

  /// Nothing when it cannot be asked.
  std::optional<Answer> ask(const Job& job);
  void finished(const Job& job, const client::Status& status);
  bool stopped() const;

  Console& console_;
  VhostSessions& sessions_;
  Options options_;
  std::vector<Job> jobs_;
  std::set<std::string> vhosts_;  // that are there
  std::size_t equal_ = 0;
  std::size_t made_ = 0;
  std::size_t changed_ = 0;
  std::vector<std::pair<std::string, std::string>> refusals_;
  std::function<void(const std::string&, const std::string&)> on_refusal_;
  std::optional<client::Error> failure_;
  std::optional<int> exit_code_;
};

}  // namespace segue::cli
