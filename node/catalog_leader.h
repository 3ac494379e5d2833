#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "common/catalog_state.h"
#include "common/clock.h"
#include "common/logging.h"
#include "common/random.h"
#include "node/catalog_rules.h"
#include "node/replicated_log.h"
#include "node/router_lives.h"
#include "segue/v1/catalog.pb.h"

namespace segue::node {

/// Leads the catalog: checks operations against everything that was asked for before them, logs
/// what they change as one entry for each turn of the loop, and answers when the entry is
/// committed. Also deletes the exclusive queues of routers that are gone. The catalog's index is
/// the index in its log. No I/O; reactor's thread.
class CatalogLeader final : public LogFollower {
 public:
  struct Options {
    std::string cluster;
    std::uint32_t shard_count = 32;
    std::vector<std::string> node_ids;  // of the configuration; they get the shards at creation
    std::uint32_t max_queues = 1'000'000;
    Duration router_grace = std::chrono::seconds(30);
  };
  using Reply = std::function<void(const v1::CatalogOutcome&)>;
  /// Gets every entry once it is committed, in order, before its operations are answered.
  using Apply = std::function<void(const v1::CatalogEntry&)>;

  /// The references outlive the leader; `log` is the catalog's.
  CatalogLeader(Options options, ReplicatedLog& log, Random& random, Logger& log_lines,
                Apply apply);

  /// Takes over with what is committed so far. An empty catalog gets its cluster, with a node for
  /// each shard. INVALID_CONFIG when the catalog is another cluster's or has another number of
  /// shards; NO_SPACE when the creation cannot be logged.
  Status start(const CatalogState& committed, TimePoint now);

  /// `reply` is called once, out of submit(), end_turn() or on_committed(). What is returned is
  /// what the rules say; when they do not refuse, an error in the reply means that the log did not
  /// take it.
  Status submit(const v1::CatalogOperation& operation, Reply reply);
  /// The catalog with all that was asked for, committed or not. Its index means nothing.
  const CatalogState& asked() const { return asked_; }
  void router_up(const std::string& router, std::uint64_t incarnation);
  void router_down(const std::string& router, TimePoint now);
  /// About every 100 ms.
  void on_tick(TimePoint now);
  /// Logs what the turn's operations change; once in every turn of the loop.
  void end_turn();
  void on_committed(LogIndex index) override;
  /// Once in every turn, before end_turn(): goes on with deleting virtual hosts, a few of the
  /// things in them at a time.
  void step();
  /// step() has more to do.
  bool wants_turn() const { return !doomed_vhosts_.empty(); }

 private:
  struct Answer {
    Reply reply;
    v1::CatalogOutcome outcome;
  };
  /// Operations whose effects stand in one entry, or that waited for it.
  struct Pending {
    v1::CatalogEntry entry;
    std::vector<Answer> answers;
  };

  /// A virtual host that is being deleted.
  struct DoomedVhost {
    std::string name;
    std::vector<Reply> replies;
  };

  void delete_vhost(const std::string& name, Reply reply);
  void take_from(DoomedVhost& doomed);
  void create_cluster();
  void change(std::vector<v1::CatalogChange>& changes);
  Status propose();
  void fail_turn(const Status& reason);
  void undo_turn();
  void delete_queues_of(const std::string& router, std::uint64_t but_incarnation,
                        const char* reason);

  Options options_;
  ReplicatedLog& log_;
  Logger& log_lines_;
  Apply apply_;
  CatalogRules rules_;
  RouterLives lives_;
  // The catalog with all that was asked for, committed or not. Its index only counts.
  CatalogState asked_;
  CatalogIndex committed_;
  std::deque<Pending> pending_;
  Pending turn_;
  std::size_t turn_bytes_ = 0;
  std::deque<DoomedVhost> doomed_vhosts_;
  bool in_step_ = false;                 // the turn's entry is of step()
  std::vector<v1::CatalogChange> undo_;  // of the turn's changes, in their order
};

/// INVALID_CONFIG when the catalog was made for another cluster or another number of shards than
/// the configuration says; an empty catalog fits all.
Status check_catalog_fits(const CatalogState& state, const std::string& cluster,
                          std::uint32_t shard_count);

}  // namespace segue::node
