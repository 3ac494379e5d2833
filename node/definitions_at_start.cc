#include "node/definitions_at_start.h"

#include <algorithm>
#include <utility>

#include "common/random.h"
#include "node/catalog_checks.h"

namespace segue::node {
namespace {

// Bounds a turn, and what is on its way to the log.
constexpr std::size_t kAsksPerTurn = 500;
constexpr std::size_t kMostAsked = 5000;
constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(30);
// Every queue that a catalog can have; the cluster's own limit is looked at when it is asked.
constexpr std::uint32_t kAnyNumberOfQueues = UINT32_MAX;

/// The rules that a document breaks whatever else exists: a catalog that has nothing but what came
/// before in the documents takes each object, or lacks what the cluster may have.
class Trial {
 public:
  Trial() : rules_(kAnyNumberOfQueues, random_) {
    v1::CatalogEntry entry;
    entry.set_index(1);
    entry.add_changes()->mutable_cluster_created()->set_shard_count(1);
    state_.apply(entry);
  }

  Status take(const v1::CatalogOperation& operation) {
    CatalogDecision decision = rules_.decide(state_, operation);
    const bool may_be_elsewhere =
        decision.status.code() == Code::kNotFound || decision.status.code() == Code::kResourceError;
    if (!decision.status.is_ok()) return may_be_elsewhere ? Status() : decision.status;
    v1::CatalogEntry entry;
    entry.set_index(state_.index().value + 1);
    for (v1::CatalogChange& change : decision.changes) *entry.add_changes() = std::move(change);
    state_.apply(entry);
    return {};
  }

 private:
  SystemRandom random_;
  CatalogState state_;
  CatalogRules rules_;
};

}  // namespace

Result<std::vector<DefinitionsDocument>> load_definitions_documents(
    const std::vector<std::string>& paths) {
  std::vector<DefinitionsDocument> documents;
  Trial trial;
  for (const std::string& path : paths) {
    Result<ReadDefinitions> read = load_definitions(path);
    if (!read) return read.status();
    for (const DefinedObject& object : objects_of(read->definitions, std::string(kDefaultVhost))) {
      const Status taken = trial.take(object.operation);
      if (taken) continue;
      const bool home = object.vhost == kDefaultVhost;
      return Status(Code::kInvalidConfig,
                    path + ": " + taken.message() +
                        (home ? "" : " (in virtual host " + quoted_name(object.vhost) + ")"));
    }
    documents.push_back({path, std::move(*read)});
  }
  return documents;
}

DefinitionsAtStart::DefinitionsAtStart(std::vector<DefinitionsDocument> documents,
                                       CatalogLeader& leader, Logger& log)
    : counts_(documents.size()), leader_(leader), log_(log) {
  for (DefinitionsDocument& document : documents) {
    for (const DefinitionNote& note : document.read.notes) {
      log_.info(note.left_out ? "definition_left_out" : "definition_adapted",
                {{"document", document.path}, {"object", note.object}, {"detail", note.text}});
    }
    for (DefinedObject& object :
         objects_of(std::exchange(document.read.definitions, {}), std::string(kDefaultVhost))) {
      objects_.push_back({std::move(object), paths_.size()});
    }
    paths_.push_back(std::move(document.path));
  }
  failed_ = objects_.size();
}

void DefinitionsAtStart::step(TimePoint now) {
  if (state_ == State::kDone) return;
  if (state_ == State::kWaiting) {
    if (now < retry_at_) return;
    state_ = State::kAsking;
  }
  for (std::size_t looked = 0; looked < kAsksPerTurn && can_ask(); ++looked) ask(next_++);
  if (asked_ > 0) return;
  if (failed_ < objects_.size()) return tell_waiting(now);
  if (next_ >= objects_.size()) finish();
}

bool DefinitionsAtStart::can_ask() const {
  // What comes later may need what failed.
  return next_ < objects_.size() && asked_ < kMostAsked && failed_ == objects_.size();
}

void DefinitionsAtStart::ask(std::size_t number) {
  Object& object = objects_[number];
  if (object.outcome != Outcome::kOpen) return;
  Counts& counts = counts_[object.document];
  const Compared compared = compare(object.wanted.operation, leader_.asked());
  if (compared.state == Compared::State::kEqual) {
    ++counts.equal;
    object.outcome = Outcome::kTold;
    return;
  }
  if (compared.state == Compared::State::kDifferent) {
    ++counts.different;
    object.outcome = Outcome::kTold;
    return log_.warn("definition_differs", {{"document", paths_[object.document]},
                                            {"object", object.wanted.text},
                                            {"difference", compared.difference},
                                            {"detail", "it is left as it is"}});
  }
  object.outcome = Outcome::kAsked;
  ++asked_;
  const Status allowed = leader_.submit(
      object.wanted.operation,
      [this, number](const v1::CatalogOutcome& outcome) { answered(number, outcome); });
  if (allowed) return;
  ++counts.refused;
  object.outcome = Outcome::kTold;
  log_.warn(
      "definition_refused",
      {{"document", paths_[object.document]}, {"object", object.wanted.text}, {"reason", allowed}});
}

void DefinitionsAtStart::answered(std::size_t number, const v1::CatalogOutcome& outcome) {
  Object& object = objects_[number];
  --asked_;
  if (object.outcome == Outcome::kTold) return;  // refused
  if (!outcome.has_error()) {
    ++counts_[object.document].made;
    object.outcome = Outcome::kTold;
  } else {
    object.outcome = Outcome::kOpen;
    if (number < failed_) why_ = outcome.error().text();
    failed_ = std::min(failed_, number);
  }
}

void DefinitionsAtStart::tell_waiting(TimePoint now) {
  const Object& object = objects_[failed_];
  const auto open = std::count_if(objects_.begin(), objects_.end(),
                                  [](const Object& one) { return one.outcome == Outcome::kOpen; });
  log_.warn("definitions_wait", {{"document", paths_[object.document]},
                                 {"object", object.wanted.text},
                                 {"objects", std::int64_t{open}},
                                 {"reason", why_},
                                 {"detail", "tried again until it can be made"}});
  first_pass_ = false;
  next_ = std::exchange(failed_, objects_.size());
  pause_ = pause_ == Duration() ? kFirstPause : std::min<Duration>(pause_ * 2, kLongestPause);
  retry_at_ = now + pause_;
  state_ = State::kWaiting;
}

void DefinitionsAtStart::finish() {
  for (std::size_t document = 0; document < paths_.size(); ++document) {
    const Counts& counts = counts_[document];
    log_.info("definitions_applied", {{"document", paths_[document]},
                                      {"made", counts.made},
                                      {"equal", counts.equal},
                                      {"different", counts.different},
                                      {"refused", counts.refused}});
  }
  state_ = State::kDone;
  first_pass_ = false;
  objects_ = {};
  failed_ = 0;
}

}  // namespace segue::node
